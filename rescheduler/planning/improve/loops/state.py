"""A placement as the arrays that loops work on."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.improve.allotted import Allotted
from rescheduler.planning.improve.beside import Beside
from rescheduler.planning.improve.loops.tables import AllottedTables, Rules, State
from rescheduler.planning.improve.placement import Placement
from rescheduler.planning.improve.rules import Accepted, Apart, LeastDomains, Room, Rule
from rescheduler.policies.shared.tables import HingeTables, Tabled, TrafficTables

_Sort = TypeVar("_Sort", bound=Rule)
_SORTS: set[type[Rule]] = {Room, Accepted, Apart, LeastDomains, Beside}


def state_of(placement: Placement) -> State | None:
    """The arrays of its kernels and rules themselves, so that these stay right.

    None where a kernel or a rule has none, or two of a sort do. Those of `Allotted` are copies.
    """
    where, nodes = placement.where, len(placement.nodes)
    hinges, traffic = no_hinges(where, nodes), no_traffic(where, nodes)
    weights: dict[type, float] = {}
    for each in placement.kernels:
        tables = each.kernel.tables() if isinstance(each.kernel, Tabled) else None
        if tables is None or type(tables) in weights:
            return None
        weights[type(tables)] = each.weight
        if isinstance(tables, HingeTables):
            hinges = tables
        else:
            traffic = tables
    rules = _rules(placement.rules, where, nodes)
    if rules is None:
        return None
    return State(
        placement.home,
        where,
        placement.price,
        hinges,
        traffic,
        weights.get(HingeTables, 0.0),
        weights.get(TrafficTables, 0.0),
        rules,
    )


def no_hinges(where: IntArray, nodes: int) -> HingeTables:
    """Nothing costs."""
    none = np.zeros((len(where) + 1, 0))
    return HingeTables(none, np.zeros((nodes, 0)), np.zeros(nodes), where.copy())


def no_traffic(where: IntArray, nodes: int) -> TrafficTables:
    """Nobody exchanges any."""
    none, begin = np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int32)
    return TrafficTables(
        group=np.full(len(where), -1, dtype=np.int32),
        held_of=begin,
        held=none,
        begin=begin,
        pair=none,
        end=none,
        sides=np.empty((0, 2), dtype=np.int32),
        shares=np.empty((0, 2)),
        amounts=np.empty(0),
        counts=np.empty((nodes, 0), dtype=np.int16),
        up_to=np.zeros(1),
        first=begin,
        partners=none,
        where=where.copy(),
    )


def _rules(rules: Sequence[Rule], where: IntArray, nodes: int) -> Rules | None:
    """One of each sort; one that there is not forbids nothing."""
    sorts = [type(each) for each in rules if not isinstance(each, Allotted)]
    if Room not in sorts or len(set(sorts)) < len(sorts) or not _SORTS.issuperset(sorts):
        return None
    nobody, one = np.full(len(where), -1, dtype=np.int32), np.zeros(nodes, dtype=np.int32)
    [room] = [each for each in rules if isinstance(each, Room)]
    return Rules(
        room.tables(),
        _of(rules, Accepted(np.ones((1, nodes), dtype=np.bool_), nobody + 1)).tables(),
        _of(rules, Apart(nobody, nodes, where)).tables(),
        _of(rules, LeastDomains(nobody, one[:1], one, where)).tables(),
        _of(rules, Beside(nobody, np.empty((0, 2), dtype=np.int32), one, where)).tables(),
        _allotted([each for each in rules if isinstance(each, Allotted)], len(where)),
    )


def _of(rules: Sequence[Rule], otherwise: _Sort) -> _Sort:
    """The rule of that sort."""
    for rule in rules:
        if isinstance(rule, type(otherwise)):
            return rule
    return otherwise


def _allotted(rules: Sequence[Allotted], pods: int) -> AllottedTables:
    """All of them as one table; shares that a rule has not are never asked for."""
    tables = [each.tables() for each in rules]
    most = max((len(left) for _, left in tables), default=0)
    share = np.zeros((len(rules), pods), dtype=np.int32)
    left = np.zeros((len(rules), most), dtype=np.int64)
    for number, (its, its_left) in enumerate(tables):
        share[number], left[number, : len(its_left)] = its, its_left
    return AllottedTables(share, left)
