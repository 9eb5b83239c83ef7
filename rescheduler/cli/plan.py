"""`rescheduler plan`: what should move and why, without touching anything."""

from dataclasses import replace

import click

from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.cli.shared.output import check_writable, say_shipped, show_result
from rescheduler.cli.shared.saved_plans import read_plan
from rescheduler.model.errors import PlanForeign
from rescheduler.model.moves.plan import ClusterRef, plan_in
from rescheduler.runtime.settings import Settings


@click.command()
@takes(
    "policies",
    *SOURCES,
    "snapshot",
    "output",
    "out",
    "search_time",
    "search_steps",
    "last_plan",
    "seed",
    "exit_code",
)
def command(settings: Settings) -> int:
    """Read the cluster, or a recording of it, and show which pods to move, and why.

    Nothing is changed, no lock is taken, and no right to write is needed. Without --policies those
    that come with the program are used.

    \b
      rescheduler plan
      rescheduler plan -p policies/
      rescheduler plan -p policies/ --prometheus-url http://localhost:9090
      rescheduler plan -p policies/ --snapshot FILE -o json --out plan.json
      rescheduler plan -p policies/ --last-plan plan.json
    """  # noqa: D301 - click wants the character
    from rescheduler.runtime.cycle import run_cycle  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.exit_codes import exit_code  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.parts import (  # noqa: PLC0415 - keeps help quick
        connection_of,
        parts_of,
        policies_or_shipped,
    )
    from rescheduler.runtime.reading_sources import look_by_default  # noqa: PLC0415 - keeps help quick

    configure(settings)
    if settings.policies is None:
        say_shipped()
    check_writable(settings.out, settings.policies, settings.snapshot, settings.last_plan)
    last = None if settings.last_plan is None else plan_in(read_plan(settings.last_plan))
    policies = policies_or_shipped(settings)
    connection = connection_of(settings)
    parts = parts_of(
        look_by_default(settings), connection, policies=lambda: policies, attended=True
    )
    report = run_cycle(replace(parts, last=last), seed=settings.seed)
    if last is not None:
        _check_same_cluster(last.cluster, plan_in(report).cluster)
    show_result(report, settings)
    return exit_code(report, proposed=settings.exit_code)


def _check_same_cluster(last: ClusterRef, here: ClusterRef) -> None:
    if last.uid != here.uid:
        raise PlanForeign(
            f"the last plan was made for cluster {last.uid} ({last.name}); "
            f"this one is {here.uid} ({here.name})",
            "leave out --last-plan, or give a plan of this cluster.",
        )
