"""Places for the pods of a pending gang, and what is still missing for them.

A place on a node is missing the largest share, over CPU, memory and GPUs, of what the pod asks for
and the node does not have. The gang needs as many places as it has pods; those with the least
missing count, so that what nearly fits is freed first:

    cost = sum of the least missing shares, one for each pending pod.

Which shape of pods may count on which places was decided before (`gang_places`), so that no two
count on the same capacity: where every place is free, all pods fit at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.policies.fragmentation.free_capacity import Amounts, Rows, take_share
from rescheduler.policies.shared.demand import WHOLE, Demand


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
    """

    demand: Demand
    count: int
    places: Amounts
    subject: str
    before: tuple[ReservedPlaces, ...] = ()
    whole: bool = True


class PendingPlaces:
    """What is missing for all pending pods, of all shapes."""

    def __init__(self, waiting: Sequence[PendingShape], rows: Rows) -> None:
        self.waiting = tuple(waiting)
        self._missing = [_fit(each, rows) for each in waiting]

    def costs(self) -> list[float]:
        """What is missing for each shape, in pods."""
        return [
            _least(each.count, *found)
            for each, found in zip(self.waiting, self._missing, strict=True)
        ]

    def update(self, rows: Rows) -> None:
        """Evaluate these nodes again."""
        for (fits, missing), each in zip(self._missing, self.waiting, strict=True):
            fits[rows.nodes], missing[rows.nodes] = _fit(each, rows)

    def changes(self, left: Rows, rows: Rows) -> FloatArray:
        """(rows,) change of the cost if one node became `left`, and another became each row.

        left: one row, the node that a pod leaves. A row of that same node is taken as it is.
        """
        total = np.zeros(len(rows.nodes))
        for each, (fits, missing) in zip(self.waiting, self._missing, strict=True):
            before = _least(each.count, fits, missing)
            with_left = fits.copy(), missing.copy()
            with_left[0][left.nodes], with_left[1][left.nodes] = _fit(each, left)
            after = _fit(each, rows)
            total += _swapped(each.count, with_left, rows.nodes, after) - before
        return total

    def gains(self, left: Rows) -> FloatArray:
        """(rows,) at most how much it helps if the row's node became that, whatever else comes."""
        total = np.zeros(len(left.nodes))
        for each, found in zip(self.waiting, self._missing, strict=True):
            after = _fit(each, left)
            total += _least(each.count, *found) - _swapped(each.count, found, left.nodes, after)
        return np.maximum(total, 0.0)

    def nearest(self, number: int) -> IntArray:
        """The nodes on which the least is missing for that shape, as many as it has pods."""
        fits, missing = self._missing[number]
        order = np.argsort(missing - fits, kind="stable")[: self.waiting[number].count]
        return order[missing[order] < 1.0].astype(np.int32)


def _fit(each: PendingShape, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """(rows,) how many such pods fit, and what is missing for one more, 0 to 1."""
    for claim in each.before:
        rows = less(rows, claim.demand, claim.places[rows.nodes])
    return fitting(each.demand, each.places[rows.nodes], rows)


def less(rows: Rows, demand: Demand, pods: Amounts) -> Rows:
    """What would be left with so many more pods of that demand on each row, 0 where too little."""
    left = Rows(
        rows.nodes,
        np.maximum(rows.cpu - pods * demand.cpu, 0),
        np.maximum(rows.memory - pods * demand.memory, 0),
        rows.devices.copy(),
    )
    if demand.gpus:
        left.devices[:] = -np.sort(-left.devices, axis=1)
        left.devices[np.arange(left.devices.shape[1]) < (pods * demand.gpus)[:, None]] = 0
    if demand.share:
        for number in range(int(pods.max(initial=0))):
            some = np.flatnonzero(pods > number)
            devices = left.devices[some]
            take_share(devices, demand.share)
            left.devices[some] = devices
    return left


def fitting(asked: Demand, most: Amounts, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """(rows,) how many such pods fit, and what is missing for one more, 0 to 1.

    most: (rows,) how many could ever be there; where all of them fit, one more misses everything.
    """
    have: list[tuple[FloatArray, int]] = [
        (np.maximum(rows.cpu, 0).astype(float), asked.cpu),
        (np.maximum(rows.memory, 0).astype(float), asked.memory),
    ]
    fits = most.astype(np.float64)
    if asked.gpus:
        fits = np.minimum(fits, (rows.devices == WHOLE).sum(axis=1) // asked.gpus)
    if asked.share:
        fits = np.minimum(fits, (rows.devices // asked.share).sum(axis=1))
    for amount, wanted in have:
        if wanted:
            fits = np.minimum(fits, amount // wanted)
    missing = np.zeros(len(rows.nodes))
    for amount, wanted in have:
        if wanted:
            missing = np.maximum(missing, 1.0 - (amount - fits * wanted) / wanted)
    if asked.gpus:
        ordered = -np.sort(-rows.devices, axis=1)
        columns = np.arange(ordered.shape[1])[None, :] - fits[:, None] * asked.gpus
        next_ones = np.where((columns >= 0) & (columns < asked.gpus), ordered, 0)
        wanted = asked.gpus * WHOLE
        missing = np.maximum(missing, 1.0 - next_ones.sum(axis=1) / wanted)
    if asked.share:
        largest = (rows.devices % asked.share).max(axis=1, initial=0)
        missing = np.maximum(missing, 1.0 - largest / asked.share)
    return fits, np.where(fits < most, np.clip(missing, 0.0, 1.0), 1.0)


def _least(count: int, fits: FloatArray, missing: FloatArray) -> float:
    """The sum of the `count` least missing shares; each node has `fits` of 0 and one more."""
    short = count - min(float(count), float(fits.sum()))
    places = int(short)
    shares = np.sort(missing)[:places]
    return float(shares.sum()) + (places - len(shares))


def _swapped(
    count: int,
    base: tuple[FloatArray, FloatArray],
    nodes: IntArray,
    after: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """(rows,) `_least` if the row's node had `after` in place of its entry in the base."""
    fits, missing = base
    total = fits.sum() - fits[nodes] + after[0]
    short = np.maximum(0, count - total).astype(np.int64)
    order = np.argsort(missing, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    padded = np.concatenate([[0.0], np.cumsum(missing[order])])

    def others(places: Amounts) -> FloatArray:
        """The sum of the least shares of all other nodes; what is wanting counts 1 each."""
        inside = rank[nodes] < places
        upto = np.minimum(places + inside, len(order))
        lacking = places - (upto - inside)
        chosen: FloatArray = padded[upto] - np.where(inside, missing[nodes], 0.0) + lacking
        return chosen

    with_it = np.where(short > 0, others(np.maximum(short - 1, 0)) + after[1], 0.0)
    answer: FloatArray = np.where(short > 0, np.minimum(others(short), with_it), 0.0)
    return answer
