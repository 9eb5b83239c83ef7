"""`rescheduler run`: cycles, as a CronJob or a Deployment runs them."""

import click

from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.cli.shared.output import check_writable, show, show_result, trail_of
from rescheduler.model.moves.plan import Report
from rescheduler.runtime.settings import Settings


@click.command()
@takes(
    "policies",
    "mode",
    "once",
    "every",
    "cron",
    "time_zone",
    *SOURCES,
    "snapshot",
    "output",
    "out",
    "listen",
    "listen_token_file",
    "page_access",
    "notification_files",
    "audit_trail",
    "audit_trail_max_size",
    "audit_trail_max_files",
    "cycle_deadline",
    "search_time",
    "search_steps",
    "seed",
    policies=True,
)
def command(settings: Settings) -> int:
    """Run a cycle once, or on a schedule until it is stopped.

    In mode Audit, the default, each cycle ends with its report and nothing is evicted; for policies
    with stableFor, the ConfigMap rescheduler-finding-history keeps since when findings have lasted,
    and rescheduler-last-report the last report and cycles, where there is one.
    In mode Enforce it evicts what the plan says; one instance at a time holds the lock. On a
    schedule, the latest report is the page at the address of --listen.

    \b
      rescheduler run --once -p policies/ --mode Enforce
      rescheduler run --every 5m -p policies/ --mode Audit
      rescheduler run --cron "0 9 * * mon-fri" --time-zone Europe/Paris -p policies/ --mode Enforce
    """  # noqa: D301 - click wants the character
    scheduled = settings.every is not None or settings.cron is not None
    if settings.once == scheduled:
        raise click.UsageError("Give one of --once, --every and --cron: when to run.")
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick

    configure(settings, usual="info")
    from rescheduler.runtime.reading_sources import look_by_default  # noqa: PLC0415 - keeps help quick

    check_writable(settings.out, settings.policies, settings.snapshot, trail_of(settings))
    settings = look_by_default(settings)
    if scheduled:
        from rescheduler.runtime.service.service import serve  # noqa: PLC0415 - keeps help quick

        return serve(settings, report=lambda report: _keep(settings, report))
    from rescheduler.runtime.single_cycle import run_once  # noqa: PLC0415 - keeps help quick

    report, code = run_once(settings)
    show_result(report, settings)
    return code


def _keep(settings: Settings, report: Report) -> None:
    """The service shows its results at /; the last one is also written to --out."""
    if settings.out is not None:
        show(report, settings)
