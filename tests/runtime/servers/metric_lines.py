"""The metrics, as lines."""

from rescheduler.runtime.servers.telemetry import Telemetry


def lines(telemetry: Telemetry) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in (
            line.rsplit(" ", 1)
            for line in telemetry.text().decode().splitlines()
            if not line.startswith("#")
        )
    }
