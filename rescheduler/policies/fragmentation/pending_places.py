"""Places for the pods of a pending gang, and what is still missing for them.

A place on a node is missing the largest share, over CPU, memory and GPUs, of what the pod asks for
and the node does not have. Of pods that are of use one by one those places count that miss least,
so that what nearly fits is freed first:

    cost = sum of the least missing shares, one for each pending pod.

A gang costs all of its pods until there is a place for each of them (`whole_gangs`).

Which shape of pods may count on which places was decided before (`gang_places`), so that no two
count on the same capacity: where every place is free, all pods fit at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.policies.fragmentation.free_capacity import Amounts, Rows, take_share
from rescheduler.policies.fragmentation.whole_gangs import WholeGangs
from rescheduler.policies.shared.demand import WHOLE, Demand

_RESOURCES = 4
"""CPU, memory, whole GPUs and a share of one: of each all may be missing."""


@dataclass(frozen=True, slots=True)
class ReservedPlaces:
    """Reserved for pods of another shape. places: (nodes,) how many of them on each node."""

    demand: Demand
    places: Amounts


@dataclass(frozen=True, slots=True)
class PendingShape:
    """Pending pods of one shape.

    count: how many. places: (nodes,) on how many places of each node they may count, if nothing
    movable were there. before: what goes first on the nodes that they share with other shapes.
    whole: whether there could be places for all pods of their gang at once; else there are none.
    gangs: the number of each gang that needs places for all its pods, and how many of these are of
    it; empty for pods that are of use one by one. priority: what frees a place for them, and has a
    higher one, gains nothing by that.
    """

    demand: Demand
    count: int
    places: Amounts
    subject: str
    before: tuple[ReservedPlaces, ...] = ()
    whole: bool = True
    gangs: tuple[tuple[int, int], ...] = ()
    priority: int = 0


class PendingPlaces:
    """What is missing for all pending pods, of all shapes.

    fits: the (nodes,) places that are free for each shape. missing: for one more there.
    """

    def __init__(self, waiting: Sequence[PendingShape], rows: Rows) -> None:
        self.waiting = tuple(waiting)
        self._missing = [_fit(shape, rows) for shape in waiting]
        self._alone = [number for number, shape in enumerate(waiting) if not shape.gangs]
        self._whole = [number for number, shape in enumerate(waiting) if shape.gangs]
        self.gangs = WholeGangs([waiting[number].gangs for number in self._whole])

    def cost(self) -> float:
        """What is missing for pods that are of use one by one, and the pods of gangs without room.

        Both in pods.
        """
        return sum(self.costs().values()) + self.gangs.cost(self._places())

    def costs(self) -> dict[int, float]:
        """What is missing for each shape of pods that are of use one by one, in pods."""
        return {
            number: _least_missing(self.waiting[number].count, *self._missing[number])
            for number in self._alone
        }

    def gangs_without_room(self) -> tuple[int, ...]:
        """The gangs that have no room as a whole."""
        return self.gangs.gangs_without_room(self._places())

    def short(self, gang: int) -> list[tuple[int, int, float]]:
        """The shapes of a gang without room that have too few places: how many, and what they lack.

        What is lacking is in pods, on the places where the least is.
        """
        needed = self.gangs.needed_places(gang, self._places())
        answer = []
        for place, count in needed:
            number = self._whole[place]
            fits, missing = self._missing[number]
            if short := max(0, count - int(fits.sum())):
                answer.append((number, short, _least_missing(count, fits, missing)))
        return answer

    def update(self, rows: Rows) -> None:
        """Evaluate these nodes again."""
        for (fits, missing), shape in zip(self._missing, self.waiting, strict=True):
            fits[rows.nodes], missing[rows.nodes] = _fit(shape, rows)

    def changes(self, source_row: Rows, rows: Rows, priority: int) -> FloatArray:
        """(rows,) change of the cost if one node became `source_row`, another became each row.

        source_row: the node that a pod leaves. A row of that same node is taken as it is.
        priority: of that pod. To what waits with a lower one it does no good, only harm.
        """
        total = np.zeros(len(rows.nodes))
        places = []
        for number, (shape, (fits, missing)) in enumerate(
            zip(self.waiting, self._missing, strict=True)
        ):
            with_left = fits.copy(), missing.copy()
            with_left[0][source_row.nodes], with_left[1][source_row.nodes] = _fit(shape, source_row)
            after = _fit(shape, rows)
            if shape.gangs:
                then = with_left[0].sum() - with_left[0][rows.nodes] + after[0]
                places.append(np.minimum(then, fits.sum()) if shape.priority < priority else then)
                continue
            before = _least_missing(shape.count, *self._missing[number])
            change = _least_missing_swapped(shape.count, with_left, rows.nodes, after) - before
            total += np.maximum(change, 0.0) if shape.priority < priority else change
        return total + self._whole_changes(places, len(total))

    def gains(self, rows: Rows) -> FloatArray:
        """(rows,) at most how much it helps if the row's node became that, whatever else comes."""
        total = np.zeros(len(rows.nodes))
        places = []
        for shape, base in zip(self.waiting, self._missing, strict=True):
            after = _fit(shape, rows)
            if shape.gangs:
                places.append(base[0].sum() - base[0][rows.nodes] + after[0])
                continue
            total += _least_missing(shape.count, *base) - _least_missing_swapped(
                shape.count, base, rows.nodes, after
            )
        return np.maximum(total - self._whole_changes(places, len(total)), 0.0)

    def nearest(self, number: int) -> IntArray:
        """The nodes on which the least is missing for that shape, as many as it has pods."""
        fits, missing = self._missing[number]
        order = np.argsort(missing - fits, kind="stable")[: self.waiting[number].count]
        return order[missing[order] < 1.0].astype(np.int32)

    def open(self, number: int) -> IntArray:
        """The nodes on which one more of the shape could be, those first that lack the least."""
        fits, missing = self._missing[number]
        order = np.argsort(missing, kind="stable")
        return order[fits[order] < self.waiting[number].places[order]].astype(np.int32)

    def want(self, number: int, rows: Rows) -> FloatArray:
        """(rows,) what each row wants for one more of the shape, over all resources.

        It falls with any of them that is freed, also where another one is missing more.
        """
        fits, missing = _fit(self.waiting[number], rows, summed=True)
        return missing - _RESOURCES * fits

    def _places(self) -> tuple[int, ...]:
        return tuple(int(self._missing[number][0].sum()) for number in self._whole)

    def _whole_changes(self, places: Sequence[FloatArray], rows: int) -> FloatArray:
        """(rows,) change of the cost if each shape of gangs had so many (rows,) places."""
        answer = np.zeros(rows)
        if not places or not rows:
            return answer
        now = self._places()
        then = np.stack(places).astype(np.int64)
        changed = np.flatnonzero((then != np.array(now)[:, None]).any(axis=0))
        if len(changed):
            answer[changed] = self.gangs.costs(then[:, changed]) - self.gangs.cost(now)
        return answer


def _fit(shape: PendingShape, rows: Rows, *, summed: bool = False) -> tuple[FloatArray, FloatArray]:
    """(rows,) how many such pods fit, and what is missing for one more, 0 to 1."""
    for claim in shape.before:
        rows = subtract_demand(rows, claim.demand, claim.places[rows.nodes])
    return fits_and_missing(shape.demand, shape.places[rows.nodes], rows, summed=summed)


def subtract_demand(rows: Rows, demand: Demand, pods: Amounts) -> Rows:
    """What would be left with so many more pods of that demand on each row, 0 where too little."""
    free = Rows(
        rows.nodes,
        np.maximum(rows.cpu - pods * demand.cpu, 0),
        np.maximum(rows.memory - pods * demand.memory, 0),
        rows.devices.copy(),
    )
    if demand.gpus:
        free.devices[:] = -np.sort(-free.devices, axis=1)
        free.devices[np.arange(free.devices.shape[1]) < (pods * demand.gpus)[:, None]] = 0
    if demand.share:
        for number in range(int(pods.max(initial=0))):
            some = np.flatnonzero(pods > number)
            devices = free.devices[some]
            take_share(devices, demand.share)
            free.devices[some] = devices
    return free


def fits_and_missing(
    demand: Demand, most: Amounts, rows: Rows, *, summed: bool = False
) -> tuple[FloatArray, FloatArray]:
    """(rows,) how many such pods fit, and what is missing for one more, 0 to 1.

    most: (rows,) how many could ever be there; where all of them fit, one more misses everything.
    summed: the missing shares of all resources together, instead of the largest.
    """
    worse = np.add if summed else np.maximum
    have: list[tuple[FloatArray, int]] = [
        (np.maximum(rows.cpu, 0).astype(float), demand.cpu),
        (np.maximum(rows.memory, 0).astype(float), demand.memory),
    ]
    fits = most.astype(np.float64)
    if demand.gpus:
        fits = np.minimum(fits, (rows.devices == WHOLE).sum(axis=1) // demand.gpus)
    if demand.share:
        fits = np.minimum(fits, (rows.devices // demand.share).sum(axis=1))
    for amount, wanted in have:
        if wanted:
            fits = np.minimum(fits, amount // wanted)
    missing = np.zeros(len(rows.nodes))
    for amount, wanted in have:
        if wanted:
            share = 1.0 - (amount - fits * wanted) / wanted
            missing = worse(missing, np.maximum(share, 0.0))
    if demand.gpus:
        ordered = -np.sort(-rows.devices, axis=1)
        columns = np.arange(ordered.shape[1])[None, :] - fits[:, None] * demand.gpus
        next_ones = np.where((columns >= 0) & (columns < demand.gpus), ordered, 0)
        wanted = demand.gpus * WHOLE
        missing = worse(missing, np.maximum(1.0 - next_ones.sum(axis=1) / wanted, 0.0))
    if demand.share:
        largest = (rows.devices % demand.share).max(axis=1, initial=0)
        missing = worse(missing, np.maximum(1.0 - largest / demand.share, 0.0))
    all_of_it = float(_RESOURCES) if summed else 1.0
    return fits, np.where(fits < most, np.clip(missing, 0.0, all_of_it), all_of_it)


def _least_missing(count: int, fits: FloatArray, missing: FloatArray) -> float:
    """The sum of the `count` least missing shares; each node has `fits` of 0 and one more."""
    short = count - min(float(count), float(fits.sum()))
    places = int(short)
    shares = np.sort(missing)[:places]
    return float(shares.sum()) + (places - len(shares))


def _least_missing_swapped(
    count: int,
    base: tuple[FloatArray, FloatArray],
    nodes: IntArray,
    after: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """(rows,) `_least_missing` if the row's node had `after` in place of its entry in the base."""
    fits, missing = base
    total = fits.sum() - fits[nodes] + after[0]
    short = np.maximum(0, count - total).astype(np.int64)
    order = np.argsort(missing, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    padded = np.concatenate([[0.0], np.cumsum(missing[order])])

    def missing_elsewhere(places: Amounts) -> FloatArray:
        """The sum of the least shares of all other nodes; what is wanting counts 1 each."""
        inside = rank[nodes] < places
        upto = np.minimum(places + inside, len(order))
        lacking = places - (upto - inside)
        chosen: FloatArray = padded[upto] - np.where(inside, missing[nodes], 0.0) + lacking
        return chosen

    with_it = np.where(short > 0, missing_elsewhere(np.maximum(short - 1, 0)) + after[1], 0.0)
    answer: FloatArray = np.where(short > 0, np.minimum(missing_elsewhere(short), with_it), 0.0)
    return answer
