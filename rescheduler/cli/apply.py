"""`rescheduler apply`: a reviewed plan, carried out."""

import sys
from pathlib import Path

import click

from rescheduler.cli.options import SOURCES, takes
from rescheduler.cli.output import check_writable, show, warn
from rescheduler.cli.saved import read_plan
from rescheduler.model.plan import Plan
from rescheduler.model.wording import counted
from rescheduler.runtime.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="PLAN.json")
@takes(
    "yes",
    *SOURCES,
    "output",
    "out",
    "cycle_deadline",
    "state_namespace",
)
def command(settings: Settings, file: Path) -> int:
    """Evict what the reviewed plan says, after checking each move again on fresh data."""
    check_writable(settings.out)
    plan = read_plan(file)
    from rescheduler.runtime.applying import (  # noqa: PLC0415 - keeps help quick
        apply_plan,
        check_applicable,
    )
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick

    configure(settings)
    check_applicable(plan)
    _agree(plan, settings)
    outcome, code = apply_plan(plan, settings)
    show(outcome, settings.output, settings.out)
    warn(outcome)
    return code


def _agree(plan: Plan, settings: Settings) -> None:
    if settings.yes:
        return
    name = plan.cluster.name or plan.cluster.uid
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask on. Say --yes to act without asking.")
    moves = sum(move.mode == "Enforce" for move in plan.moves)
    said = click.prompt(
        f"Plan {plan.id} evicts {counted(moves, 'pod')} of cluster {name}. Its name, to go on",
        err=True,
    )
    if said.strip() != name:
        raise click.UsageError(f"{said!r} is not the name of the plan's cluster, {name!r}.")
