"""The second node of a replacement that must not depend on one node alone.

The first may become full or not Ready before the replacement is placed. Where the scheduler likes
the second one less, it takes the first while it can; so the second need not gain anything.
"""

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.scheduler.plugin import ScoreArray

FIRSTS = 4
"""For one of so many of the best nodes a second one is sought."""


def certain_pairs(
    points: ScoreArray, firsts: IntArray, nodes: IntArray, spare: IntArray
) -> list[IntArray]:
    """The first of `firsts` for which there is a second one, with the best and the least liked.

    points: (nodes,) what the scheduler scores them. firsts: the first of `nodes`. nodes: where it
    gains, the best first. spare: where it might go as well, and gains nothing.
    """
    for place, first in enumerate(firsts.tolist()):
        after = np.concatenate([nodes[place + 1 :], spare])
        less = after[points[after] < points[first]]
        if len(less):
            least = int(less[points[less].argmin()])
            seconds = dict.fromkeys((int(less[0]), least))
            return [np.array([first, second], dtype=np.int32) for second in seconds]
    return []
