"""Annealing by heat bath: pods are drawn, and each goes where chance and gain send it.

For a drawn pod the changes of the cost at all nodes are worked out at once, and the node is drawn
by the Gibbs distribution of temperature T over them. The cap on moves is kept by a price on being
away from home, which rises while too many are and falls while fewer are (Lagrange). What is best
within the cap is kept. Several pods are asked at once; of those that want the same nodes only the
first goes, as the others were asked in a state that is past.
"""

from collections.abc import Callable, Sequence

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.planning.improve.placement import Placement

_BATCH = 16
_MOST_NODES = 160
"""Nodes that are asked at once; of more so many are drawn."""
_POOL = 2_000
_POOL_OF_CAP = 20
"""Pods that may be drawn: those that save most when they leave, or so many times the cap."""
_HOT, _HOT_UNCAPPED, _COLD = 0.3, 3.0, 0.001
"""The first temperature, in what a move of the descent gained on average; the last, in that."""
_LEAST_WORTH = 0.25
"""What a move must be worth under a cap at first, in the same: the least gain, or this."""
_LEAST, _MOST = 0.1, 5.0
"""How much rarer or more frequent pods are drawn: what they save, in what a move is worth."""
_PACE = 0.002
"""How much the price changes with each move for each that is too many, up to five."""


class Annealing:
    """One run from a placement that is within the cap.

    most: how many pods may be away from home. gains: what each move of the descent gained.
    progress: 0 to 1, where it ends; of time or of steps.
    """

    def __init__(
        self,
        placement: Placement,
        most: int,
        gains: Sequence[float],
        random: np.random.Generator,
        progress: Callable[[int], float],
    ) -> None:
        self._placement = placement
        self._most = most
        self._random = random
        self._progress = progress
        capped = most < len(placement.movable)
        average = float(np.mean(gains))
        self._worth = max(min(gains), _LEAST_WORTH * average) if capped else float(np.median(gains))
        self._price = self._worth if capped else 0.0
        self._capped = capped
        self._hot = average * (_HOT if capped else _HOT_UNCAPPED)
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
            self._round(self._hot * max((1 - done) ** 2, _COLD))
        self._restore()

    def _draw_pool(self) -> None:
        placement = self._placement
        pods = placement.movable
        saved = -placement.leaving(pods)
        most = max(_POOL, _POOL_OF_CAP * self._most)
        if len(pods) > most:
            chosen = np.argpartition(-saved, most)[:most]
            pods, saved = pods[chosen], saved[chosen]
        weights = np.clip(saved, _LEAST * self._worth, _MOST * self._worth)
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
            self._price *= float(np.exp(_PACE * len(touched) / 2 * max(-5, min(5, over))))
        if over <= 0 and self._cost < self.best:
            self.best = self._cost
            self.best_where[:] = placement.where

    def _restore(self) -> None:
        placement = self._placement
        (differ,) = np.nonzero(placement.where != self.best_where)
        for pod in differ.tolist():
            placement.move(pod, int(self.best_where[pod]))
