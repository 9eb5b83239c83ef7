"""Steepest descent: the single move that lowers the cost most, again and again.

For each pod the best node is kept. A move changes two nodes, so of all other nodes the best stays
what it was; whoever wanted one of the two is asked anew only when it would be next.
"""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.planning.improve.placement import NOTHING, Placement

AT_ONCE = 1 << 20
"""Pairs of pods and nodes that are asked for at once."""
_MOST_NODES = 1_000
"""Of more nodes so many are drawn, each time that a pod's best one is asked for."""
_NODES_OF_MOVE, _NEARLY = 100, 0.8
"""Moves are made one by one, but on many nodes one for each so many at once: those that gain at
least this share of what the best gains, each on two nodes of its own."""


class Descent:
    """The best move of each of some pods, kept while the placement changes through it.

    pods: which; their places in it number the arrays. most: how many may be elsewhere than at home.
    """

    def __init__(self, placement: Placement, pods: IntArray, most: int) -> None:
        self.placement = placement
        self.pods = pods
        self.most = most
        self._place = np.full(len(placement.home), -1, dtype=np.int32)
        self._place[pods] = np.arange(len(pods), dtype=np.int32)
        self._random = np.random.default_rng(len(pods))
        self._batch = max(1, len(placement.nodes) // _NODES_OF_MOVE)
        self._leaving = placement.leaving(pods)
        self._best = np.empty(len(pods))
        self._to = np.empty(len(pods), dtype=np.int32)
        self._stale = np.zeros(len(pods), dtype=np.bool_)
        step = max(1, AT_ONCE // max(1, len(placement.nodes)))
        for start in range(0, len(pods), step):
            self._ask(np.arange(start, min(start + step, len(pods)), dtype=np.int32))

    def _ask(self, places: IntArray) -> None:
        """Find the best move of each anew; of very many nodes among some that are drawn."""
        nodes = self.placement.nodes
        if len(nodes) > _MOST_NODES:
            nodes = self._random.choice(nodes, _MOST_NODES, replace=False, shuffle=False)
        table = self.placement.arriving(self.pods[places], nodes)
        which = table.argmin(axis=1)
        self._to[places] = nodes[which]
        self._best[places] = table[np.arange(len(places)), which]
        self._stale[places] = False

    def next(self) -> tuple[int, int, float] | None:
        """The best move that is allowed, and its change of the cost; None if nothing gains."""
        total = self._leaving + self._best
        inside = None
        if len(self.placement.moved) >= self.most:
            inside = self._place[list(self.placement.moved)]
            inside = inside[inside >= 0]
            if not len(inside):
                return None
        while True:
            place = int(total.argmin() if inside is None else inside[total[inside].argmin()])
            if not total[place] < -NOTHING:
                return None
            pod, to = int(self.pods[place]), int(self._to[place])
            if not self._stale[place] and self.placement.allows(pod, to):
                return pod, to, float(total[place])
            # What is kept is of a state that is past: the node has filled, or a rule holds now.
            self._ask(np.array([place], dtype=np.int32))
            total[place] = self._leaving[place] + self._best[place]

    def _several(self, best: float) -> tuple[IntArray, IntArray, FloatArray]:
        """Moves that gain nearly as much as the best, the best first, and share no node."""
        placement = self.placement
        total = self._leaving + self._best
        count = min(4 * self._batch, len(total))
        places = np.argpartition(total, count - 1)[:count]
        places = places[np.argsort(total[places], kind="stable")]
        stale = places[self._stale[places] & (total[places] <= _NEARLY * best)]
        if len(stale):
            self._ask(stale.astype(np.int32))
            total[stale] = self._leaving[stale] + self._best[stale]
        places = places[(total[places] <= _NEARLY * best) & ~self._stale[places]]
        places = places[np.argsort(total[places], kind="stable")]
        left = self.most - len(placement.moved)
        pods, to = self.pods[places], self._to[places]
        nobody = np.full(len(pods), -1, dtype=np.int32)
        some = np.flatnonzero(placement.admits(pods, to, nobody))
        some = some[placement.together(pods[some], to[some], nobody[some])]
        some = some[: min(self._batch, left)]
        return pods[some], to[some], total[places[some]]

    def _move(self, pods: IntArray, to: IntArray) -> None:
        """Make them, and keep the best moves right."""
        placement = self.placement
        ends = np.unique(np.concatenate([placement.where[pods], to]))
        placement.move_all(pods, to, np.full(len(pods), -1, dtype=np.int32))
        for start in range(0, len(self.pods), step := max(1, AT_ONCE // len(ends))):
            some = slice(start, start + step)
            table = placement.arriving(self.pods[some], ends)
            which = table.argmin(axis=1)
            best = table[np.arange(len(which)), which]
            better = best <= self._best[some]
            self._stale[some] |= np.isin(self._to[some], ends) & ~better
            self._best[some] = np.where(better, best, self._best[some])
            self._to[some] = np.where(better, ends[which], self._to[some])
            self._stale[some] &= ~better
        (changed,) = np.nonzero(np.isin(placement.where[self.pods], ends))
        self._leaving[changed] = placement.leaving(self.pods[changed])
        places = self._place[pods]
        self._ask(places[places >= 0])

    def run(self) -> Iterator[FloatArray]:
        """Descend until nothing gains; yields what the moves changed, some at a time."""
        while (found := self.next()) is not None:
            pod, node, change = found
            pods, to = np.array([[pod], [node]], dtype=np.int32)
            changes = np.array([change])
            if self._batch > 1 and len(self.placement.moved) < self.most:
                pods, to, changes = self._several(change)
            self._move(pods, to)
            yield changes


def candidates(placement: Placement, count: int) -> IntArray:
    """At most so many pods that save most by leaving, ascending."""
    pods = placement.movable
    saved: FloatArray = placement.leaving(pods)
    if len(pods) <= count:
        return pods
    return np.sort(pods[np.argpartition(saved, count)[:count]])
