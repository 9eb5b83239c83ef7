"""The queue of the search: candidates by what they could gain per disruption, the best first.

Of tens of thousands of single moves most are never come to, so the exact place of one among its
equals is worked out only when it may be the first.
"""

import heapq
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray

Pods = tuple[int, ...]
NEVER = -1
_ROUNDING = 1e9


class Key(NamedTuple):
    """The least is the best: value, then the smaller disruption, then the seed.

    value, disruption: in billionths, so that what differs by rounding alone is equal.
    """

    value: float
    disruption: float
    tie: bytes


class QueuedCandidate(NamedTuple):
    """One candidate. version: of the working copy in which it was evaluated last, or NEVER."""

    key: Key
    pods: Pods
    version: int


class Queue:
    """A heap of candidates, and single moves that are not in it yet, in their order."""

    def __init__(self, tie_breaks: Callable[[Pods], bytes]) -> None:
        """tie_breaks: where the pods stand among equals."""
        self._ties = tie_breaks
        self._heap: list[QueuedCandidate] = []
        self._singles: list[tuple[float, float, int]] = []

    def add_singles(self, pods: IntArray, values: FloatArray, disruptions: FloatArray) -> None:
        """Add moves of one pod each, to a queue that has none. values: per disruption."""
        first, second = _round_values(-values), _round_values(disruptions)
        order = np.lexsort((second, first))[::-1]  # the best is taken from the end
        self._singles = list(
            zip(first[order].tolist(), second[order].tolist(), pods[order].tolist(), strict=True)
        )

    def push(self, pods: Pods, value: float, disruption: float, version: int = NEVER) -> None:
        """Add a candidate. value: per disruption."""
        heapq.heappush(
            self._heap, QueuedCandidate(self._key(pods, value, disruption), pods, version)
        )

    def push_unless_first(self, pods: Pods, value: float, disruption: float, version: int) -> bool:
        """Add the candidate if another one is better; answers whether it did."""
        key = self._key(pods, value, disruption)
        self._fill()
        if not self._heap or self._heap[0].key >= key:
            return False
        heapq.heappush(self._heap, QueuedCandidate(key, pods, version))
        return True

    def pop(self) -> QueuedCandidate:
        """Take the best; of equals the one whose pods have the smaller numbers."""
        self._fill()
        return heapq.heappop(self._heap)

    def _key(self, pods: Pods, value: float, disruption: float) -> Key:
        """The key of a candidate."""
        return Key(float(_round_values(-value)), float(_round_values(disruption)), self._ties(pods))

    def select_waiting(self, pods: Container[Pods]) -> list[QueuedCandidate]:
        """Those that are among these, the best first; a single move only if it was the first."""
        return sorted(candidate for candidate in self._heap if candidate.pods in pods)

    def pods(self) -> Iterator[Pods]:
        """Of every candidate, in no order."""
        yield from (candidate.pods for candidate in self._heap)
        yield from ((pod,) for _, _, pod in self._singles)

    def __len__(self) -> int:
        return len(self._heap) + len(self._singles)

    def _fill(self) -> None:
        """Bring into the heap all single moves that could be its first."""
        heap, singles = self._heap, self._singles
        while singles and (not heap or singles[-1][:2] <= heap[0].key[:2]):
            value, disruption, pod = singles.pop()
            key = Key(value, disruption, self._ties((pod,)))
            heapq.heappush(heap, QueuedCandidate(key, (pod,), NEVER))


def _round_values(values: FloatArray | float) -> FloatArray:
    return np.asarray(np.rint(np.asarray(values) * _ROUNDING))
