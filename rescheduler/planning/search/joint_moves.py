"""Groups of proposed moves that gain only together, as some prepare others.

They make room where another goes, or come there before it, to be near it. By themselves they may
gain nothing, and even lose. Policies compute what all change together, whichever these are; no
kernel and no landing is needed for that.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import numpy as np

from rescheduler.model.moves.move import Shift
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.search.strategy import Candidate

_MOST_PAIRS = 16
"""With how many others each move is tried."""
_MOST_LEAVING, _MOST_DEPTH = 4, 2
"""How many pods make room on one node for another, and how often they have others do so first."""


def joint_candidates(evaluator: Evaluator, nodes: Mapping[int, int]) -> Iterator[Candidate]:
    """The groups that gain, with what they gain if all land where they are proposed.

    nodes: pod to the node that is proposed for it; those that have moved are left out.
    """
    return _Groups(evaluator, nodes).candidates()


class _Groups:
    """The moves of a proposal that could be made yet, by the nodes that pods leave or reach."""

    def __init__(self, evaluator: Evaluator, nodes: Mapping[int, int]) -> None:
        self._evaluator, self._copy = evaluator, evaluator.copy
        self._where = evaluator.copy.scheduler.occupancy.where
        self._left = {
            pod: node
            for pod, node in nodes.items()
            if pod not in self._copy.moved and evaluator.refuse_always(pod) is None
        }
        self._coming, self._leaving = (
            defaultdict[int, list[int]](list),
            defaultdict[int, list[int]](list),
        )
        for pod, node in self._left.items():
            self._coming[node].append(pod)
            self._leaving[int(self._where[pod])].append(pod)

    def candidates(self) -> Iterator[Candidate]:
        """Each group once, those first that prepare."""
        best = self._evaluator.bounds().best
        alone = {pod: self._change(pod) for pod in self._left}
        for first, node in self._left.items():
            if self._evaluator.ended():
                return
            if first in best and (group := self._with_room(first)) is not None:
                yield group
            source = int(self._where[first])
            others = [*self._coming[node], *self._coming[source]][:_MOST_PAIRS]
            with self._copy.try_shift(Shift(first, source, node)):
                both = {
                    second: alone[first] + self._change(second)
                    for second in others
                    if second != first and second in best
                }
            for second, change in both.items():
                if change < min(-NOTHING, alone[second] - NOTHING, alone[first] - NOTHING):
                    yield Candidate((first, second), -change)

    def _with_room(self, pod: int) -> Candidate | None:
        """The pod behind others of the proposal that make room for it; None where they need not."""
        if self._fits(pod):
            return None
        made: list[int] = []
        change = 0.0
        with ExitStack() as tried:
            for helper in self._making_room(pod, {pod}, _MOST_DEPTH):
                if helper is None:
                    return None
                change += self._change(helper)
                tried.enter_context(self._copy.try_shift(self._shift(helper)))
                made.append(helper)
            change += self._change(pod)
        return Candidate((*made, pod), -change) if change < -NOTHING else None

    def _making_room(self, pod: int, involved: set[int], depth: int) -> Iterator[int | None]:
        """Those that leave first; each is to be moved before the next one is computed.

        None at the end where they cannot make room.
        """
        node = self._left[pod]
        leaving = [helper for helper in self._leaving[node] if helper not in involved]
        for count in range(_MOST_LEAVING):
            if self._fits(pod):
                return
            ready = next((helper for helper in leaving if self._fits(helper)), None)
            if ready is None and depth > 1 and leaving and not count:
                ready = leaving[0]
                involved.add(ready)
                for helper in self._making_room(ready, involved, depth - 1):
                    yield helper
                    if helper is None:
                        return
            if ready is None:
                break
            leaving.remove(ready)
            involved.add(ready)
            yield ready
        if not self._fits(pod):
            yield None

    def _fits(self, pod: int) -> bool:
        return bool(self._copy.scheduler.feasible(pod)[self._left[pod]])

    def _shift(self, pod: int) -> Shift:
        return Shift(pod, int(self._where[pod]), self._left[pod])

    def _change(self, pod: int) -> float:
        """The change of the cost if it went where it is proposed."""
        node = np.array([self._left[pod]], dtype=np.int32)
        return sum(float(change[0]) for change in self._copy.changes(pod, node).values())
