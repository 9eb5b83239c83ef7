"""At most so many moves that lower the cost most: descent first, then annealing while it lasts.

What comes out is a proposal: it knows room, costs and the plain rules, and neither budgets nor all
that the scheduler asks. Whoever plans with it evaluates each move before it counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.at_once import annealed_at_once
from rescheduler.planning.improve.descent import Descent
from rescheduler.planning.improve.kinds import KindDescent, candidates
from rescheduler.planning.improve.placement import Placement

_ALL, _FEW = 20_000, 4_000
"""Up to so many pods a descent by kinds considers all; of more so many, or twice as many as may
move."""

_TELLING = 400
"""So many, drawn, tell what a move gains where annealing towards partners undoes what was made."""

_MOVES, _PARTS = 200, 6
"""Where it does not, it chooses them anew after so many moves, or so many times in all."""

_ENDING = 0.02
"""The share of its time that the last descent may take in addition."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """shifts: from home to where the pods end. before, after: the cost. bound: no plan is below it.

    stopped: why it ended.
    """

    shifts: tuple[Shift, ...]
    before: float
    after: float
    bound: float
    stopped: str


def improve(
    placement: Placement,
    most: int,
    progress: Callable[[int], float],
    seed: int = 0,
    runs: int = 1,
) -> Improvement:
    """The best that is found.

    most: how many pods may end elsewhere. progress: what share of the time or of the steps is
    spent, by the number of pods that annealing has asked so far; it ends at 1. runs: how many runs
    of annealing there are at once. With the same seed and runs, and a progress of steps alone, the
    same moves come out.
    """
    before, bound = placement.cost(), placement.least(most)
    most = min(most, len(placement.movable))
    stopped = "nothing gains"
    random = np.random.default_rng(seed)
    by_partners = most == len(placement.movable) and len(placement.attracted) > 0
    some = placement.movable
    if by_partners and len(some) > _TELLING:
        some = placement.attracted
        some = np.sort(random.choice(some, min(_TELLING, len(some)), replace=False))
    gains = _descend(placement, some, most, progress)
    reached = placement.cost()
    if gains and progress(0) < 1.0:
        annealed_at_once(Task(placement, most, gains, random, progress), runs)
        if len(some) == len(placement.movable) and placement.cost() < reached:
            _descend(placement, some, most, lambda _: progress(0) - _ENDING)
        stopped = "its time is spent"
    shifts = tuple(
        Shift(pod, int(placement.home[pod]), int(placement.where[pod]))
        for pod in sorted(placement.moved)
    )
    return Improvement(shifts, before, placement.cost(), bound, stopped)


def _descend(
    placement: Placement, among: IntArray, most: int, progress: Callable[[int], float]
) -> list[float]:
    """Descend among those that save most, until nothing gains; answers what each move gained."""
    gains: list[float] = []
    kinds = placement.kinds()
    while True:
        count = len(gains)
        every = len(among)
        few = every if kinds is None or every <= _ALL else max(_FEW, 2 * most)
        pods = candidates(placement, among, few)
        if not len(pods) or not most:
            return gains
        descent = (
            Descent(placement, pods, most)
            if kinds is None
            else KindDescent(placement, pods, most, kinds)
        )
        for changes in descent.run():
            gains += (-changes).tolist()
            if progress(0) >= 1.0:
                return gains
            if len(pods) < every and len(gains) - count >= max(_MOVES, most // _PARTS):
                break  # by now others save more
        if len(gains) == count or len(pods) == every:
            return gains
