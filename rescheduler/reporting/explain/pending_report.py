"""Pending pods explained, as text for a terminal."""

from rich.text import Text

from rescheduler.model.explanation import PendingExplanation, PendingPod
from rescheduler.model.wording import count_text
from rescheduler.reporting.explain.explanation_words import (
    landing_words,
    more_words,
    where_and_when,
)
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.phrasing import amount, pod_name

_NARROW = 100


def draw_pending(screen: Screen, seen: PendingExplanation) -> None:
    """Each Pending pod: why it does not fit, and what would make room."""
    total = sum(pod.alike for pod in seen.pods)
    screen.line(Text(f"PENDING {count_text(total, 'pod')}", style="bold"))
    screen.line(Text(where_and_when(seen.header), style="dim"), fold=True)
    screen.line()
    if not seen.pods:
        screen.line("No pod is Pending.")
    for pod in seen.pods:
        _pod(screen, pod)


def _pod(screen: Screen, seen: PendingPod) -> None:
    name = f"{seen.pod.namespace}/{seen.pod.name}"
    head = Text.assemble((name, "bold"))
    if seen.owner is not None:
        head.append(f"  {seen.owner.kind} {seen.owner.name}")
    head.append(f"  priority {seen.priority}")
    head.append(f"  and {seen.alike - 1} more like it" if seen.alike > 1 else "")
    screen.line(head, fold=True)
    if seen.refusal is not None:
        text = Text.assemble(code_prefix(seen.refusal.code), seen.refusal.message)
        screen.paragraph(text, indent=2)
    elif seen.feasible:
        fits = f"It fits on {seen.feasible:,} of {count_text(seen.nodes, 'node')} now, and the "
        fits += "scheduler has not placed it yet; expected on " + landing_words(seen.landing, 3)
        screen.paragraph(Text(fits), indent=2)
    else:
        screen.paragraph(Text(seen.event), indent=2)
    screen.line()
    if not seen.feasible:
        _reasons(screen, seen)
        _moves(screen, seen)


def _reasons(screen: Screen, seen: PendingPod) -> None:
    if not seen.reasons:
        return
    grid = Grid([Column("nodes", "right"), Column("reason", flexible=True), Column("plugin")])
    for reason in seen.reasons:
        nodes = more_words(reason.nodes, reason.count, "node")
        words = reason.reason.removeprefix("node(s) ")
        grid.add(f"{reason.count:,}", words, reason.plugin, below=Text(nodes, style="dim"))
    screen.grid(grid)


def _moves(screen: Screen, seen: PendingPod) -> None:
    if seen.none is not None:
        text = Text.assemble(("No single move helps ", "bold"), code_prefix(seen.none.code))
        screen.paragraph(text.append(seen.none.message), indent=2)
        screen.line()
    if not seen.moves:
        return
    screen.line(Text("  One move makes room, the least disruptive first", style="bold"))
    grid = Grid(
        [
            Column("move", flexible=True),
            Column("from", flexible=True),
            Column("it lands on", flexible=True),
            Column("disruption", "right"),
        ]
    )
    for move in seen.moves:
        grid.add(
            pod_name(move.pod, move.owner, 28 if screen.width < _NARROW else 0),
            move.node,
            landing_words(move.landing, 1),
            amount(move.disruption),
            below=Text(f"then {seen.pod.name} fits on {move.fits}", style="dim"),
        )
    screen.grid(grid)
