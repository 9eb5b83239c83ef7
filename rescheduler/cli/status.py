"""`rescheduler status`: what runs, why nothing moves now, and what is left of each budget."""

import shutil
import time
from datetime import datetime
from typing import TYPE_CHECKING

import click

from rescheduler.cli.shared.options import takes
from rescheduler.cli.shared.output import check_writable, has_colors
from rescheduler.model.errors import NotFound
from rescheduler.runtime.settings import Settings

if TYPE_CHECKING:
    from rescheduler.policies.files.policy_set import PolicySet
    from rescheduler.reporting.status.status_facts import StatusFacts
    from rescheduler.runtime.inspecting.cluster_status import StatusReader

EVERY = 5.0
"""Seconds between two looks of --watch."""


@click.command()
@click.option("--watch", is_flag=True, help="Show it again every 5 s until it is stopped.")
@takes("kubeconfig", "context", "policies", "output", "out", formats=("table", "json", "html"))
def command(settings: Settings, *, watch: bool) -> int:
    """Show what runs in the cluster, why nothing moves now, and what is left of each budget.

    It needs rights to read, and no others. With -o html it writes the page of the last report,
    where the component `remembering` keeps one. Give --policies where no report is kept.

    \b
      rescheduler status
      rescheduler status --watch
      rescheduler status -o html --out report.html
    """  # noqa: D301 - click wants the character
    if watch and settings.output != "table":
        raise click.UsageError("--watch shows a table: leave out -o.")
    check_writable(settings.out, settings.policies)
    from rescheduler.runtime.inspecting.cluster_status import StatusReader  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.parts import policies_of  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.kubernetes.client import connect  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.output_file import write_output  # noqa: PLC0415 - keeps help quick

    configure(settings)
    policies = None if settings.policies is None else policies_of(settings)
    reader = StatusReader(connect(settings.kubeconfig, settings.context), next_firing)
    if not watch:
        write_output(_render(reader.read(policies), settings), settings.out)
        return 0
    _watch(reader, policies, settings)
    return 0


def _watch(reader: "StatusReader", policies: "PolicySet | None", settings: Settings) -> None:
    """Show the status again and again, until Ctrl-C."""
    while True:
        text = _render(reader.read(policies), settings).decode()
        click.clear()
        click.echo(text, nl=False)
        time.sleep(EVERY)


def _render(facts: "StatusFacts", settings: Settings) -> bytes:
    if settings.output == "html":
        return _page(facts)
    from rescheduler.reporting.status.status_building import status_of  # noqa: PLC0415 - only what is shown

    status = status_of(facts)
    if settings.output == "json":
        from rescheduler.reporting.status.status_json import status_json  # noqa: PLC0415 - only what is shown

        return status_json(status)
    from rescheduler.reporting.status.status_table import render_status  # noqa: PLC0415 - only what is shown

    width = shutil.get_terminal_size((100, 24)).columns
    return render_status(status, width=width, color=has_colors(settings.out)).encode()


def _page(facts: "StatusFacts") -> bytes:
    """The page of the last report. Raises: NotFound."""
    from rescheduler.reporting.formats.page import render_page  # noqa: PLC0415 - only what is shown

    report = None if facts.kept is None else facts.kept.report
    if report is None:
        omitted = "" if facts.kept is None else facts.kept.log.omitted
        raise NotFound(
            f"no report is kept in cluster {facts.cluster}" + (f": {omitted}" if omitted else ""),
            "the component `remembering` of deploy/ keeps the last one; `rescheduler plan -o html` "
            "makes a new one.",
        )
    return render_page(report).encode()


def next_firing(schedule: str, zone: str, after: datetime) -> datetime | None:
    """When a CronJob of that schedule runs next; None where it never does, or nobody can tell."""
    from rescheduler.model.errors import SettingsError  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.service.cron import parse_cron  # noqa: PLC0415 - keeps help quick

    try:
        return parse_cron(schedule, zone).next_after(after)
    except SettingsError:
        return None  # the API server took the schedule, so it is one that we do not know
