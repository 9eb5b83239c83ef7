"""What of a proposal pays only together: pairs of its moves of which the first prepares the second.

It makes room where the other goes, or comes there before it, to be near it. By itself it may gain
nothing, and even lose. Policies are asked for what both change together, whichever these are; no
kernel and no landing is needed for that.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from rescheduler.model.moves.move import Shift
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.search.strategy import Candidate

_MOST_PAIRS = 16
"""With how many others each move is tried."""


def together(evaluator: Evaluator, nodes: Mapping[int, int]) -> Iterator[Candidate]:
    """The pairs that gain, with what they gain if both land where they are proposed.

    nodes: pod to the node that is proposed for it; those that have moved are left out.
    """
    return _Pairs(evaluator, nodes).candidates()


class _Pairs:
    """left: what of the proposal could be made yet. coming: node to pods of it."""

    def __init__(self, evaluator: Evaluator, nodes: Mapping[int, int]) -> None:
        self._evaluator, self._copy = evaluator, evaluator.copy
        self._where = evaluator.copy.scheduler.occupancy.where
        self._left = {
            pod: node
            for pod, node in nodes.items()
            if pod not in self._copy.moved and evaluator.refuse_always(pod) is None
        }
        self._coming = defaultdict[int, list[int]](list)
        for pod, node in self._left.items():
            self._coming[node].append(pod)

    def candidates(self) -> Iterator[Candidate]:
        """Each pair once, the one that prepares first."""
        best = self._evaluator.bounds().best
        alone = {pod: self._change(pod) for pod in self._left}
        for first, node in self._left.items():
            if self._evaluator.ended():
                return
            source = int(self._where[first])
            others = [*self._coming[node], *self._coming[source]][:_MOST_PAIRS]
            with self._copy.trying(Shift(first, source, node)):
                both = {
                    second: alone[first] + self._change(second)
                    for second in others
                    if second != first and second in best
                }
            for second, change in both.items():
                if change < min(-NOTHING, alone[second] - NOTHING, alone[first] - NOTHING):
                    yield Candidate((first, second), -change)

    def _change(self, pod: int) -> float:
        """The change of the cost if it went where it is proposed."""
        node = np.array([self._left[pod]], dtype=np.int32)
        return sum(float(each[0]) for each in self._copy.changes(pod, node).values())
