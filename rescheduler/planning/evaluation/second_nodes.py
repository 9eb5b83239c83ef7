"""The second node of a replacement that must not depend on one node alone.

The first may become full or not Ready before the replacement is placed. It is preferred, so that
the scheduler takes it while it can, most surely beside the node that it likes least; so the second
need not gain anything.
"""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.scheduler.plugin import ScoreArray


def pairs_with_second(
    points: ScoreArray, nodes: IntArray, spare: IntArray, *, aims: bool
) -> Iterator[IntArray]:
    """Pairs of a node where it gains and another one, those of the best node first.

    points: (nodes,) what the scheduler scores them. nodes: where it gains, the best first. spare:
    where it might go as well, and gains nothing. aims: whether only the first will do.
    """
    every = np.concatenate([nodes, spare])
    for place in range(min(len(nodes), 1 if aims else 2)):
        others = np.delete(every, place)
        if len(others):
            seconds = [int(others[points[others].argmin()]), *others[:aims].tolist()]
            for second in dict.fromkeys(seconds):
                yield np.array([nodes[place], second], dtype=np.int32)
