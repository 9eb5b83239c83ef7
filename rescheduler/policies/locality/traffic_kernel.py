"""Traffic pairs as sums over nodes, where a host is the only level: then 1 - G is one.

cost = sum of amount * (1 - sum over nodes of min(one there / one, other there / other))
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.policies.locality.traffic_sides import TrafficSides, by_sides, group_by_sides
from rescheduler.policies.shared.compressed_rows import rows_of


class TrafficKernel:
    """The kernel. The pods at one end of a pair are a side, and are counted by node.

    Pods that are at the same sides are one group. where: (pods,) their nodes. movable: (pods,).
    """

    def __init__(
        self, pairs: Sequence[TrafficSides], where: IntArray, nodes: int, movable: BoolArray
    ) -> None:
        self.movable = movable
        self._where = where.astype(np.int32, copy=True)
        pairs, self._sides, sides = by_sides(pairs)
        self._group, held, rows = group_by_sides(self._sides, sides, len(where))
        groups = len(held)
        sizes = np.array([len(array) for array in sides], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum(sizes)])
        self._partners = np.concatenate(sides) if sides else np.empty(0, dtype=np.int32)
        # What is read together, the sides of pairs on one node, is near each other in memory.
        self._count = np.zeros((nodes, len(sides)), dtype=np.int16)
        its_node = where[self._partners]
        side = np.repeat(np.arange(len(sides)), sizes)
        np.add.at(self._count, (its_node[its_node >= 0], side[its_node >= 0]), 1)
        lengths = [len(group_sides) for group_sides in held]
        self._held_of = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._held = np.array(
            [side for group_sides in held for side in group_sides], dtype=np.int64
        )
        # One row for each group and each end of a pair that it is at.
        table: npt.NDArray[np.int64] = np.array(rows, dtype=np.int64).reshape(-1, 3)
        owner, its, at = table[:, 0], table[:, 1], table[:, 2]
        self._begin = np.searchsorted(owner, np.arange(groups + 1)).astype(np.int32)
        self._pair, self._end = its.astype(np.int32), at.astype(np.int32)
        self._at = owner * len(pairs) + its  # ascending
        self._mine = self._sides[its, at].astype(np.int64)
        self._theirs = self._sides[its, 1 - at].astype(np.int64)
        self._share = 1.0 / sizes
        self._step, self._other_step = self._share[self._mine], self._share[self._theirs]
        self._amounts = np.array([pair.amount for pair in pairs])
        self._amount = self._amounts[its]
        self._up_to = np.concatenate([[0.0], np.cumsum(self._amount)])

    def cost(self) -> float:
        """What is not near."""
        # A pod of the one side has its part of what is near on its node; most nodes have none.
        pods = np.flatnonzero(self._where >= 0).astype(np.int32)
        rows, owner = rows_of(self._begin, self._group[pods])
        one = self._end[rows] == 0
        rows, nodes = rows[one], self._where[pods[owner[one]]]
        mine, theirs = self._shares(rows, nodes)
        near = np.minimum(1.0, theirs / mine) * self._step[rows]
        return float(self._amounts.sum() - self._amount[rows] @ near)

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) what leaves with each."""
        rows, owner = rows_of(self._begin, self._group[pods])
        answer = np.zeros(len(pods))
        if len(rows):
            nodes = self._where[pods][owner]
            changed = self._row_changes(rows, nodes, -1)
            np.add.at(answer, owner, changed)
        return answer

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what comes with each."""
        groups, of_pod = np.unique(self._group[pods], return_inverse=True)
        rows, owner = rows_of(self._begin, groups)
        table = np.zeros((len(groups), len(nodes)))
        if len(rows):
            changed = self._row_changes(rows[None, :], nodes[:, None], 1)
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            table[owner[starts]] = np.add.reduceat(changed, starts, axis=1).T
        answer: FloatArray = table[of_pod]
        return answer

    def _row_changes(self, rows: IntArray, nodes: IntArray, sign: int) -> FloatArray:
        """Change of the cost of the pair of each row, by one pod more or less at the node."""
        mine, theirs = self._shares(rows, nodes)
        step = self._step[rows]
        near = np.minimum(mine + sign * step, theirs) - np.minimum(mine, theirs)
        changed: FloatArray = self._amount[rows] * -near
        return changed

    def _shares(self, rows: IntArray, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """What part of its own side of the pair, and of the other, each row has on the node."""
        counts, first = self._count.ravel(), self._first_of(nodes)
        mine: FloatArray = counts[first + self._mine[rows]] * self._step[rows]
        theirs: FloatArray = counts[first + self._theirs[rows]] * self._other_step[rows]
        return mine, theirs

    def _first_of(self, nodes: IntArray) -> npt.NDArray[np.int64]:
        """Where the counts of each node begin."""
        return nodes.astype(np.int64) * self._count.shape[1]

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) what changes if each pod went to its node, and the other, if any, came instead."""
        here = self._where[pods]
        answer = self._move_deltas(pods, here, nodes)
        (some,) = np.nonzero(others >= 0)
        if not len(some):
            return answer
        here, nodes, others = here[some], nodes[some], others[some]
        answer[some] += self._move_deltas(others, nodes, here)
        # Where both are at ends of one pair, what they change is not the sum of what each does.
        rows, owner = rows_of(self._begin, self._group[pods[some]])
        mates = self._group[others][owner]
        sought = mates.astype(np.int64) * len(self._amounts) + self._pair[rows]
        other_rows = np.searchsorted(self._at, sought).clip(max=len(self._at) - 1)
        (both,) = np.nonzero((self._at[other_rows] == sought) & (mates >= 0))
        if len(both):
            rows, owner, other_rows = rows[both], owner[both], other_rows[both]
            more = self._joint_effect(rows, other_rows, here[owner], -1)
            more += self._joint_effect(rows, other_rows, nodes[owner], 1)
            np.subtract.at(answer, some[owner], more * self._amount[rows])
        return answer

    def _move_deltas(self, pods: IntArray, sources: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) what changes if each pod, it alone, went from its node to another."""
        rows, owner = rows_of(self._begin, self._group[pods])
        changed = self._row_changes(rows, sources[owner], -1) + self._row_changes(
            rows, nodes[owner], 1
        )
        answer = np.zeros(len(pods))
        np.add.at(answer, owner, changed)
        return answer

    def _joint_effect(
        self, rows: IntArray, others: IntArray, nodes: IntArray, sign: int
    ) -> FloatArray:
        """How much more of each pair stays on the node, beyond what each change by itself adds.

        sign: what changes at the end of the pod; at the other's row it is the opposite.
        """
        mine, theirs = self._shares(rows, nodes)
        step = sign * self._step[rows]
        back = -sign * self._step[others]
        same = self._end[rows] == self._end[others]
        ours, its = np.where(same, back, 0.0), np.where(same, 0.0, back)
        more: FloatArray = np.minimum(mine + step + ours, theirs + its) + np.minimum(mine, theirs)
        more -= np.minimum(mine + step, theirs) + np.minimum(mine + ours, theirs + its)
        return more

    def attracting_nodes(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each, where some pod is that it exchanges traffic with.

        A pair is drawn by what it amounts to, and one of its pods at the other end. Any node for
        pods without traffic.
        """
        nodes = random.integers(len(self._count), size=len(pods)).astype(np.int32)
        group = self._group[pods]
        begin, end = self._begin[group], self._begin[group + 1]
        (some,) = np.nonzero((group >= 0) & (end > begin))
        low, high = self._up_to[begin[some]], self._up_to[end[some]]
        drawn = low + random.random(len(some)) * (high - low)
        rows = np.searchsorted(self._up_to, drawn, side="right") - 1
        rows = rows.clip(begin[some], end[some] - 1)
        side = self._theirs[rows]
        first, size = self._first[side], self._first[side + 1] - self._first[side]
        partner = self._partners[first + (random.random(len(some)) * size).astype(np.int64)]
        partner_nodes = self._where[partner]
        nodes[some] = np.where(partner_nodes >= 0, partner_nodes, nodes[some])
        return nodes

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node."""
        places, owner = rows_of(self._held_of, self._group[pods])
        counts, sides = self._count.ravel(), self._held[places]
        one = np.int16(1)  # of the same type it is added much faster
        np.subtract.at(counts, self._first_of(self._where[pods])[owner] + sides, one)
        np.add.at(counts, self._first_of(nodes)[owner] + sides, one)
        self._where[pods] = nodes

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = self._group[shift.pod]
        if group >= 0:
            sides = self._held[self._held_of[group] : self._held_of[group + 1]]
            for node, sign in ((shift.source, -1), (shift.destination, 1)):
                if node >= 0:
                    self._count[node, sides] += sign
        self._where[shift.pod] = shift.destination

    def savings(self) -> FloatArray:
        """(pods,) one pod brings no more of a pair near than its own share of its side."""
        share = self._amount * self._step
        groups = len(self._begin) - 1
        owner = np.repeat(np.arange(groups), np.diff(self._begin))
        saved = np.append(np.bincount(owner, weights=share, minlength=groups), 0.0)
        return saved[self._group]
