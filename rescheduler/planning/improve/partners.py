"""Annealing where terms tell which nodes attract a pod: to whom it exchanges traffic with.

Each round draws many proposals and works out at once what each would change: a pod goes to a node
that attracts it, in the place of one of the pods there if it has no room; a few go anywhere. Those
that chance and gain accept (Metropolis) are made, but for those that touch a node of one before.
What is best is kept. The number of pods that move is not held down.
"""

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.pool import pool_by_savings

_LEAST_BATCH, _MOST_BATCH = 64, 4_096
_TOUCHED = 0.15
"""So many moves, as a share of the nodes, a batch is to make: it grows while it makes fewer."""
_ANYWHERE = 0.2
"""The share of proposals that any pod goes to any node: that makes room elsewhere."""
_HOT, _COLD = 15.0, 0.007
"""The first temperature, in what a move of the descent gained on average; the last, in the first:
far above, since what is near must be apart for a while to come nearer."""
_RENEW = 1_000
"""After so many rounds the cost is worked out again, without the errors of many sums."""


class Partners:
    """One run, of a task without a cap."""

    def __init__(self, task: Task) -> None:
        placement = task.placement
        self._placement = placement
        self._random = task.random
        self._progress = task.progress
        self._hot = _HOT * task.average
        attracted = placement.attracted
        self._pods = pool_by_savings(attracted, placement.savings()[attracted])
        self._movable = np.zeros(len(placement.home), dtype=np.bool_)
        self._movable[placement.movable] = True
        self._residents = Residents(placement.where, len(placement.nodes))
        self._cost = placement.cost()
        self.best = self._cost
        self.best_where = placement.where.copy()

    def run(self) -> None:
        """Until the progress is 1; then the placement is the best that was seen."""
        placement = self._placement
        batch, tried, rounds = float(_LEAST_BATCH), 0, 0
        while (done := self._progress(tried // len(placement.nodes))) < 1.0:
            made = self._round(int(batch), self._hot * _COLD**done)
            tried += int(batch)
            rounds += 1
            factor = 1.1 if made < _TOUCHED * len(placement.nodes) else 0.9
            batch = min(max(batch * factor, _LEAST_BATCH), _MOST_BATCH)
            if rounds % _RENEW == 0:
                self._cost = placement.cost()
        (differ,) = np.nonzero(placement.where != self.best_where)
        for pod in differ.tolist():
            placement.move(pod, int(self.best_where[pod]))

    def _proposals(self, batch: int) -> tuple[IntArray, IntArray, IntArray]:
        """Pods, the nodes where they might go, and who would come instead, -1 for nobody."""
        placement, random = self._placement, self._random
        anywhere = int(batch * _ANYWHERE)
        pods = self._pods[random.integers(len(self._pods), size=batch)]
        some = random.integers(len(placement.movable), size=anywhere)
        pods[:anywhere] = placement.movable[some]
        nodes = placement.attracting_nodes(pods, random)
        nodes[:anywhere] = random.integers(len(placement.nodes), size=anywhere)
        (going,) = np.nonzero(placement.where[pods] != nodes)
        going = random.permutation(going)
        pods, nodes = pods[going], nodes[going]
        others = np.full(len(pods), -1, dtype=np.int32)
        (full,) = np.nonzero(~placement.admits(pods, nodes, others))
        drawn = self._residents.draw_pods(nodes[full], random)
        others[full] = np.where((drawn >= 0) & self._movable[drawn], drawn, -1)
        return pods, nodes, others

    def _round(self, batch: int, temperature: float) -> int:
        placement = self._placement
        pods, nodes, others = self._proposals(batch)
        change = placement.exchange_deltas(pods, nodes, others)
        (made,) = np.nonzero(change < temperature * self._random.standard_exponential(len(pods)))
        made = made[placement.admits(pods[made], nodes[made], others[made])]
        made = made[placement.compatible_moves(pods[made], nodes[made], others[made])]
        pods, nodes, others = pods[made], nodes[made], others[made]
        self._residents.move(pods, placement.where[pods], nodes, others)
        placement.move_all(pods, nodes, others)
        self._cost += float(change[made].sum())
        if self._cost < self.best:
            self.best = self._cost
            self.best_where[:] = placement.where
        return len(made)


class Residents:
    """The pods of each node, to draw from."""

    def __init__(self, where: IntArray, nodes: int) -> None:
        (placed,) = np.nonzero(where >= 0)
        self._count = np.bincount(where[placed], minlength=nodes)
        most = int(self._count.max(initial=0))
        self._slots = np.full((nodes, 2 * most + 1), -1, dtype=np.int32)
        self._place = np.zeros(len(where), dtype=np.int64)
        order = placed[np.argsort(where[placed], kind="stable")]
        first = np.cumsum(self._count) - self._count
        self._place[order] = np.arange(len(order)) - first[where[order]]
        self._slots[where[order], self._place[order]] = order

    def draw_pods(self, nodes: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) one of the pods of each node, -1 where there is none."""
        place = (random.random(len(nodes)) * self._count[nodes]).astype(np.int64)
        residents: IntArray = self._slots[nodes, place]
        return np.where(self._count[nodes] > 0, residents, -1)

    def move(self, pods: IntArray, sources: IntArray, nodes: IntArray, others: IntArray) -> None:
        """Each pod goes from its source to its node, and the other, if any, comes instead.

        No two of the moves share a node.
        """
        (coming,) = np.nonzero(others >= 0)
        self._drop(pods, sources)
        self._drop(others[coming], nodes[coming])
        self._add(others[coming], sources[coming])
        self._add(pods, nodes)

    def _add(self, pods: IntArray, nodes: IntArray) -> None:
        places = self._count[nodes]
        if places.max(initial=0) >= self._slots.shape[1]:
            self._slots = np.concatenate([self._slots, np.full_like(self._slots, -1)], axis=1)
        self._slots[nodes, places] = pods
        self._place[pods] = places
        self._count[nodes] += 1

    def _drop(self, pods: IntArray, nodes: IntArray) -> None:
        self._count[nodes] -= 1
        places, last = self._place[pods], self._slots[nodes, self._count[nodes]]
        self._slots[nodes, places] = last
        self._place[last] = places
