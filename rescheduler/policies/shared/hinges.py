"""Hinges: a node costs what its sums exceed thresholds by, weighed and added up.

    cost = sum over nodes n and hinges h of max(0, sum of the pods' parts(h) - slack(n, h))

Load above a target is one hinge for each resource; two resources out of balance are one as well,
for what is free of both is linear in what is used.
"""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift

_CHUNK = 1 << 18
"""Numbers that are worked on at once, so that they stay in the cache."""
_FEW, _WIDE, _ROWS = 1 << 13, 32, 1 << 15
"""More pairs of pods and nodes than that are worked on hinge by hinge, where there are so many
nodes: so many pairs at once."""


class Hinges:
    """The kernel.

    parts: (pods, hinges) what each pod adds, and slack: (nodes, hinges), both weighed; an infinite
    slack never costs. where: (pods,) their nodes, -1 for none. movable: (pods,).
    away: (pods, hinges) what each adds on any node but its `home`, (pods,); None: the same.
    """

    def __init__(
        self,
        parts: FloatArray,
        slack: FloatArray,
        where: IntArray,
        movable: BoolArray,
        away: FloatArray | None = None,
        home: IntArray | None = None,
    ) -> None:
        self.movable = movable
        # The last row is nobody's.
        self._parts = np.concatenate([parts, np.zeros((1, parts.shape[1]))])
        self._away = self._parts
        self._renewed: IntArray | None = None
        if away is not None:
            self._away = np.concatenate([away, np.zeros((1, parts.shape[1]))])
            self._renewed = np.append((parts != away).any(axis=1), False)
        self._home = np.append(where if home is None else home, -1)
        self._where = where.astype(np.int32, copy=True)
        self._over = -slack
        self._ones = np.ones(parts.shape[1])  # a product with it sums faster
        placed = np.flatnonzero(where >= 0).astype(np.int32)
        np.add.at(self._over, where[placed], self._parts_at(placed, where[placed]))
        self._now = np.maximum(self._over, 0.0) @ self._ones

    def cost(self) -> float:
        """All that is above its threshold."""
        return float(self._now.sum())

    def nodes(self) -> FloatArray:
        """(nodes,) what each of them costs."""
        return self._now.copy()

    def excess(self) -> FloatArray:
        """(nodes, hinges) how far each sum is above its threshold, weighed; below 0 where not."""
        return self._over.copy()

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) what leaving saves, below 0, or adds."""
        nodes = self._where[pods]
        rest = self._over[nodes] - self._parts_at(pods, nodes)
        np.maximum(rest, 0.0, out=rest)
        saved: FloatArray = rest @ self._ones - self._now[nodes]
        return saved

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what coming adds."""
        if len(pods) * len(nodes) > _FEW and len(nodes) >= _WIDE:
            answer = self._arriving_of_many(pods, nodes)
        else:
            answer = self._arriving_of_few(pods, nodes)
        if self._renewed is not None:
            back = (self._home[pods][:, None] == nodes) & self._renewed[pods][:, None]
            for row, column in zip(*np.nonzero(back), strict=True):
                come = self._over[nodes[column]] + self._parts[pods[row]]
                answer[row, column] = np.maximum(come, 0.0) @ self._ones
        answer -= self._now[nodes]
        return answer

    def _parts_at(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, hinges) what each pod adds on that node."""
        if self._renewed is None:
            parts: FloatArray = self._parts[pods]
            return parts
        here = (self._home[pods] == nodes)[:, None]
        return np.where(here, self._parts[pods], self._away[pods])

    def _arriving_of_few(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) all that the nodes cost then, where the pods come that were elsewhere."""
        over, answer = self._over[nodes], np.empty((len(pods), len(nodes)))
        step = max(1, _CHUNK // max(1, over.size))
        for start in range(0, len(pods), step):
            some = pods[start : start + step]
            come = over[None] + self._away[some][:, None]
            np.maximum(come, 0.0, out=come)
            answer[start : start + step] = come @ self._ones
        return answer

    def _arriving_of_many(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """The same, hinge by hinge: long rows are added up two times as fast as short ones."""
        over, parts = np.ascontiguousarray(self._over[nodes].T), self._away[pods]
        answer = np.zeros((len(pods), len(nodes)))
        step = max(1, _ROWS // len(nodes))
        come = np.empty((step, len(nodes)))
        for start in range(0, len(pods), step):
            some = answer[start : start + step]
            buffer = come[: len(some)]
            for hinge in range(len(over)):
                np.add(over[hinge], parts[start : start + step, hinge, None], out=buffer)
                np.maximum(buffer, 0.0, out=buffer)
                some += buffer
        return answer

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) what each adds, or saves below 0, by going there, the other coming instead."""
        here = self._where[pods]
        parts = self._parts_at(pods, nodes)
        parts -= self._parts_at(others, nodes)
        come = self._over[nodes]
        come += parts
        np.maximum(come, 0.0, out=come)
        if self._renewed is not None:
            parts = self._parts_at(pods, here) - self._parts_at(others, here)
        rest = self._over[here]
        rest -= parts
        np.maximum(rest, 0.0, out=rest)
        come += rest
        change: FloatArray = come @ self._ones
        change -= self._now[nodes]
        change -= self._now[here]
        return change

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        here = self._where[pods]
        np.subtract.at(self._over, here, self._parts_at(pods, here))
        np.add.at(self._over, nodes, self._parts_at(pods, nodes))
        for changed in (here, nodes):
            self._now[changed] = np.maximum(self._over[changed], 0.0) @ self._ones
        self._where[pods] = nodes

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        for node, sign in ((shift.source, -1.0), (shift.destination, 1.0)):
            if node >= 0:
                at_home = node == self._home[shift.pod]
                parts = (self._parts if at_home else self._away)[shift.pod]
                self._over[node] += sign * parts
                self._now[node] = np.maximum(self._over[node], 0.0).sum()
        self._where[shift.pod] = shift.destination

    def savings(self) -> FloatArray:
        """(pods,) what each takes off its node alone, and what it could relieve elsewhere.

        A hinge is convex: of two pods that leave a node, the second saves no more than it would
        alone. So what several save together is at most the sum.
        """
        everyone = np.arange(len(self._where), dtype=np.int32)
        taken = np.maximum(self._parts_at(everyone, self._where), 0.0)
        relief = np.maximum(-np.minimum(self._parts, self._away)[:-1], 0.0)
        saved: FloatArray = relief @ self._ones
        placed = np.flatnonzero(self._where >= 0)
        over = self._over[self._where[placed]]
        rest = np.maximum(over - taken[placed], 0.0)
        saved[placed] += (np.maximum(over, 0.0) - rest) @ self._ones
        return saved
