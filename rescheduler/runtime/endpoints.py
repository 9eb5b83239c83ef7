"""What the service answers over HTTP."""

from collections.abc import Callable

from rescheduler.model.plan import Report
from rescheduler.reporting.page import render_page
from rescheduler.runtime.health import Health
from rescheduler.runtime.server import Page, text
from rescheduler.runtime.telemetry import Telemetry


def pages(
    health: Health, telemetry: Telemetry, last: Callable[[], Report | None]
) -> dict[str, Callable[[], Page]]:
    """The pages by path; last: the newest plan or outcome."""

    def report() -> Page:
        newest = last()
        if newest is None:
            return 503, "text/plain", b"no cycle has finished yet\n"
        return 200, "text/html", render_page(newest).encode()

    return {
        "/livez": lambda: text(health.live()),
        "/readyz": lambda: text(health.ready()),
        "/metrics": lambda: (200, "text/plain; version=0.0.4", telemetry.text()),
        "/": report,
    }
