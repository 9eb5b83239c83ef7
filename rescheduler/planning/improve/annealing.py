"""Annealing by heat bath: pods are drawn, and each goes where chance and gain send it.

For a drawn pod the changes of the cost at all nodes are worked out at once, and the node is drawn
by the Gibbs distribution of temperature T over them. The cap on moves is kept by a price on being
away from home, which rises while too many are and falls while fewer are (Lagrange). What is best
within the cap is kept. Several pods are asked at once; of those that want the same nodes only the
first goes, as the others were asked in a state that is past.
"""

from collections.abc import Callable

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.planning.improve.placement import Placement

_BATCH = 16
_MOST_NODES = 160
"""Nodes that are asked at once; of more so many are drawn."""
_POOL = 2_000
_LEAST = 0.1
_GAIN = 0.002
_POWER = 2.0
"""Pods that may be drawn, by what they save when they leave."""
_HOT, _COLD = 1.0, 0.02
"""The temperature, in what the last move of the descent gained."""


class Annealing:
    """One run from a placement that is within the cap.

    most: how many pods may be away from home. worth: what the least of the moves made gained.
    progress: 0 to 1, where it ends; of time or of steps.
    """

    def __init__(
        self,
        placement: Placement,
        most: int,
        worth: float,
        random: np.random.Generator,
        progress: Callable[[int], float],
    ) -> None:
        self._placement = placement
        self._most = most
        self._random = random
        self._progress = progress
        self._worth = worth
        capped = most < len(placement.movable)
        self._price = worth if capped else 0.0
        self._capped = capped
        self._cost = placement.cost()
        self._moved = list(placement.moved)
        self.best = self._cost
        self.best_where = placement.where.copy()
        self.steps = 0

    def run(self) -> None:
        """Until the progress is 1; then the placement is the best that was seen."""
        rounds = 0
        while (done := self._progress(self.steps)) < 1.0:
            if rounds % 200 == 0:
                self._draw_pool()
            rounds += 1
            self._round(self._worth * max(_HOT * (1 - done) ** _POWER, 1e-3))
        self._restore()

    def _draw_pool(self) -> None:
        placement = self._placement
        pods = placement.movable
        saved = -placement.leaving(pods)
        if len(pods) > _POOL:
            chosen = np.argpartition(-saved, _POOL)[:_POOL]
            pods, saved = pods[chosen], saved[chosen]
        weights = np.clip(saved, _LEAST * self._worth, 5 * self._worth)
        self._pool = pods
        self._weights = np.cumsum(weights)
        self._moved = list(placement.moved)

    def _drawn(self) -> IntArray:
        """Pods of the pool, and of those that are away from home."""
        half = self._random.random(_BATCH // 2) * self._weights[-1]
        pods = self._pool[np.searchsorted(self._weights, half).clip(max=len(self._pool) - 1)]
        if self._moved:
            away = self._random.integers(len(self._moved), size=_BATCH - len(pods))
            more = np.array([self._moved[each] for each in away], dtype=np.int32)
            pods = np.concatenate([pods, more])
        return np.unique(pods)

    def _round(self, temperature: float) -> None:
        placement = self._placement
        pods = self._drawn()
        self.steps += len(pods)
        home, where = placement.home[pods], placement.where[pods]
        nodes = placement.nodes
        if len(nodes) > _MOST_NODES:
            some = self._random.integers(len(nodes), size=_MOST_NODES).astype(np.int32)
            nodes = np.unique(np.concatenate([some, home[home != where]]))
        change = placement.arriving(pods, nodes)
        change += placement.leaving(pods)[:, None]
        priced = change
        if self._price:
            away = home != where
            priced = change + np.where(away, 0.0, self._price)[:, None]
            priced[away[:, None] & (nodes == home[:, None])] -= self._price
        noisy = priced + temperature * np.log(self._random.standard_exponential(priced.shape))
        stay = temperature * np.log(self._random.standard_exponential(len(pods)))
        to = noisy.argmin(axis=1)
        (going,) = np.nonzero(noisy[np.arange(len(pods)), to] < stay)
        if len(going):
            self._go(pods[going], nodes[to[going]], change[going, to[going]])

    def _go(self, pods: IntArray, nodes: IntArray, changes: FloatArray) -> None:
        placement = self._placement
        touched: set[int] = set()
        for pod, node, change in zip(pods.tolist(), nodes.tolist(), changes.tolist(), strict=True):
            source = int(placement.where[pod])
            if source in touched or node in touched:
                continue
            if touched and not placement.allows(pod, node):
                continue
            touched |= {source, node}
            before = len(placement.moved)
            placement.move(pod, node)
            if len(placement.moved) != before:
                self._moved = list(placement.moved)
            self._cost += change
        over = len(placement.moved) - self._most
        if self._capped:
            self._price *= float(np.exp(_GAIN * len(touched) / 2 * max(-5, min(5, over))))
        if over <= 0 and self._cost < self.best:
            self.best = self._cost
            self.best_where[:] = placement.where

    def _restore(self) -> None:
        placement = self._placement
        (differ,) = np.nonzero(placement.where != self.best_where)
        for pod in differ.tolist():
            placement.move(pod, int(self.best_where[pod]))
