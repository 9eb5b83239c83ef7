"""One run of the compiled loop over a placement."""

from typing import ClassVar

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.improve.allotted import Allotted
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.loops import annealing as loop
from rescheduler.planning.improve.loops.tables import Away, Best, Counters, Drawn, State
from rescheduler.planning.improve.placement import Placement
from rescheduler.planning.improve.pool import TIMES, pool_by_savings, weighted_pool

PROPOSALS = 200
"""Proposals that count as one step: about what asking one pod where to go takes by arrays."""
_FIRST, _LEAST, _MOST, _PARTS = 500, 500, 50_000, 500
"""Proposals at once: the first time; then between those, so many times in a run if it can be."""
_WARM, _WARM_UNCAPPED, _ENOUGH = 2.5, 1.5, 12_000
"""The first temperature, in what a move of the descent gained on average, where that many proposals
fall on each pod that may be drawn; it goes with the root of that number."""
_COOLEST, _HOTTEST, _HOTTEST_UNCAPPED = 0.05, 1.0, 10.0
"""Within these. Under a cap no more is gained by more heat: nearly all pods are at home then."""
_COLD, _COLD_UNCAPPED = 0.01, 0.003
"""The last temperature, in the same."""
_TOWARDS_PARTNERS, _APART = 8.0, 0.03
"""The same where pods have traffic: what is near must be apart for a while to come nearer."""
_LEAST_WORTH = 0.25
"""What being away costs under a cap at first, in the same: the least gain, or this."""
_RARER, _MORE_OFTEN = 0.1, 5.0
"""How much rarer or more often pods are drawn: what they save, in what a move is worth."""
_POOL, _POOL_OF_CAP = 2_000, 20
"""Pods that may be drawn: those that save most when they leave, or so many times the cap."""
_PASSES, _PASSES_UNCAPPED = ((1.0, 1.0),), ((0.6, 1.0), (1.0, 0.1))
"""Until which share of the time each pass goes, and how hot it begins, in the first temperature."""
_RENEW = 100
"""After so many times the pods that may be drawn are worked out anew."""


class Loops:
    """As `Annealing`, of a task whose placement has this state."""

    parallel: ClassVar[bool] = True

    def __init__(self, task: Task, state: State) -> None:
        placement = task.placement
        self._placement, self._state = placement, state
        self._chance = task.random.integers(1 << 63, size=1, dtype=np.uint64)
        self._progress = task.progress
        self._most = task.most if task.capped else -1
        self._average, self._heat = task.average, task.heat
        self._worth = max(min(task.gains), _LEAST_WORTH * self._average)
        # Pairs of traffic stand in the order of the input: where that must not matter, chance does
        # not go by them.
        attracted = placement.movable[:0] if placement.ordered else placement.attracted
        self._attracted = pool_by_savings(attracted, placement.savings()[attracted])
        count, cost = len(placement.home), placement.cost()
        self._away = Away(np.zeros(count, np.int32), np.full(count, -1, np.int32))
        price = self._worth if self._most >= 0 else 0.0
        self._counters = Counters(np.array([cost, cost, price, price]), np.zeros(3, dtype=np.int64))
        self._best = Best(
            placement.where.copy(), np.zeros(count, np.int32), np.zeros(count, np.bool_)
        )
        self._asked = 0
        self._begin()

    def _begin(self) -> None:
        """Keep books of the placement as it is."""
        placement = self._placement
        moved = np.fromiter(placement.moved, np.int32, len(placement.moved))
        self._away.place[:] = -1
        self._away.pods[: len(moved)] = moved
        self._away.place[moved] = np.arange(len(moved))
        self._counters.numbers[loop.AWAY] = len(moved)
        self._counters.amounts[loop.COST] = placement.cost()
        most = int(np.bincount(placement.where[placement.movable]).max(initial=0))
        self._slots = _slots(placement, 2 * most + 4)
        self._pool = self._drawable()

    @property
    def best(self) -> float:
        """The cost of the best placement that was seen."""
        return float(self._counters.amounts[loop.BEST])

    def compile(self) -> None:
        """Have the loop compiled, if it is not yet.

        Raises:
            OSError: what is compiled cannot be written where it is to be kept.
        """
        self._anneal(0, 1.0)

    def run(self) -> None:
        """Until the progress is 1; then the placement is the best that was seen.

        Without a cap once hot, then cooler from the best: where little room is left, heat scatters
        what descent has found, and does not find back. With traffic once: descent finds little.
        """
        before = self._placement.where.copy()
        twice = self._most < 0 and not len(self._attracted)
        passes = _PASSES_UNCAPPED if twice else _PASSES
        for until, warmth in passes:
            self._pass(until, warmth)
            loop.settle(self._state, self._best, self._counters)
            self._placement.settle()
            self._begin()
        self._note_allowances(before)

    def _pass(self, until: float, warmth: float) -> None:
        done = begun = self._progress(self._asked // PROPOSALS)
        first, rounds, at_once = self._asked, 0, _FIRST
        hot = cold = self._average * self._heat * _COLD
        while done < until:
            share = (done - begun) / (until - begun)
            self._anneal(at_once, float(hot * (cold / hot) ** share))
            self._asked, rounds = self._asked + at_once, rounds + 1
            done = self._progress(self._asked // PROPOSALS)
            if rounds == 1 or rounds % _RENEW == 0:
                expected = (self._asked - first) / max(done - begun, 1e-9) * (until - begun)
                at_once = int(min(max(expected / _PARTS, _LEAST), _MOST))
                if rounds == 1:
                    hot, cold = self._temperatures(expected)
                    hot = max(warmth * hot, cold)
                self._pool = self._drawable()
                self._placement.settle()  # who is away has a price
                self._counters.amounts[loop.COST] = self._placement.cost()

    def _note_allowances(self, before: IntArray) -> None:
        """Tell rules whose tables are copies who has moved."""
        where = self._placement.where
        pods = np.flatnonzero(where != before).astype(np.int32)
        for rule in self._placement.rules:
            if isinstance(rule, Allotted):
                rule.commit(pods, where[pods])

    def _temperatures(self, proposals: float) -> tuple[float, float]:
        average = self._average * self._heat
        if len(self._attracted):
            return average * _TOWARDS_PARTNERS, average * _APART
        of_pod = proposals * TIMES / len(self._pool)
        hot = _WARM_UNCAPPED if self._most < 0 else _WARM
        hot *= float(np.sqrt(of_pod / _ENOUGH))
        cold = _COLD_UNCAPPED if self._most < 0 else _COLD
        hottest = _HOTTEST_UNCAPPED if self._most < 0 else _HOTTEST
        return average * min(max(hot, _COOLEST), hottest), average * cold

    def _anneal(self, proposals: int, temperature: float) -> None:
        slots, held, place = self._slots
        placement = self._placement
        drawn = Drawn(
            self._pool,
            self._attracted,
            placement.movable,
            placement.nodes,
            slots,
            held,
            place,
        )
        enough = loop.anneal(
            self._chance,
            proposals,
            temperature,
            self._most,
            self._state,
            self._away,
            self._best,
            drawn,
            self._counters,
        )
        if not enough:
            self._slots = _slots(self._placement, 2 * slots.shape[1])

    def _drawable(self) -> IntArray:
        """The pods that may be drawn, each as often as it is to be: more often if it saves more."""
        pods = self._placement.movable
        if len(self._attracted):
            return pods
        saved = -self._placement.leaving(pods)
        most = len(pods) if self._most < 0 else max(_POOL, _POOL_OF_CAP * self._most)
        if len(pods) > most:
            chosen = np.argpartition(-saved, most)[:most]
            pods, saved = pods[chosen], saved[chosen]
        weights = np.clip(saved, _RARER * self._worth, _MORE_OFTEN * self._worth)
        return weighted_pool(pods, weights)


def _slots(placement: Placement, width: int) -> tuple[IntArray, IntArray, IntArray]:
    """The pods of each node that may move: see `Drawn`."""
    nodes, pods = len(placement.nodes), placement.movable
    slots = np.full((nodes, width), -1, dtype=np.int32)
    place = np.zeros(len(placement.where), dtype=np.int32)
    order = pods[np.argsort(placement.where[pods], kind="stable")]
    where = placement.where[order]
    held = np.bincount(where, minlength=nodes).astype(np.int32)
    place[order] = np.arange(len(order)) - (np.cumsum(held) - held)[where]
    slots[where, place[order]] = order
    return slots, held, place
