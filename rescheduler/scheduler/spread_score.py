"""The score of PodTopologySpread, for all feasible nodes or for a window of them."""

from dataclasses import dataclass

import numpy as np

from rescheduler.model.readings import BoolArray, FloatArray, IntArray
from rescheduler.scheduler.normalizing import MAX_SCORE, NEVER
from rescheduler.scheduler.windows import Int64Array, Windows

_DENSE = 1 << 16
_FEW_DOMAINS = 64


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
    Source: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, Kubernetes 1.36.
    """

    def __init__(self, counts: list[SpreadCount], scored: BoolArray) -> None:
        self._counts = counts
        self._scored = scored
        combined = scored.astype(np.int64)
        size = 2
        for each in counts:
            radix = int(each.pods.max(initial=0)) + 2
            combined = combined * radix + each.pods + 1
            size *= radix
        if size <= _DENSE:
            present = np.bincount(combined, minlength=size) > 0
            kinds = np.flatnonzero(present)
            self.codes = (np.cumsum(present) - 1)[combined]
        else:
            kinds, self.codes = np.unique(combined, return_inverse=True)
        self._of_kind: list[Int64Array] = []
        for each in reversed(counts):
            radix = int(each.pods.max(initial=0)) + 2
            self._of_kind.insert(0, kinds % radix - 1)
            kinds = kinds // radix
        self._kind_scored = kinds == 1

    def points(self) -> Int64Array:
        """All nodes together."""
        sizes = []
        for each in self._counts:
            if each.domains is None:
                sizes.append(int(self._scored.sum()))
            else:
                codes = each.domains[self._scored] + 1
                sizes.append(int(np.count_nonzero(np.bincount(codes))) if len(codes) else 0)
        raw = self._raw(np.array([sizes], dtype=np.int64))[0]
        answer: Int64Array = spread_scores(raw, self._kind_scored)[self.codes]
        return answer

    def circumstances(self, windows: Windows) -> list[Int64Array]:
        """How many domains each constraint sees, and the least and greatest rounded cost."""
        sizes = [self._sizes(each, windows) for each in self._counts]
        columns = np.stack(sizes, axis=1)
        if (columns == columns[0]).all():
            distinct, which = columns[:1], None
        else:
            distinct, which = np.unique(columns, axis=0, return_inverse=True)
        least = np.zeros(windows.count, dtype=np.int64)
        greatest = np.zeros(windows.count, dtype=np.int64)
        for number, row in enumerate(distinct):
            raw = rounded(self._raw(row[None, :])[0])
            if not self._kind_scored.any():
                continue
            low = np.where(self._kind_scored, raw, -NEVER)[self.codes]
            high = np.where(self._kind_scored, raw, 0)[self.codes]
            here = slice(None) if which is None else which.ravel() == number
            least[here] = windows.minimum(low)[here]
            greatest[here] = windows.maximum(high)[here]
        return [*sizes, least, greatest]

    def table(self, circumstances: Int64Array) -> Int64Array:
        """By the counts of all constraints."""
        raw = rounded(self._raw(circumstances[:, :-2]))
        least, greatest = circumstances[:, -2:-1], circumstances[:, -1:]
        points = MAX_SCORE * (greatest + least - raw) // np.maximum(greatest, 1)
        points = np.where(greatest == 0, MAX_SCORE, points)
        there = (raw >= least) & (raw <= greatest)
        return np.where(self._kind_scored, np.where(there, points, NEVER), 0)

    def _sizes(self, count: SpreadCount, windows: Windows) -> Int64Array:
        """(windows,) the number of domains among the scored nodes of each window."""
        if count.domains is None:
            if self._scored.all():
                return np.full(windows.count, windows.width, dtype=np.int64)
            return windows.total(self._scored)
        codes = count.domains
        if int(codes.max(initial=-1)) < _FEW_DOMAINS and windows.everywhere(codes, self._scored):
            number = np.count_nonzero(np.bincount(codes[self._scored] + 1))
            return np.full(windows.count, number, dtype=np.int64)
        return windows.distinct(codes, self._scored)

    def _raw(self, sizes: Int64Array) -> FloatArray:
        """(k, kinds) costs, not rounded. sizes: (k, constraints)."""
        raw = np.zeros((len(sizes), len(self._kind_scored)), dtype=np.float64)
        for number, each in enumerate(self._counts):
            pods = self._of_kind[number]
            weights = np.log((sizes[:, number] + 2).astype(np.float64))
            cost = pods[None, :] * weights[:, None] + float(each.max_skew - 1)
            raw += np.where(pods >= 0, cost, 0.0)
        return raw


def rounded(raw: FloatArray) -> Int64Array:
    """Costs rounded half away from zero, as Go does."""
    whole = np.trunc(raw)
    answer: Int64Array = np.where(raw - whole >= 0.5, whole + 1, whole).astype(np.int64)
    return answer


def spread_scores(raw: FloatArray, scored: BoolArray) -> Int64Array:
    """Raw costs, rounded, made 0-100; unscored nodes get 0."""
    costs = rounded(raw)
    considered = costs[scored]
    top = int(considered.max(initial=0))
    if top == 0:
        return np.where(scored, MAX_SCORE, 0).astype(np.int64)
    least = int(considered.min())
    return np.where(scored, MAX_SCORE * (top + least - costs) // top, 0)
