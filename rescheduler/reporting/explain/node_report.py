"""A node explained, as text for a terminal."""

from collections import Counter

from rich.text import Text

from rescheduler.model.explanation import NodeExplanation, PodOnNode
from rescheduler.model.wording import count_text
from rescheduler.reporting.explain.explanation_words import verdict_words, where_and_when
from rescheduler.reporting.explain.pod_report import draw_policies
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.formats.suggestion_list import draw_suggestions
from rescheduler.reporting.phrasing import (
    age,
    amount,
    percent,
    pod_name,
    quantity,
    shorten,
)
from rescheduler.reporting.suggestion_words import HEADING_OF_WHOLE, suggestion_rows

MOST_PODS = 25
_NARROW = 100
_LABEL = 10


def draw_node(screen: Screen, seen: NodeExplanation) -> None:
    """Its loads, what policies find about it, and its pods."""
    zone = f"  zone {seen.zone}" if seen.zone else ""
    screen.line(Text.assemble((f"NODE {seen.node}", "bold"), zone), fold=True)
    screen.line(Text(where_and_when(seen.header), style="dim"), fold=True)
    screen.line()
    moving = sum(one.verdict.outcome == "moves" for one in seen.pods)
    pods = f"{count_text(len(seen.pods), 'pod')}, {moving} would move"
    screen.paragraph(Text(pods), first=Text("Pods", style="dim"), indent=_LABEL)
    state = Text(
        "Ready and stable: pods may move off it and onto it" if seen.ready else "not Ready"
    )
    if seen.problem is not None:
        state = Text.assemble(code_prefix(seen.problem.code), seen.problem.message)
    screen.paragraph(state, first=Text("State", style="dim"), indent=_LABEL)
    taints = ", ".join(seen.taints) or "none"
    screen.paragraph(Text(taints), first=Text("Taints", style="dim"), indent=_LABEL)
    screen.line()
    _loads(screen, seen)
    _room(screen, seen)
    draw_policies(screen, seen.policies, gains=False)
    _pods(screen, seen)
    draw_suggestions(screen, suggestion_rows(seen.suggestions), HEADING_OF_WHOLE)


def _loads(screen: Screen, seen: NodeExplanation) -> None:
    if not seen.loads:
        return
    grid = Grid(
        [
            Column("reading", flexible=True),
            Column("load", "right"),
            Column("of", "right"),
            Column("window", "right"),
            Column("age", "right"),
        ]
    )
    for load in seen.loads:
        unit = "GPUs" if load.reading == "node.gpu" else ""
        problem = load.problem
        grid.add(
            load.reading,
            "no value" if load.value is None else quantity(load.value, load.unit),
            "-" if load.capacity is None else quantity(load.capacity, unit),
            age(load.windowSeconds),
            age(load.ageSeconds),
            below=None
            if problem is None
            else Text.assemble(code_prefix(problem.code), problem.message),
        )
    screen.grid(grid)


def _room(screen: Screen, seen: NodeExplanation) -> None:
    grid = Grid(
        [
            Column("resource", flexible=True),
            Column("requested", "right"),
            Column("allocatable", "right"),
            Column("share", "right"),
        ]
    )
    for room in seen.room:
        unit = "bytes" if room.resource in ("memory", "ephemeral-storage") else ""
        share = percent(room.requested / room.allocatable) if room.allocatable else "-"
        grid.add(
            room.resource,
            quantity(room.requested, unit),
            quantity(room.allocatable, unit),
            share,
        )
    screen.grid(grid)


def _pods(screen: Screen, seen: NodeExplanation) -> None:
    if not seen.pods:
        return
    shown = seen.pods[:MOST_PODS]
    screen.line(Text.assemble(("Pods ", "bold"), "by the cost that moving them could save at best"))
    alike = len({(one.verdict.code, one.verdict.message) for one in shown}) == 1 < len(shown)
    grid = Grid(
        [
            Column("pod", flexible=True),
            Column("saves", "right"),
            Column("disruption", "right"),
            Column("uses", flexible=True),
            Column("verdict"),
        ]
    )
    for one in shown:
        style = {"moves": "green", "held": "bold red"}.get(one.verdict.outcome, "")
        grid.add(
            pod_name(one.pod, one.owner, 30 if screen.width < _NARROW else 0),
            amount(one.relief),
            amount(one.disruption),
            _usage(one),
            Text(verdict_words(one.verdict), style=style),
            below=None if alike else _verdict_text(one),
        )
    screen.grid(grid)
    if alike:
        screen.paragraph(Text.assemble("Of each of them: ", _verdict_text(shown[0])))
    more_pods = seen.pods[MOST_PODS:]
    if more_pods:
        codes = Counter(one.verdict.code or "no candidate" for one in more_pods)
        listed = ", ".join(f"{count} {code}" for code, count in codes.most_common(6))
        screen.paragraph(
            Text(f"and {count_text(len(more_pods), 'more pod')}, in the JSON: {listed}")
        )


def _verdict_text(one: PodOnNode) -> Text:
    return Text.assemble(code_prefix(one.verdict.code), (shorten(one.verdict.message, 300), "dim"))


def _unit(name: str) -> str:
    """The unit of a reading of pods; of those that operators define it is not known here."""
    if "network" in name or "rdma" in name:
        return "bytes/s"
    return "bytes" if "memory" in name else ""


def _usage(one: PodOnNode) -> str:
    """What it uses of the first things that are known."""
    units = {"pod.cpu": "cores", "pod.gpu": "GPUs"}
    amounts = [
        quantity(value, units.get(name, _unit(name))) for name, value in sorted(one.usage.items())
    ]
    return ", ".join(amounts[:2]) or "-"
