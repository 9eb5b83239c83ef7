"""Steepest descent: the single move that lowers the cost most, again and again.

For each pod the best node is kept. A move changes two nodes, so of all other nodes the best stays
what it was; whoever wanted one of the two is asked anew only when it would be next.
"""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.planning.improve.placement import Placement

_NOTHING = 1e-9


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
        self._leaving = placement.leaving(pods)
        self._best = np.empty(len(pods))
        self._to = np.empty(len(pods), dtype=np.int32)
        self._stale = np.zeros(len(pods), dtype=np.bool_)
        step = max(1, (1 << 20) // max(1, len(placement.nodes)))
        for start in range(0, len(pods), step):
            self._ask(np.arange(start, min(start + step, len(pods)), dtype=np.int32))

    def _ask(self, places: IntArray) -> None:
        table = self.placement.arriving(self.pods[places], self.placement.nodes)
        self._to[places] = to = table.argmin(axis=1)
        self._best[places] = table[np.arange(len(places)), to]
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
            if not total[place] < -_NOTHING:
                return None
            pod, to = int(self.pods[place]), int(self._to[place])
            if not self._stale[place] and self.placement.allows(pod, to):
                return pod, to, float(total[place])
            # What is kept is of a state that is past: the node has filled, or a rule holds now.
            self._ask(np.array([place], dtype=np.int32))
            total[place] = self._leaving[place] + self._best[place]

    def move(self, pod: int, destination: int) -> None:
        """Make it, and keep the best moves right."""
        source = int(self.placement.where[pod])
        self.placement.move(pod, destination)
        ends = np.array([source, destination], dtype=np.int32)
        table = self.placement.arriving(self.pods, ends)
        which = table.argmin(axis=1)
        best = table[np.arange(len(which)), which]
        wanted = (self._to == source) | (self._to == destination)
        better = best <= self._best
        self._stale |= wanted & ~better
        self._best = np.where(better, best, self._best)
        self._to = np.where(better, ends[which], self._to)
        self._stale[better] = False
        here = self.placement.where[self.pods]
        (changed,) = np.nonzero((here == source) | (here == destination))
        self._leaving[changed] = self.placement.leaving(self.pods[changed])
        place = self._place[pod]
        if place >= 0:
            self._ask(np.array([place], dtype=np.int32))

    def run(self) -> Iterator[float]:
        """Descend until nothing gains; yields what each move changed."""
        while (found := self.next()) is not None:
            pod, to, change = found
            self.move(pod, to)
            yield change


def candidates(placement: Placement, count: int) -> IntArray:
    """At most so many pods that save most by leaving, ascending."""
    pods = placement.movable
    saved: FloatArray = placement.leaving(pods)
    if len(pods) <= count:
        return pods
    return np.sort(pods[np.argpartition(saved, count)[:count]])
