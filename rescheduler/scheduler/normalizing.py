"""Scores that depend on which nodes are scored together.

Above 100 nodes the scheduler scores one window of the feasible nodes, and stretches these scores
over what it finds there. So one node has several possible scores, one per circumstance.
"""

from typing import Protocol

import numpy as np

from rescheduler.scheduler.windows import Int64Array, Windows

NEVER = -(1 << 40)
"""Stands for the score of a node that does not exist in such circumstances."""
MAX_SCORE = 100


Circumstance = int | Int64Array
"""A number of each window, (windows,), or the one that all of them have."""


class Relative(Protocol):
    """The scores of the feasible nodes, for any set of them that is scored together.

    codes: (feasible,) the kind of each node: nodes of one kind always score alike.
    """

    codes: Int64Array

    def points(self) -> Int64Array:
        """(feasible,) the scores where all of them are scored together."""
        ...

    def circumstances(self, windows: Windows) -> list[Circumstance]:
        """Numbers of each window that its scores depend on, beside the codes."""
        ...

    def table(self, circumstances: Int64Array) -> Int64Array:
        """(k, codes) the score of each kind of node, 0-100, or NEVER.

        circumstances: (k, numbers), as rows.
        """
        ...


class ByMaximum:
    """Raw scores stretched to 0-100 by their maximum, as helper.DefaultNormalizeScore does."""

    def __init__(self, raw: Int64Array, *, reverse: bool = False) -> None:
        self.codes = raw
        self._reverse = reverse

    def points(self) -> Int64Array:
        """All nodes together."""
        return self._stretch(self.codes, int(self.codes.max(initial=0)))

    def circumstances(self, windows: Windows) -> list[Circumstance]:
        """The greatest raw score."""
        return [windows.maximum(self.codes)]

    def table(self, circumstances: Int64Array) -> Int64Array:
        """By raw score."""
        raw = np.arange(int(self.codes.max(initial=0)) + 1, dtype=np.int64)
        rows = [
            np.where(raw <= top, self._stretch(raw, top), NEVER)
            for top in circumstances[:, 0].tolist()
        ]
        return np.array(rows, dtype=np.int64)

    def _stretch(self, raw: Int64Array, top: int) -> Int64Array:
        if top == 0:
            return np.full(len(raw), MAX_SCORE, dtype=np.int64) if self._reverse else raw
        stretched: Int64Array = MAX_SCORE * raw // top
        return MAX_SCORE - stretched if self._reverse else stretched


class ByRange:
    """Raw scores stretched over 0-100 by their least and greatest; all 0 where these are equal."""

    def __init__(self, raw: Int64Array) -> None:
        values = np.unique(raw) if len(raw) else raw
        self._values = values
        self._raw = raw
        self.codes = np.searchsorted(values, raw).astype(np.int64)

    def points(self) -> Int64Array:
        """All nodes together."""
        return self._stretch(self._raw, int(self._values[0]), int(self._values[-1]))

    def circumstances(self, windows: Windows) -> list[Circumstance]:
        """The least and the greatest, as codes."""
        if len(self._values) == 1:
            return []
        return [windows.minimum(self.codes), windows.maximum(self.codes)]

    def table(self, circumstances: Int64Array) -> Int64Array:
        """By the rank of the raw score."""
        rows = []
        ranks = np.arange(len(self._values))
        for row in circumstances.tolist():
            low, high = row or (0, 0)
            points = self._stretch(self._values, int(self._values[low]), int(self._values[high]))
            rows.append(np.where((ranks >= low) & (ranks <= high), points, NEVER))
        return np.array(rows, dtype=np.int64)

    @staticmethod
    def _stretch(raw: Int64Array, least: int, greatest: int) -> Int64Array:
        if greatest == least:
            return np.zeros(len(raw), dtype=np.int64)
        stretched: Int64Array = (MAX_SCORE * ((raw - least) / (greatest - least))).astype(np.int64)
        return stretched
