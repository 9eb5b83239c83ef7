"""`rescheduler apply`: a reviewed plan, carried out."""

import os
import sys
from pathlib import Path

import click

from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.cli.shared.output import check_writable, show_result, trail_of
from rescheduler.cli.shared.saved_plans import read_plan
from rescheduler.model.errors import SettingsError
from rescheduler.model.moves.plan import Plan
from rescheduler.model.wording import count_text
from rescheduler.runtime.settings import Settings, env_names


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="PLAN.json")
@takes(
    "yes",
    "digest",
    *SOURCES,
    "output",
    "out",
    "cycle_deadline",
    "audit_trail",
    "audit_trail_max_size",
    "audit_trail_max_files",
)
def command(settings: Settings, file: Path) -> int:
    """Evict what a reviewed plan says, after checking each move again on fresh data.

    A file that was changed after it was written is refused. Where somebody else approved the plan,
    give the digest that was approved: then no other plan is carried out.

    \b
      rescheduler apply plan.json
      rescheduler apply plan.json --yes --digest 1f0c42aa91d3
    """  # noqa: D301 - click wants the character
    check_writable(settings.out, file, trail_of(settings))
    _check_approval(settings)
    report = read_plan(file)
    from rescheduler.runtime.applying import (  # noqa: PLC0415 - keeps help quick
        apply_plan,
        check_applicable,
    )
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick

    configure(settings)
    plan = check_applicable(report, path=str(file), approved=settings.digest)
    _agree(plan, settings)
    outcome, code = apply_plan(plan, settings)
    show_result(outcome, settings)
    return code


def _check_approval(settings: Settings) -> None:
    """An approval that came out empty, such as an unset variable of a pipeline, is none."""
    if settings.digest is None and os.environ.get(env_names("digest")[0]) == "":
        raise SettingsError(
            "RESCHEDULER_DIGEST is empty, so no plan was approved",
            "set it to the digest of the plan that was approved, or unset it.",
        )


def _agree(plan: Plan, settings: Settings) -> None:
    if settings.yes:
        return
    name = plan.cluster.name or plan.cluster.uid
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to ask on. Give --yes to act without asking.")
    moves = sum(move.mode == "Enforce" for move in plan.moves)
    typed = click.prompt(
        f"Plan {plan.id} evicts {count_text(moves, 'pod')} of cluster {name}. Type its name to "
        "go on",
        err=True,
    )
    if typed.strip() != name:
        raise click.UsageError(f"{typed!r} is not the name of the plan's cluster, {name!r}.")
