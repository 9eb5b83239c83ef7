"""Traffic pairs as sums over nodes, where a host is the only level: then 1 - G is one.

cost = sum of amount * (1 - sum over nodes of min(one there / one, other there / other))
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rescheduler.model.move import Shift
from rescheduler.model.readings import BoolArray, FloatArray, IntArray
from rescheduler.policies.shared.tables import TrafficTables

_CHUNK = 1 << 18
"""Numbers that are worked on at once."""


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
        table: npt.NDArray[np.int64] = np.array(rows, dtype=np.int64).reshape(-1, 3)
        owner, its, at = table[:, 0], table[:, 1], table[:, 2]
        self._begin = np.searchsorted(owner, np.arange(groups + 1))
        self._pair, self._end = its.astype(np.int32), at.astype(np.int32)
        self._at = owner * len(pairs) + its  # ascending
        self._mine, self._theirs = (2 * its + at) * nodes, (2 * its + 1 - at) * nodes
        self._step, self._other_step = 1.0 / sizes[its, at], 1.0 / sizes[its, 1 - at]
        self._amount = self._amounts[its]
        self._up_to = np.concatenate([[0.0], np.cumsum(self._amount)])
        sides = [side for each in pairs for side in (each.one, each.other)]
        self._first = np.concatenate([[0], np.cumsum([len(side) for side in sides])])
        self._partners = np.concatenate(sides) if sides else np.empty(0, dtype=np.int32)

    def cost(self) -> float:
        """What is not near."""
        near = np.empty(len(self._count))
        step = max(1, _CHUNK // max(1, self._count.shape[2]))
        for start in range(0, len(near), step):
            some = slice(start, start + step)
            shares = self._count[some] / self._sizes[some, :, None]
            near[some] = np.minimum(shares[:, 0], shares[:, 1]).sum(axis=1)
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
        counts, step = self._count.ravel(), self._step[rows]
        mine = counts[self._mine[rows] + nodes] * step
        theirs = counts[self._theirs[rows] + nodes] * self._other_step[rows]
        near = np.minimum(mine + sign * step, theirs) - np.minimum(mine, theirs)
        changed: FloatArray = self._amount[rows] * -near
        return changed

    def exchanging(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) what changes if each pod went to its node, and the other, if any, came instead."""
        here = self._where[pods]
        answer = self._going(pods, here, nodes)
        (some,) = np.nonzero(others >= 0)
        if not len(some):
            return answer
        here, nodes, others = here[some], nodes[some], others[some]
        answer[some] += self._going(others, nodes, here)
        # Where both are at ends of one pair, what they change is not the sum of what each does.
        rows, owner = self._rows(self._group[pods[some]])
        mates = self._group[others][owner]
        sought = mates.astype(np.int64) * len(self._amounts) + self._pair[rows]
        found = np.searchsorted(self._at, sought).clip(max=len(self._at) - 1)
        (both,) = np.nonzero((self._at[found] == sought) & (mates >= 0))
        if len(both):
            rows, owner, found = rows[both], owner[both], found[both]
            more = self._together(rows, found, here[owner], -1)
            more += self._together(rows, found, nodes[owner], 1)
            np.subtract.at(answer, some[owner], more * self._amount[rows])
        return answer

    def _going(self, pods: IntArray, sources: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) what changes if each pod, it alone, went from its node to another."""
        rows, owner = self._rows(self._group[pods])
        changed = self._changed(rows, sources[owner], -1) + self._changed(rows, nodes[owner], 1)
        answer = np.zeros(len(pods))
        np.add.at(answer, owner, changed)
        return answer

    def _together(self, rows: IntArray, others: IntArray, nodes: IntArray, sign: int) -> FloatArray:
        """How much more of each pair stays on the node, beyond what each change by itself adds.

        sign: what changes at the end of the pod; at the other's row it is the opposite.
        """
        counts, step = self._count.ravel(), sign * self._step[rows]
        mine = counts[self._mine[rows] + nodes] * self._step[rows]
        theirs = counts[self._theirs[rows] + nodes] * self._other_step[rows]
        back = -sign * self._step[others]
        same = self._end[rows] == self._end[others]
        ours, its = np.where(same, back, 0.0), np.where(same, 0.0, back)
        more: FloatArray = np.minimum(mine + step + ours, theirs + its) + np.minimum(mine, theirs)
        more -= np.minimum(mine + step, theirs) + np.minimum(mine + ours, theirs + its)
        return more

    def attracting(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each, where some pod is that it exchanges traffic with.

        A pair is drawn by what it amounts to, and one of its pods at the other end. Any node for
        pods without traffic.
        """
        nodes = random.integers(self._count.shape[2], size=len(pods)).astype(np.int32)
        group = self._group[pods]
        begin, end = self._begin[group], self._begin[group + 1]
        (some,) = np.nonzero((group >= 0) & (end > begin))
        low, high = self._up_to[begin[some]], self._up_to[end[some]]
        drawn = low + random.random(len(some)) * (high - low)
        rows = np.searchsorted(self._up_to, drawn, side="right") - 1
        rows = rows.clip(begin[some], end[some] - 1)
        side = 2 * self._pair[rows] + 1 - self._end[rows]
        first, size = self._first[side], self._first[side + 1] - self._first[side]
        partner = self._partners[first + (random.random(len(some)) * size).astype(np.int64)]
        found = self._where[partner]
        nodes[some] = np.where(found >= 0, found, nodes[some])
        return nodes

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node."""
        rows, owner = self._rows(self._group[pods])
        counts, mine = self._count.ravel(), self._mine[rows]
        one = np.int16(1)  # of the same type it is added much faster
        np.subtract.at(counts, mine + self._where[pods][owner], one)
        np.add.at(counts, mine + nodes[owner], one)
        self._where[pods] = nodes

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = self._group[shift.pod]
        if group >= 0:
            rows = slice(self._begin[group], self._begin[group + 1])
            for node, sign in ((shift.source, -1), (shift.destination, 1)):
                if node >= 0:
                    self._count[self._pair[rows], self._end[rows], node] += sign
        self._where[shift.pod] = shift.destination

    def tables(self) -> TrafficTables:
        """As loops work on them."""
        return TrafficTables(
            self._group,
            self._begin.astype(np.int32),
            self._pair,
            self._end,
            self._sizes,
            self._amounts,
            self._count,
            self._up_to,
            self._first.astype(np.int32),
            self._partners,
            self._where,
        )

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
