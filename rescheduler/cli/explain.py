"""`rescheduler explain`: why a pod or a node is as it is, and what would change it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import SOURCES, Command, takes
from rescheduler.cli.shared.output import check_writable, show_explanation
from rescheduler.runtime.settings import Settings

if TYPE_CHECKING:
    from rescheduler.model.explanation import Explanation
    from rescheduler.runtime.inspecting.explaining import Explainer

_options: Callable[[Command], Command] = takes(
    "policies",
    *SOURCES,
    "snapshot",
    "output",
    "out",
    "seed",
    formats=("table", "json"),
)


@click.group()
def command() -> None:
    """Show why: where a pod would land, why it stays, why another is Pending, and what would help.

    Nothing is changed, and no right to write is needed. Policies are optional: without them it
    is not shown whether a pod would move.
    """


@command.command(short_help="One pod: why it moves or stays, and where it would land.")
@click.argument("name", metavar="NAMESPACE/NAME")
@_options
def pod(settings: Settings, name: str) -> int:
    """Every check, filter and score of one pod, where it would land, and why it moves or stays."""
    return _explain(settings, lambda explainer: explainer.pod(name))


@command.command(short_help="One node: its load, its free capacity, and its pods.")
@click.argument("name", metavar="NAME")
@_options
def node(settings: Settings, name: str) -> int:
    """One node's load and free capacity, the findings about it, and why each pod moves or stays."""
    return _explain(settings, lambda explainer: explainer.node(name))


@command.command(short_help="Pending pods: why they wait, and what would make room.")
@click.argument("name", metavar="[NAMESPACE/NAME]", required=False)
@_options
def pending_command(settings: Settings, name: str | None) -> int:
    """Why Pending pods fit on no node, and which single move would make room for them."""
    return _explain(settings, lambda explainer: explainer.pending_pods(name))


def _explain(settings: Settings, ask: "Callable[[Explainer], Explanation]") -> int:
    check_writable(settings.out)
    from rescheduler.runtime.inspecting.explaining import Explainer  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.reading_sources import look_by_default  # noqa: PLC0415 - keeps help quick

    configure(settings)
    explainer = Explainer(look_by_default(settings))
    show_explanation(ask(explainer), settings.output, settings.out)
    for note in explainer.notes:
        say(f"note: {note.code} {note.message}", err=True)
    return 0
