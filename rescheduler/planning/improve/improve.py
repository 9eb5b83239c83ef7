"""At most so many moves that lower the cost most: descent first, then annealing while it lasts.

What comes out is a proposal: it knows room, costs and the plain rules, and neither budgets nor all
that the scheduler asks. Whoever plans with it evaluates each move before it counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rescheduler.model.move import Shift
from rescheduler.planning.improve.annealing import Annealing
from rescheduler.planning.improve.descent import Descent
from rescheduler.planning.improve.kinds import KindDescent, candidates
from rescheduler.planning.improve.partners import Partners
from rescheduler.planning.improve.placement import Placement

_ALL, _FEW = 20_000, 4_000
"""Up to so many pods a descent by kinds considers all; of more so many, or twice as many as may
move."""

_MOVES, _PARTS = 200, 6
"""Where it does not, it chooses them anew after so many moves, or so many times in all."""


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
) -> Improvement:
    """The best that is found.

    most: how many pods may end elsewhere. progress: what share of the time or of the steps is
    spent, by the number of pods that annealing has asked so far; it ends at 1. With the same seed
    and a progress of steps alone the same moves come out.
    """
    before, bound = placement.cost(), placement.least(most)
    most = min(most, len(placement.movable))
    stopped = "nothing gains"
    gains = _descend(placement, most, progress)
    if gains and progress(0) < 1.0:
        random = np.random.default_rng(seed)
        if most == len(placement.movable) and len(placement.attracted):
            Partners(placement, gains, random, progress).run()
        else:
            Annealing(placement, most, gains, random, progress).run()
        _descend(placement, most, _without_end)
        stopped = "its time is spent"
    shifts = tuple(
        Shift(pod, int(placement.home[pod]), int(placement.where[pod]))
        for pod in sorted(placement.moved)
    )
    return Improvement(shifts, before, placement.cost(), bound, stopped)


def _without_end(_: int) -> float:
    return 0.0


def _descend(placement: Placement, most: int, progress: Callable[[int], float]) -> list[float]:
    """Descend among those that save most, until nothing gains; answers what each move gained."""
    gains: list[float] = []
    kinds = placement.kinds()
    while True:
        count = len(gains)
        every = len(placement.movable)
        few = every if kinds is None or every <= _ALL else max(_FEW, 2 * most)
        pods = candidates(placement, few)
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
        if len(gains) == count or len(pods) == len(placement.movable):
            return gains
