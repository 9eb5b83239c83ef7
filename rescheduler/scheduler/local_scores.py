"""Scores that depend on one node alone: kept per shape, computed again where a pod came or went."""

from collections.abc import Sequence

import numpy as np

from rescheduler.model.readings import IntArray
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Score, ScoreArray

_NONE = np.zeros(0, dtype=np.int32)


class LocalScores:
    """The weighted sum of a shape's scores that depend on one node alone, for every node.

    relative: the other scores of the shape, with their weights. Which is which shows when they are
    first asked.
    """

    def __init__(self, scores: Sequence[tuple[str, int, Score]], occupancy: Occupancy) -> None:
        self._scores = scores
        self._occupancy = occupancy
        self._local: list[tuple[int, Score]] = []
        self._sums: IntArray | None = None
        self._clock = 0
        self._passing = -1
        self.relative: list[tuple[int, Score]] = []

    def of(self, nodes: IntArray) -> ScoreArray:
        """(nodes,) the sums for these nodes, in the state at the time of the call."""
        state = self._occupancy
        if self._sums is None:
            self._split()
            stale = np.arange(len(state.slots), dtype=np.int32)
            self._sums = np.zeros(len(stale), dtype=np.int32)
        elif self._clock < state.clock:
            stale = np.flatnonzero(state.changed > self._clock).astype(np.int32)
        else:
            stale = _NONE
        if self._passing >= 0:
            stale = np.append(stale, np.int32(self._passing))
        if len(stale):
            self._sums[stale] = self._sum(stale)
        # What is computed while a node is altered for a moment does not last.
        self._clock, self._passing = state.clock, -1
        answer: ScoreArray = self._sums[nodes].astype(np.int64)
        if state.altered >= 0:
            here = np.array([state.altered], dtype=np.int32)
            answer[nodes == state.altered] = self._sum(here)[0]
            if (stale == state.altered).any():
                self._passing = state.altered
        return answer

    def _split(self) -> None:
        first = np.zeros(1, dtype=np.int32)
        for _, weight, score in self._scores:
            local = isinstance(score(first), np.ndarray)
            (self._local if local else self.relative).append((weight, score))

    def _sum(self, nodes: IntArray) -> ScoreArray:
        total = np.zeros(len(nodes), dtype=np.int64)
        for weight, score in self._local:
            scored = score(nodes)
            if isinstance(scored, np.ndarray):
                total += weight * scored
        return total
