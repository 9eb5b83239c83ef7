"""Plugin NodeResourcesBalancedAllocation: cpu and memory of a node should fill up alike."""

from functools import partial
from typing import ClassVar

import numpy as np

from rescheduler.model.readings import IntArray
from rescheduler.scheduler.occupancy import Int64Array, Occupancy
from rescheduler.scheduler.plugin import MAX_SCORE, Plugin, Replacement, Score, ScoreArray


def balance(used: Int64Array, allocatable: Int64Array) -> ScoreArray:
    """How alike cpu and memory are filled on each node, 0-100.

    used, allocatable: (2, nodes). A node that lacks one of them is perfectly balanced.
    Source: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, Kubernetes 1.36.
    """
    fractions = np.minimum(used / np.maximum(allocatable, 1), 1.0)
    both = (allocatable[0] > 0) & (allocatable[1] > 0)
    deviation = np.where(both, np.abs(fractions[0] - fractions[1]) / 2, 0)
    score: ScoreArray = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return score


def balance_change(with_pod: ScoreArray, without_pod: ScoreArray) -> ScoreArray:
    """The score since 1.36: 75 where the pod changes nothing, up to 100 where it repairs."""
    half = MAX_SCORE // 2
    return half + (half + with_pod - without_pod) // 2


class BalancedAllocation(Plugin):
    """Plain requests, without defaults; a pod that asks for neither resource is not scored."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"

    def __init__(self, occupancy: Occupancy, *, difference: bool) -> None:
        self._occupancy = occupancy
        self._difference = difference

    def score(self, pod: Replacement) -> Score | None:
        """The better balanced, or the more improved, the better."""
        cpu, memory = (pod.requests.plain.get(name, 0) for name in ("cpu", "memory"))
        if not cpu and not memory:
            return None
        return partial(self._score, np.array([[cpu], [memory]], dtype=np.int64))

    def _score(self, asked: Int64Array, nodes: IntArray) -> ScoreArray:
        used = self._occupancy.requested[:2, nodes]
        allocatable = self._occupancy.allocatable[:2, nodes]
        after = balance(used + asked, allocatable)
        return balance_change(after, balance(used, allocatable)) if self._difference else after
