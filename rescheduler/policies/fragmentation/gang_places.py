"""Places for pending gangs: on which capacity each shape of their pods may count.

A gang runs as a whole or not at all, and its pods may differ: two shapes must not count on one free
node. So every gang, one after the other, is given places in what its nodes have and could have:
shape by shape, those with the least missing, and of equal ones those that the fewest others accept;
in the order of its shapes that leaves the least missing (of all orders up to four shapes, else of
two); and of three ways to break ties by the best. A gang for whose pods there are not enough
places, even if all pods that may move were gone, is given none: nothing is freed for a part of it.

Then each node belongs to one shape: the one that has places there, or for a spare node, of those
whose places miss something, the one for which the least is missing. Only where several shapes have
places on a node they keep to these, and each counts on what those before it leave. This is a
heuristic: packing pods of several sizes is NP-hard, and kube-scheduler, too, places one pod after
the other.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.policies.fragmentation.free_capacity import Amounts, Most, Rows
from rescheduler.policies.fragmentation.pending_places import (
    PendingShape,
    ReservedPlaces,
    fits_and_missing,
    subtract_demand,
)
from rescheduler.policies.shared.demand import WHOLE, Demand

_ALL_ORDERS = 4
"""Up to so many shapes of a gang all orders are tried."""
_MANY_GANGS = 20
"""From so many gangs on ties are broken in one way only, and two orders are tried for each gang."""


@dataclass(frozen=True, slots=True, eq=False)
class GangPods:
    """Pending pods of one gang that ask for the same and accept the same nodes.

    accepts: what pods that accept the same nodes have in common. most: (nodes,) how many each could
    hold by what they ask for besides CPU, memory and GPUs, 0 where they are not accepted.
    first: the name of one. together: whether some of the gang's pods are of no use without the
    others. priority: the highest of the gang. gangs: alike pods of several gangs, as one: the
    number of each such gang, and how many.
    """

    gang: int
    demand: Demand
    count: int
    accepts: bytes
    most: Amounts
    first: str
    together: bool = True
    priority: int = 0
    gangs: tuple[tuple[int, int], ...] = ()

    @property
    def accepting(self) -> BoolArray:
        """(nodes,) which could hold one."""
        accepting: BoolArray = self.most > 0
        return accepting

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The gangs of these pods that run as a whole or not at all, with how many are of each."""
        return self.gangs or (((self.gang, self.count),) if self.together else ())


@dataclass(frozen=True, slots=True)
class _State:
    """What is left of the nodes after some claims: now, and if no movable pod were there."""

    free: Rows
    most: Most

    def holds(self, shape: GangPods) -> Amounts:
        """(nodes,) for how many such pods each node could ever have room, up to all of them."""
        demand, answer = shape.demand, np.minimum(shape.most, shape.count)
        for amount, wanted in (
            (self.most.cpu, demand.cpu),
            (self.most.memory, demand.memory),
            (self.most.devices, demand.gpus * WHOLE + demand.share),
        ):
            if wanted:
                answer = np.minimum(answer, np.maximum(amount, 0) // wanted)
        return answer

    def after_taking(self, demand: Demand, places: Amounts) -> "_State":
        """What is left when these places are taken."""
        devices = places * (demand.gpus * WHOLE + demand.share)
        most = Most(
            self.most.cpu - places * demand.cpu,
            self.most.memory - places * demand.memory,
            self.most.devices - devices,
        )
        return _State(subtract_demand(self.free, demand, places), most)


_Size = tuple[Amounts, ...]
"""By what nodes are alike when several would do: see `numpy.lexsort`."""


class _Placement(NamedTuple):
    """The (nodes,) places that a shape was given, and what they miss, in pods."""

    shape: GangPods
    places: Amounts
    missing: float


def gang_places(shapes: Sequence[GangPods], free: Rows, most: Most) -> list[PendingShape]:
    """On what each shape may count; the shapes of a gang are together, and gangs go in order.

    Alike shapes of several gangs are one in the answer, but for those of gangs without places.
    """
    start = _State(free, most)
    # Least left now, least left ever, or in the order of the nodes.
    sizes: list[_Size] = [(free.cpu, free.devices.sum(axis=1)), (most.cpu, most.devices), ()]
    if shapes and shapes[-1].gang >= _MANY_GANGS:
        sizes = sizes[:1]
    placements = min(
        (_place_gangs(shapes, size, start) for size in sizes),
        key=lambda option: _missing_pods(shapes, option),
    )
    placed = {id(allotment.shape) for allotment in placements}
    nothing = np.zeros(len(free.nodes), dtype=np.int64)
    without = [_Placement(shape, nothing, 0.0) for shape in shapes if id(shape) not in placed]
    answer = [
        PendingShape(
            shape.demand,
            shape.count,
            nothing,
            _subject(shape),
            whole=False,
            gangs=shape.parts,
            priority=shape.priority,
        )
        for shape, *_ in _merge_alike(without)
    ]
    return [*_pending_shapes(_merge_alike(placements), start), *answer]


def _subject(shape: GangPods) -> str:
    return f"{shape.count} pending pods such as {shape.first}"


def _merge_alike(placements: Sequence[_Placement]) -> list[_Placement]:
    """With alike shapes of several gangs as one, in the order of the first."""
    by_kind: dict[tuple[Demand, bytes, bool], _Placement] = {}
    for allotment in placements:
        key = allotment.shape.demand, allotment.shape.accepts, allotment.shape.together
        twin = by_kind.get(key)
        if twin is None:
            by_kind[key] = allotment
        else:
            shape = replace(
                twin.shape,
                count=twin.shape.count + allotment.shape.count,
                gangs=twin.shape.parts + allotment.shape.parts,
            )
            by_kind[key] = _Placement(
                shape, twin.places + allotment.places, twin.missing + allotment.missing
            )
    return list(by_kind.values())


def _place_gangs(shapes: Sequence[GangPods], size: _Size, state: _State) -> list[_Placement]:
    """Places for one gang after the other."""
    placements: list[_Placement] = []
    later = np.zeros(len(state.free.nodes), dtype=np.int64)
    for shape in shapes:
        later += shape.accepting
    for _, group in itertools.groupby(shapes, key=lambda shape: shape.gang):
        members = list(group)
        for member in members:
            later -= member.accepting
        orders = (_place_shapes(order, later, size, state) for order in _orders(members))
        if options := [order for order in orders if order]:
            best = min(options, key=lambda one: sum(allotment.missing for allotment in one))
            placements += best
            for taken in best:
                state = state.after_taking(taken.shape.demand, taken.places)
    return placements


def _missing_pods(shapes: Sequence[GangPods], placements: Sequence[_Placement]) -> float:
    """What is missing for all gangs, in pods: all of it for one that has no places."""
    missing = {id(allotment.shape): allotment.missing for allotment in placements}
    return sum(missing.get(id(shape), float(shape.count)) for shape in shapes)


def _orders(members: list[GangPods]) -> Iterable[Sequence[GangPods]]:
    """The largest pods first, then other orders."""
    largest = sorted(
        members, key=lambda shape: (-shape.demand.devices, *(-x for x in shape.demand))
    )
    if len(members) <= _ALL_ORDERS and members[0].gang < _MANY_GANGS:
        return itertools.permutations(largest)
    fewest = sorted(largest, key=lambda shape: int(shape.accepting.sum()))
    return (largest, fewest)


def _place_shapes(
    order: Sequence[GangPods], later: Amounts, size: _Size, state: _State
) -> Sequence[_Placement]:
    """Places for one shape after the other; empty where there are too few.

    later: (nodes,) how many shapes of the gangs to come accept each.
    """
    placements = []
    for number, shape in enumerate(order):
        wanted_by = later.copy()
        for later_shape in order[number + 1 :]:
            wanted_by += later_shape.accepting
        claimed, missing = _claim_places(shape, (*size, wanted_by), state)
        if shape.together and claimed.sum() < shape.count:
            return ()
        placements.append(_Placement(shape, claimed, missing))
        state = state.after_taking(shape.demand, claimed)
    return placements


def _claim_places(shape: GangPods, size: _Size, state: _State) -> tuple[Amounts, float]:
    """(nodes,) the places that miss least, and what they miss in pods.

    size: (nodes,) of places that miss the same those on the least node go first, by the last, then
    by those before it.
    """
    most = state.holds(shape)
    fits, missing = fits_and_missing(shape.demand, most, state.free)
    free = fits.astype(np.int64)
    alike, nearest = np.lexsort(size), np.lexsort((*size, missing))
    claimed, pods_to_place, lacking = np.zeros_like(most), shape.count, 0.0
    for places, array, order in (
        (free, np.zeros_like(missing), alike),
        (np.minimum(most - free, 1), missing, nearest),
        (np.maximum(most - free - 1, 0), np.ones_like(missing), nearest),
    ):
        before = np.cumsum(places[order]) - places[order]
        taken = np.zeros_like(most)
        taken[order] = np.clip(pods_to_place - before, 0, places[order])
        claimed += taken
        pods_to_place -= int(taken.sum())
        lacking += float(taken @ array)
    return claimed, lacking + pods_to_place


def _pending_shapes(placements: Sequence[_Placement], start: _State) -> Iterator[PendingShape]:
    """On what each may count: on its nodes, and on its places where others have some, too."""
    if not placements:
        return
    claimed = np.array([allotment.places > 0 for allotment in placements])
    holds = np.array([start.holds(allotment.shape) for allotment in placements])
    owner = np.where(claimed.any(axis=0), claimed.argmax(axis=0), _spare(placements, start, holds))
    several = claimed.sum(axis=0) > 1
    for number, (shape, own, _) in enumerate(placements):
        places = np.where(several, own, np.where(owner == number, holds[number], 0))
        before = [
            ReservedPlaces(other.shape.demand, np.where(several, other.places, 0))
            for other, beside in zip(placements[:number], claimed[:number], strict=True)
            if (beside & claimed[number]).any()
        ]
        yield PendingShape(
            shape.demand,
            shape.count,
            places,
            _subject(shape),
            tuple(before),
            gangs=shape.parts,
            priority=shape.priority,
        )


def _spare(placements: Sequence[_Placement], start: _State, holds: Amounts) -> IntArray:
    """(nodes,) who may count on each node if nobody has places there: who lacks some goes first."""
    nearest = np.ones(holds.shape)
    for number, (shape, *_) in enumerate(placements):
        fits, missing = fits_and_missing(shape.demand, holds[number], start.free)
        nearest[number] = np.where(fits > 0, 0.0, missing)
    content = np.array([allotment.missing == 0 for allotment in placements])
    have = np.zeros(len(placements))
    owner = np.full(holds.shape[1], -1, dtype=np.int32)
    for node in np.flatnonzero(holds.any(axis=0)).tolist():
        able = np.flatnonzero(holds[:, node])
        best = int(able[np.lexsort((have[able], nearest[able, node], content[able]))[0]])
        owner[node] = best
        have[best] += 1 / placements[best].shape.count
    return owner
