"""The heat map: each node as one cell above another, before and after, on one color scale."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rescheduler.model.moves.plan import Change, NodeView, Plan
from rescheduler.model.wording import count_text
from rescheduler.reporting.phrasing import ARROW, UNKNOWN, percent, resource

MOST = 400
"""Cells of a row. Of larger clusters the nodes that change most and the hottest are shown."""

_NAMED = 12
"""Nodes that change whose names are written below a row."""

_ORDER = ("gpu", "gpu.memory", "network.receive", "network.transmit", "cpu", "memory")
_TARGETS = {
    "gpu": "gpu",
    "gpu.memory": "gpuMemory",
    "network.receive": "network",
    "network.transmit": "network",
    "cpu": "cpu",
    "memory": "memory",
}


@dataclass(frozen=True)
class Cell:
    """A node in a row. Levels are 0 to 9, tenths of the load, or "x" where it is not known."""

    title: str
    before: str
    after: str
    hot_before: bool
    hot_after: bool
    changed: bool


@dataclass(frozen=True)
class HeatMapRow:
    """One reading of all nodes. summary: what the picture shows, in words.

    changes: the nodes that change most, by name, with their load before and after.
    """

    label: str
    target: str
    summary: str
    cells: list[Cell]
    omitted: str
    changes: list[str]


@dataclass(frozen=True)
class HeatMapZone:
    """The pods of a zone before and after, and their share of the fullest zone, 0 to 1."""

    name: str
    nodes: int
    before: int
    after: int
    share_before: float
    share_after: float


_OF_GPUS = ("gpu", "gpuMemory")


def heat_map(plan: Plan) -> list[HeatMapRow]:
    """A row for each node reading, GPU first; one without any value has no cells."""
    names = {name for node in plan.nodes for name in node.load}
    order = {f"node.{name}": place for place, name in enumerate(_ORDER)}
    ordered = sorted(names, key=lambda name: (order.get(name, len(order)), name))
    return [_row(plan, name) for name in ordered]


def _has_load(node: NodeView, name: str) -> bool:
    load = node.load.get(name)
    return load is not None and load.before is not None


def _row(plan: Plan, name: str) -> HeatMapRow:
    high = _target(plan, name)
    if not any(_has_load(node, name) for node in plan.nodes):
        return HeatMapRow(resource(name), "", "No node has a value.", [], "", [])
    unknown = Change(before=None, after=None)
    loads = [(node, node.load.get(name, unknown)) for node in plan.nodes]
    loads.sort(
        key=lambda pair: (-(pair[1].before if pair[1].before is not None else -1), pair[0].name)
    )
    # Most nodes have no GPU at all, and an empty column of each would hide those that have.
    drawn = [pair for pair in loads if pair[1].before is not None or not _of_devices(name)]
    by_change = sorted(
        (pair for pair in drawn if _step(pair[1])), key=lambda pair: -abs(_step(pair[1]))
    )
    moved = {node.name for node, _ in by_change[: MOST // 2]}
    first = [pair for pair in drawn if pair[0].name in moved]
    shown = [*first, *(pair for pair in drawn if pair[0].name not in moved)][:MOST]
    omitted = len(drawn) - len(shown)
    return HeatMapRow(
        label=resource(name),
        target="" if high is None else percent(high),
        summary=_summary([load for _, load in loads], high),
        cells=[_cell(node, load, high) for node, load in shown],
        changes=_changes(by_change),
        omitted=f"{count_text(omitted, 'node')} not drawn: cooler, or changed less"
        if omitted
        else "",
    )


def _of_devices(name: str) -> bool:
    return name.removeprefix("node.").startswith("gpu")


def _changes(by_change: list[tuple[NodeView, Change]]) -> list[str]:
    """The nodes that change most, those first that fall."""
    most = sorted(by_change[:_NAMED], key=lambda pair: _step(pair[1]))
    named = [
        f"{node.name} {_load_text(load.before)} {ARROW} {_load_text(load.after)}"
        for node, load in most
    ]
    more = len(by_change) - len(named)
    return [*named, f"{count_text(more, 'more node')}"] if more else named


def _step(load: Change) -> float:
    """By how much the load changes; below a thousandth it does not."""
    if load.before is None or load.after is None:
        return 0.0
    step = load.after - load.before
    return step if abs(step) >= 0.001 else 0.0


def _summary(loads: list[Change], high: float | None) -> str:
    def text(values: Iterable[float | None]) -> str:
        numbers = [value for value in values if value is not None]
        if not numbers:
            return UNKNOWN
        heat = f"hottest {percent(max(numbers))}, mean {percent(sum(numbers) / len(numbers))}"
        if high is None:
            return heat
        return f"{sum(value > high for value in numbers)} above {percent(high)}, {heat}"

    missing = sum(load.before is None for load in loads)
    absent = f"; {count_text(missing, 'node')} without a value" if missing else ""
    before, after = text(load.before for load in loads), text(load.after for load in loads)
    whole = f"{count_text(len(loads), 'node')}. Before: {before}. After: {after}{absent}."
    changed = [load for load in loads if _step(load)]
    was = max((load.before for load in changed if load.before is not None), default=0.0)
    now = max((load.after for load in changed if load.after is not None), default=0.0)
    if now >= was:
        return whole
    nodes = count_text(len(changed), "node")
    return (
        f"{whole} Of {nodes} that change, the hottest: {percent(was)} before, {percent(now)} after."
    )


def _cell(node: NodeView, load: Change, high: float | None) -> Cell:
    zone = f" ({node.zone})" if node.zone else ""
    has_values = load.before is not None and load.after is not None
    step = f"{ARROW} {_load_text(load.after)}" if has_values and _step(load) else ""
    return Cell(
        title=f"{node.name}{zone} {_load_text(load.before)} {step}".strip(),
        before=_level(load.before),
        after=_level(load.after),
        hot_before=_hot(load.before, high),
        hot_after=_hot(load.after, high),
        changed=bool(_step(load)),
    )


def _load_text(value: float | None) -> str:
    return "no value" if value is None else percent(value)


def _level(value: float | None) -> str:
    return "x" if value is None else str(max(0, min(9, int(10 * value))))


def _hot(value: float | None, high: float | None) -> bool:
    return value is not None and high is not None and value > high


def _target(plan: Plan, name: str) -> float | None:
    """The `high` of this reading, where the plan's policies agree on one.

    Not one that is about single GPUs: a node is no hotter than it for what all of them do.
    """
    key = _TARGETS.get(name.removeprefix("node."), "")
    highs = set()
    for policy in plan.policies:
        spec = _dig(policy.document, "spec")
        alone = _dig(spec, "wholeDevices") == "Ignore" and _dig(spec, "strategy") != "Pack"
        if key in _OF_GPUS and alone:
            continue
        groups = _dig(spec, "groups")
        for part in (spec, *(groups if isinstance(groups, list) else ())):
            own = _dig(part, "targets", "own", name.removeprefix("node."), "high")
            high = _dig(part, "targets", key, "high") if own is None else own
            if isinstance(high, str) and high.endswith("%"):
                high = _number(high[:-1])
            if isinstance(high, int | float):
                highs.add(float(high))
    return highs.pop() if len(highs) == 1 else None


def _number(text: str) -> float | None:
    try:
        return float(text) / 100
    except ValueError:
        return None


def _dig(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def zones(plan: Plan) -> list[HeatMapZone]:
    """Pods by zone, where there is more than one zone and all pods were counted."""
    sums: dict[str, list[float]] = {}
    for node in plan.nodes:
        if node.pods.before is None or node.pods.after is None:
            return []
        entry = sums.setdefault(node.zone or "no zone", [0, 0, 0])
        entry[0] += 1
        entry[1] += node.pods.before
        entry[2] += node.pods.after
    most = max((max(entry[1], entry[2]) for entry in sums.values()), default=0)
    if len(sums) < 2 or not most:
        return []
    return [
        HeatMapZone(name, int(nodes), int(before), int(after), before / most, after / most)
        for name, (nodes, before, after) in sorted(sums.items())
    ]
