"""Plugin NodeResourcesBalancedAllocation: a node's resources should fill up alike."""

from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.nodes.resource_names import native
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import MAX_SCORE, Plugin, Replacement, Score, ScoreArray
from rescheduler.scheduler.plugins.node_resources.scoring_strategy import BoolMatrix
from rescheduler.scheduler.profile import Profile


def balance(used: Int64Array, allocatable: Int64Array) -> ScoreArray:
    """How alike the resources are filled on each node, 0-100.

    used, allocatable: (resources, nodes). A node that has at most one of them is perfectly
    balanced. For two, the deviation is half of the difference; for more, that of the population.
    Source: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
    """
    fractions = np.minimum(used / np.maximum(allocatable, 1), 1.0)
    present = allocatable > 0
    count = present.sum(axis=0)
    if len(used) == 2:
        spread = np.abs(fractions[0] - fractions[1]) / 2
    else:
        spread = _deviation(fractions, present, np.maximum(count, 1))
    deviation = np.where(count > 1, spread, 0.0)
    score: ScoreArray = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return score


def _deviation(fractions: FloatArray, present: BoolMatrix, count: ScoreArray) -> FloatArray:
    """(nodes,) the deviation over the resources that each node has, summed in their order."""
    total = np.zeros(fractions.shape[1])
    squares = np.zeros(fractions.shape[1])
    least = np.full(fractions.shape[1], np.inf)
    most = np.full(fractions.shape[1], -np.inf)
    for row, has in zip(fractions, present, strict=True):
        total += np.where(has, row, 0.0)
        least = np.where(has, np.minimum(least, row), least)
        most = np.where(has, np.maximum(most, row), most)
    mean = total / count
    for row, has in zip(fractions, present, strict=True):
        squares += np.where(has, (row - mean) * (row - mean), 0.0)
    half = np.where(count == 2, (most - least) / 2, 0.0)
    return np.where(count == 2, half, np.sqrt(squares / count))


def balance_change(with_pod: ScoreArray, without_pod: ScoreArray) -> ScoreArray:
    """The score since 1.36: 75 where the pod changes nothing, up to 100 where it repairs."""
    half = MAX_SCORE // 2
    return half + (half + with_pod - without_pod) // 2


class BalancedAllocation(Plugin):
    """Plain requests, without defaults; a pod that asks for none of the resources is not scored."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    weight: ClassVar[int] = 1
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, occupancy: Occupancy, profile: Profile) -> None:
        self._occupancy = occupancy
        self._profile = profile

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """With the arguments of the profile."""
        return cls(handle.occupancy, profile)

    def score(self, pod: Replacement) -> Score | None:
        """The better balanced, or the more improved, the better."""
        rows, amounts = [], []
        for name in self._profile.balanced_resources:
            amount = pod.requests.plain.get(name, 0)
            row = self._occupancy.index.get(name)
            if row is not None and (amount or native(name)):
                rows.append(row)
                amounts.append([amount])
        if not any(pod.requests.plain.get(name) for name in self._profile.balanced_resources):
            return None
        requests = np.array(amounts, dtype=np.int64).reshape(-1, 1)
        # A slice needs no copy of the rows.
        chosen = slice(0, 2) if rows == [0, 1] else rows
        return partial(self._score, chosen, requests)

    def _score(self, rows: slice | list[int], requested: Int64Array, nodes: IntArray) -> ScoreArray:
        used = self._occupancy.requested[rows][:, nodes]
        allocatable = self._occupancy.allocatable[rows][:, nodes]
        after = balance(used + requested, allocatable)
        if not self._profile.balanced_difference:
            return after
        return balance_change(after, balance(used, allocatable))
