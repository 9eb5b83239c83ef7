"""Several runs of annealing at once, of which the best is kept.

How good a run gets is a matter of chance. Compiled loops run beside each other on as many cores.
"""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace

import numpy as np

from rescheduler.planning.improve.annealed import annealed
from rescheduler.planning.improve.annealing import Task


def annealed_at_once(task: Task, runs: int) -> None:
    """Leave the placement as the best of so many runs left it.

    Each has a placement and a sequence of random numbers of its own, so that the same comes out
    whichever is done first. Where there are no loops it is one run: by arrays they would wait for
    each other.
    """
    placement = task.placement
    first = annealed(task)
    if runs == 1 or not first.parallel:
        first.run()
        return
    others = [
        replace(task, placement=deepcopy(placement), random=random)
        for random in task.random.spawn(runs - 1)
    ]
    every = [first, *(annealed(each) for each in others)]
    with ThreadPoolExecutor(runs) as threads:
        for done in [threads.submit(each.run) for each in every]:
            done.result()
    best = min(range(runs), key=lambda number: every[number].best)
    if best > 0:
        where = others[best - 1].placement.where
        for pod in np.flatnonzero(placement.where != where).tolist():
            placement.move(pod, int(where[pod]))
        placement.settle()
