"""The score of PodTopologySpread, for all feasible nodes or for a window of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, prod

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.scheduler.normalizing import MAX_SCORE, NEVER, Circumstance
from rescheduler.scheduler.windows import Int64Array, Windows

_DENSE = 1 << 16
_FEW_DOMAINS = 64
_LARGEST = int(np.iinfo(np.int16).max)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadCount:
    """What one constraint counts.

    pods: (feasible,) matching pods in each node's domain; -1 where it has none.
    domains: (feasible,) codes of the domains, or None: each node is its own.
    """

    pods: IntArray
    domains: IntArray | None
    max_skew: int


class BySpread:
    """A node's raw cost depends on how many domains are scored with it.

    scored: (feasible,) the nodes that have all keys; the others get 0.
    Source: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
    """

    def __init__(self, counts: list[SpreadCount], scored: BoolArray) -> None:
        self._counts = counts
        self._scored = scored
        self._known: dict[tuple[int, ...], Int64Array] = {}
        radices = [int(count.pods.max(initial=0)) + 2 for count in counts]
        combined = scored.astype(np.int64)
        for count, radix in zip(counts, radices, strict=True):
            combined *= radix
            combined += count.pods
            combined += 1
        size = 2 * prod(radices)
        if size <= _DENSE:
            present = np.bincount(combined, minlength=size) > 0
            kinds = np.flatnonzero(present)
            self.codes = (np.cumsum(present) - 1)[combined]
        else:
            kinds, self.codes = np.unique(combined, return_inverse=True)
        self._of_kind: list[Int64Array] = []
        for radix in reversed(radices):
            self._of_kind.insert(0, kinds % radix - 1)
            kinds = kinds // radix
        self._kind_scored = kinds == 1

    def points(self) -> Int64Array:
        """All nodes together."""
        sizes = [self._domains(count) for count in self._counts]
        answer: Int64Array = spread_scores(self._costs(sizes), self._kind_scored)[self.codes]
        return answer

    def circumstances(self, windows: Windows) -> list[Circumstance]:
        """How many domains each constraint sees, and the least and greatest rounded cost."""
        sizes = [self._sizes(count, windows) for count in self._counts]
        if not self._kind_scored.any():
            return [*sizes, 0, 0]
        if all(isinstance(size, int) for size in sizes):
            return [*sizes, *self._extremes(windows, [int(size) for size in sizes])]
        columns = np.empty((windows.count, len(sizes)), dtype=np.int64)
        for place, size in enumerate(sizes):
            columns[:, place] = size
        distinct, which = np.unique(columns, axis=0, return_inverse=True)
        least = np.zeros(windows.count, dtype=np.int64)
        greatest = np.zeros(windows.count, dtype=np.int64)
        for number, row in enumerate(distinct.tolist()):
            here = which.ravel() == number
            low, high = self._extremes(windows, row)
            least[here], greatest[here] = low[here], high[here]
        return [*sizes, least, greatest]

    def _extremes(self, windows: Windows, sizes: list[int]) -> tuple[Int64Array, Int64Array]:
        """(windows,) the least and the greatest cost, where there are so many domains."""
        costs = self._costs(sizes)
        small = np.int16 if costs.max() < _LARGEST else np.int64
        low = np.where(self._kind_scored, costs, max(_LARGEST, int(costs.max()))).astype(small)
        high = np.where(self._kind_scored, costs, 0).astype(small)
        return windows.minimum(low[self.codes]), windows.maximum(high[self.codes])

    def table(self, circumstances: Int64Array) -> Int64Array:
        """By the counts of all constraints."""
        costs = np.stack([self._costs(row) for row in circumstances[:, :-2].tolist()])
        least, greatest = circumstances[:, -2:-1], circumstances[:, -1:]
        points = MAX_SCORE * (greatest + least - costs) // np.maximum(greatest, 1)
        points = np.where(greatest == 0, MAX_SCORE, points)
        there = (costs >= least) & (costs <= greatest)
        return np.where(self._kind_scored, np.where(there, points, NEVER), 0)

    def _sizes(self, count: SpreadCount, windows: Windows) -> Circumstance:
        """(windows,) the number of domains among the scored nodes of each window."""
        if count.domains is None:
            return windows.width if self._scored.all() else windows.total(self._scored)
        codes = count.domains
        if int(codes.max(initial=-1)) < _FEW_DOMAINS and windows.have_all_codes(
            codes, self._scored
        ):
            return self._domains(count)
        return windows.distinct(codes, self._scored)

    def _domains(self, count: SpreadCount) -> int:
        """The number of domains among all scored nodes."""
        if count.domains is None:
            return int(np.count_nonzero(self._scored))
        return int(np.count_nonzero(np.bincount(count.domains[self._scored] + 1)))

    def _costs(self, sizes: Sequence[int]) -> Int64Array:
        """(kinds,) rounded costs, where each constraint sees so many domains."""
        costs = self._known.get(tuple(sizes))
        if costs is None:
            raw = np.zeros(len(self._kind_scored), dtype=np.float64)
            for pods, size, count in zip(self._of_kind, sizes, self._counts, strict=True):
                cost = pods * log(size + 2) + float(count.max_skew - 1)
                raw += np.where(pods >= 0, cost, 0.0)
            costs = self._known[tuple(sizes)] = round_half_up(raw)
        return costs


def round_half_up(raw: FloatArray) -> Int64Array:
    """Costs, none below 0, rounded half up, as Go rounds them."""
    whole = raw.astype(np.int64)
    answer: Int64Array = whole + (raw - whole >= 0.5)
    return answer


def spread_scores(costs: Int64Array, scored: BoolArray) -> Int64Array:
    """Rounded costs made 0-100; unscored nodes get 0."""
    considered = costs[scored]
    top = int(considered.max(initial=0))
    if top == 0:
        return np.where(scored, MAX_SCORE, 0).astype(np.int64)
    least = int(considered.min())
    return np.where(scored, MAX_SCORE * (top + least - costs) // top, 0)
