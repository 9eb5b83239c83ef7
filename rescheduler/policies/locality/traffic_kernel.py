"""Traffic pairs as sums over nodes, where a host is the only level: then 1 - G is one.

cost = sum of amount * (1 - sum over nodes of min(one there / one, other there / other))
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rescheduler.model.move import Shift
from rescheduler.model.readings import BoolArray, FloatArray, IntArray


class Ends(Protocol):
    """Two sets of pods that exchange traffic, and what that amounts to."""

    @property
    def one(self) -> IntArray:
        """One side."""
        ...

    @property
    def other(self) -> IntArray:
        """The other side."""
        ...

    @property
    def amount(self) -> float:
        """What it costs if none of the traffic is near."""
        ...


class TrafficKernel:
    """The kernel. Pods at the same ends of the same pairs are one group, and are counted by node.

    where: (pods,) their nodes. movable: (pods,).
    """

    def __init__(
        self, pairs: Sequence[Ends], where: IntArray, nodes: int, movable: BoolArray
    ) -> None:
        self.movable = movable
        self._where = where.astype(np.int32, copy=True)
        self._group, ends = _grouped(pairs, len(where))
        groups = len(ends)
        sizes = np.array([[len(pair.one), len(pair.other)] for pair in pairs], dtype=np.float64)
        self._amounts = np.array([pair.amount for pair in pairs])
        self._count = np.zeros((len(pairs), 2, nodes), dtype=np.int16)
        for number, pair in enumerate(pairs):
            for end, pods in enumerate((pair.one, pair.other)):
                placed = where[pods][where[pods] >= 0]
                np.add.at(self._count[number, end], placed, 1)
        self._sizes = sizes
        # One row for each group and each end of a pair that it is at.
        rows = [(group, number, end) for group, found in enumerate(ends) for number, end in found]
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        self._begin = np.searchsorted(table[:, 0], np.arange(groups + 1))
        self._pair, self._end = table[:, 1], table[:, 2]

    def cost(self) -> float:
        """What is not near."""
        shares = self._count / self._sizes[:, :, None]
        near = np.minimum(shares[:, 0], shares[:, 1]).sum(axis=1)
        return float(self._amounts @ (1.0 - near))

    def leaving(self, pods: IntArray) -> FloatArray:
        """(k,) what leaves with each."""
        rows, owner = self._rows(self._group[pods])
        answer = np.zeros(len(pods))
        if len(rows):
            nodes = self._where[pods][owner]
            changed = self._changed(rows, nodes, -1)
            np.add.at(answer, owner, changed)
        return answer

    def arriving(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what comes with each."""
        groups, of_pod = np.unique(self._group[pods], return_inverse=True)
        rows, owner = self._rows(groups)
        table = np.zeros((len(groups), len(nodes)))
        if len(rows):
            changed = self._changed(rows[:, None], nodes[None, :], 1)
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            table[owner[starts]] = np.add.reduceat(changed, starts, axis=0)
        answer: FloatArray = table[of_pod]
        return answer

    def _rows(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """All rows of these groups (-1 has none), and the place of the group of each."""
        begin = np.where(groups >= 0, self._begin[groups], 0)
        length = np.where(groups >= 0, self._begin[groups + 1] - begin, 0)
        owner = np.repeat(np.arange(len(groups)), length)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
        rows = (np.repeat(begin, length) + within).astype(np.int32)
        return rows, owner.astype(np.int32)

    def _changed(self, rows: IntArray, nodes: IntArray, sign: int) -> FloatArray:
        """Change of the cost of the pair of each row, by one pod more or less at the node."""
        pair, end = self._pair[rows], self._end[rows]
        size = self._sizes[pair, end]
        mine = self._count[pair, end, nodes] / size
        theirs = self._count[pair, 1 - end, nodes] / self._sizes[pair, 1 - end]
        near = np.minimum(mine + sign / size, theirs) - np.minimum(mine, theirs)
        changed: FloatArray = -self._amounts[pair] * near
        return changed

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = self._group[shift.pod]
        if group >= 0:
            rows = slice(self._begin[group], self._begin[group + 1])
            for node, sign in ((shift.source, -1), (shift.destination, 1)):
                if node >= 0:
                    self._count[self._pair[rows], self._end[rows], node] += sign
        self._where[shift.pod] = shift.destination

    def kinds(self) -> IntArray:
        """(pods,) the ends of pairs that each is at."""
        return self._group

    def relaxed(self) -> float:
        """All traffic could be near."""
        return 0.0

    def savings(self) -> FloatArray:
        """(pods,) one pod brings no more of a pair near than its own share of its side."""
        share = self._amounts[self._pair] / self._sizes[self._pair, self._end]
        groups = len(self._begin) - 1
        owner = np.repeat(np.arange(groups), np.diff(self._begin))
        saved = np.append(np.bincount(owner, weights=share, minlength=groups), 0.0)
        return saved[self._group]


def _grouped(
    pairs: Sequence[Ends], pods: int
) -> tuple[IntArray, list[tuple[tuple[int, int], ...]]]:
    """(pods,) the group of each, -1 for none, and the ends (pair, 0 or 1) of each group."""
    ends: dict[int, list[tuple[int, int]]] = {}
    for number, pair in enumerate(pairs):
        for end, side in enumerate((pair.one, pair.other)):
            for pod in side.tolist():
                ends.setdefault(pod, []).append((number, end))
    numbers: dict[tuple[tuple[int, int], ...], int] = {}
    group = np.full(pods, -1, dtype=np.int32)
    for pod, found in ends.items():
        group[pod] = numbers.setdefault(tuple(found), len(numbers))
    return group, list(numbers)
