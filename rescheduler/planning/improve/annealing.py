"""Annealing by heat bath: pods are drawn, and each goes where chance and gain send it.

For a drawn pod the changes of the cost at all nodes are worked out at once, and the node is drawn
by the Gibbs distribution of temperature T over them; so is, in turn, one of many pods to change
places with. The cap on moves is kept by a price on being away from home, which rises while too many
are and falls while fewer are (Lagrange). What is best within the cap is kept. Several pods choose
at once; of those that choose the same nodes only the first goes, as the others chose in a state
that is past.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.planning.improve.placement import NOTHING, Placement

_BATCH = 32
"""Pods that choose a node at the same time."""
_SWAPPING, _OTHERS = 8, 128
"""Pods that try to swap at the same time, and with how many others each."""
_SWAPS = 2
"""How often that is, for each time that pods choose a node."""
_MOST_NODES = 160
"""Nodes that are compared at once; of more nodes so many are drawn."""
_POOL = 2_000
_POOL_OF_CAP = 20
"""Pods that may be drawn: those that save most when they leave, or so many times the cap."""
_HOT, _HOT_UNCAPPED, _COLD = 0.3, 1.0, 0.001
"""The first temperature, in what a move of the descent gained on average; the last, in that. More
pods than the least pool are drawn more seldom each, and begin cooler, by the root of their number.
"""
_LEAST_WORTH = 0.25
"""What a move must be worth under a cap at first, in the same: the least gain, or this."""
_LEAST, _MOST = 0.1, 5.0
"""How much rarer or more frequent pods are drawn: what they save, in what a move is worth."""
_AWAY, _OTHER_AWAY = 0.5, 0.3
"""How many of the pods, and of those they may change places with, are drawn from those away."""
_FEW_AWAY = 20
"""Up to this part of the pods those that are away are counted one by one."""
_PACE = 0.002
"""How much the price changes with each move for each that is too many, up to five."""
_RENEW = 200
"""After so many rounds the pods that may be drawn are worked out again."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be annealed: a placement that is within the cap.

    most: how many pods may be away from home. gains: what each move of the descent gained.
    progress: 0 to 1, where it ends, by the number of pods that chose; of time or of steps. heat:
    how hot it begins, as a share of what is right where everything may yet change.
    """

    placement: Placement
    most: int
    gains: Sequence[float]
    random: np.random.Generator
    progress: Callable[[int], float]
    heat: float = 1.0

    @property
    def capped(self) -> bool:
        """Whether not all that can move may end elsewhere."""
        return self.most < len(self.placement.movable)

    @property
    def average(self) -> float:
        """What a move of the descent gained."""
        return float(np.mean(self.gains))


class Annealing:
    """One run."""

    def __init__(self, task: Task) -> None:
        placement, gains, average = task.placement, task.gains, task.average
        self._placement = placement
        self._most = task.most
        self._random = task.random
        self._progress = task.progress
        capped = task.capped
        self._worth = max(min(gains), _LEAST_WORTH * average) if capped else float(np.median(gains))
        self._price = self._worth if capped else 0.0
        self._capped = capped
        self._hot = task.heat * average * (_HOT if capped else _HOT_UNCAPPED)
        self._hot *= float(np.sqrt(_POOL / max(_POOL, self._drawable())))
        self._cost = placement.cost()
        self.best = self._cost
        self.best_where = placement.where.copy()
        self.steps = 0
        self._rounds = 0

    def run(self) -> None:
        """Until the progress is 1; then the placement is the best that was seen."""
        placement = self._placement
        renew = max(_RENEW, len(placement.movable) // 100)
        while (done := self._progress(self.steps)) < 1.0:
            if self._rounds % renew == 0:
                self._draw_pool()
            self._rounds += 1
            temperature = self._hot * max((1 - done) ** 2, _COLD)
            self._shift(temperature)
            if self._capped and placement.exchanges:
                self._relay(temperature)
            if placement.exchanges:
                for _ in range(_SWAPS):
                    self._exchange(temperature)
        (differ,) = np.nonzero(placement.where != self.best_where)
        for pod in differ.tolist():
            placement.move(pod, int(self.best_where[pod]))

    def _draw_pool(self) -> None:
        placement = self._placement
        pods = placement.movable
        saved = -placement.departure_deltas(pods)
        most = self._drawable()
        if len(pods) > most:
            chosen = np.argpartition(-saved, most)[:most]
            pods, saved = pods[chosen], saved[chosen]
        self._pool = pods
        self._weights = np.cumsum(np.clip(saved, _LEAST * self._worth, _MOST * self._worth))
        self._cost = placement.cost()  # without the errors of many sums

    def _drawable(self) -> int:
        return min(len(self._placement.movable), max(_POOL, _POOL_OF_CAP * self._most))

    def _draw_pods(self, count: int) -> IntArray:
        """Different pods: of the pool, the more they save, and of those that are away from home."""
        away = self._displaced_pods()
        many = int(count * _AWAY) if len(away) else 0
        chance = self._random.random(count - many) * self._weights[-1]
        pods = self._pool[np.searchsorted(self._weights, chance).clip(max=len(self._pool) - 1)]
        if many:
            pods = np.concatenate([pods, away[self._draw_below(len(away), many)]])
        pods = self._placement.rank_pods(pods)
        first = np.ones(len(pods), dtype=np.bool_)
        np.not_equal(pods[1:], pods[:-1], out=first[1:])
        return self._random.permutation(pods[first])

    def _displaced_pods(self) -> IntArray:
        moved, movable = self._placement.moved, self._placement.movable
        if len(moved) < len(movable) // _FEW_AWAY:
            return np.fromiter(moved, np.int32, len(moved))
        displaced: IntArray = movable[
            self._placement.where[movable] != self._placement.home[movable]
        ]
        return displaced

    def _draw_below(self, number: int, count: int) -> IntArray:
        return self._random.integers(number, size=count, dtype=np.int32)

    def _shift(self, temperature: float) -> None:
        """Ask some pods where to go."""
        placement = self._placement
        pods = self._draw_pods(_BATCH)
        self.steps += len(pods)
        home, where = placement.home[pods], placement.where[pods]
        nodes = placement.nodes
        if len(nodes) > _MOST_NODES:
            some = nodes[self._draw_below(len(nodes), _MOST_NODES)]
            nodes = placement.nodes_ranked(np.unique(np.concatenate([some, home[home != where]])))
        change = placement.arrival_deltas(pods, nodes)
        change += placement.departure_deltas(pods)[:, None]
        priced = change
        if self._price:
            away = home != where
            priced = change + np.where(away, 0.0, self._price)[:, None]
            priced[away[:, None] & (nodes == home[:, None])] -= self._price
        noisy = priced + temperature * np.log(self._random.standard_exponential(priced.shape))
        to = noisy.argmin(axis=1)
        rows = np.arange(len(pods))
        (going,) = np.nonzero(noisy[rows, to] < self._draw_thresholds(len(pods), temperature))
        if len(going):
            to = to[going]
            nobody = np.full(len(going), -1, dtype=np.int32)
            self._go(pods[going], nodes[to], nobody, change[going, to])

    def _relay(self, temperature: float) -> None:
        """Send some pods away, each for one that comes home: so many are away as before.

        Where few may be away, a price on each finds the best few only slowly.
        """
        placement = self._placement
        away = self._displaced_pods()
        if not len(away):
            return
        pods = self._draw_pods(_BATCH)
        pods = pods[placement.where[pods] == placement.home[pods]]
        self.steps += len(pods) + 1
        if not len(pods):
            return
        change, to = self._best_of(pods, temperature)
        home, nobody = placement.home[away], np.full(len(away), -1, dtype=np.int32)
        back = placement.departure_deltas(away) + placement.adding_at(away, home)
        back[~placement.admits(away, home, nobody)] = np.inf
        sums = change[:, None] + back
        apart = (placement.where[away] != to[:, None]) & (home != to[:, None])
        here = placement.where[pods][:, None]
        apart &= (placement.where[away] != here) & (home != here)
        sums[~apart] = np.inf
        noisy = sums + temperature * np.log(self._random.standard_exponential(sums.shape))
        chosen = noisy.argmin(axis=1)
        rows = np.arange(len(pods))
        staying = self._draw_thresholds(len(pods), temperature)
        for row in np.flatnonzero(noisy[rows, chosen] < staying).tolist()[:1]:
            both = np.array([away[chosen[row]], pods[row]], dtype=np.int32)
            ends = np.array([home[chosen[row]], to[row]], dtype=np.int32)
            self._go(
                both,
                ends,
                np.full(2, -1, dtype=np.int32),
                np.array([back[chosen[row]], change[row]]),
            )

    def _best_of(self, pods: IntArray, temperature: float) -> tuple[FloatArray, IntArray]:
        """(k,) twice: what going changes, and where each would go, drawn."""
        placement = self._placement
        nodes = placement.nodes
        if len(nodes) > _MOST_NODES:
            nodes = placement.nodes_ranked(
                np.unique(nodes[self._draw_below(len(nodes), _MOST_NODES)])
            )
        change = placement.arrival_deltas(pods, nodes)
        change += placement.departure_deltas(pods)[:, None]
        noisy = change + temperature * np.log(self._random.standard_exponential(change.shape))
        to = noisy.argmin(axis=1)
        return change[np.arange(len(pods)), to], nodes[to]

    def _exchange(self, temperature: float) -> None:
        """Ask some pods with whom to change places."""
        placement, every = self._placement, self._placement.movable
        pods = self._draw_pods(_SWAPPING)
        many = min(_OTHERS, len(every))
        size = (len(pods), many)
        mates: IntArray = every[self._draw_below(len(every), len(pods) * many)].reshape(size)
        away = self._displaced_pods()
        if len(away):
            some = int(many * _OTHER_AWAY)
            mates[:, :some] = away[self._draw_below(len(away), len(pods) * some)].reshape(
                len(pods), some
            )
        self.steps += 1 + mates.size // len(placement.nodes)
        movers, others = np.repeat(pods, many), mates.ravel()
        nodes = placement.where[others]
        change = placement.exchange_deltas(movers, nodes, others)
        priced = change
        if self._price:
            priced = change + self._price * placement.displacement(movers, nodes, others)
        noisy = priced + temperature * np.log(self._random.standard_exponential(len(priced)))
        staying = np.repeat(self._draw_thresholds(len(pods), temperature), many)
        (willing,) = np.nonzero((noisy < staying) & (nodes != placement.where[movers]))
        if not len(willing):
            return
        allowed = placement.admits(movers[willing], nodes[willing], others[willing])
        willing = willing[allowed]
        table = np.full(size, np.inf)
        table.ravel()[willing] = noisy[willing]
        best = table.argmin(axis=1)
        (rows,) = np.nonzero(np.isfinite(table[np.arange(len(pods)), best]))
        chosen = rows * many + best[rows]
        if len(chosen):
            self._go(movers[chosen], nodes[chosen], others[chosen], change[chosen])

    def _draw_thresholds(self, count: int, temperature: float) -> FloatArray:
        thresholds: FloatArray = temperature * np.log(self._random.standard_exponential(count))
        return thresholds

    def _go(self, pods: IntArray, nodes: IntArray, others: IntArray, changes: FloatArray) -> None:
        """Make what can be made together, bring the price in line, and keep the best."""
        placement = self._placement
        made = placement.compatible_moves(pods, nodes, others)
        placement.move_all(pods[made], nodes[made], others[made])
        self._cost += float(changes[made].sum())
        over = len(placement.moved) - self._most
        if self._capped:
            self._price *= float(np.exp(_PACE * len(made) * max(-5, min(5, over))))
        if over <= 0 and self._cost < self.best - NOTHING:
            self.best = self._cost
            self.best_where[:] = placement.where
