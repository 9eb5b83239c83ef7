"""The strategies by which NodeResourcesFit scores how full a node would be.

In all of them `used` and `allocatable` are (resources, nodes), the incoming pod included in `used`;
a resource that a node does not have does not count there, nor does a node without any of them
score. weights: (resources,) what each resource counts; all alike by default.
Source: pkg/scheduler/framework/plugins/noderesources.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rescheduler.kube.arrays import Int64Array
from rescheduler.scheduler.plugin import MAX_SCORE, ScoreArray
from rescheduler.scheduler.profile import ScoringStrategy

BoolMatrix = npt.NDArray[np.bool_]
"""(resources, nodes)."""
Scorer = Callable[[Int64Array, Int64Array, Sequence[int]], ScoreArray]

_CUSTOM_SCALE = 10
"""Scores of a shape go from 0 to 10, a plugin's from 0 to 100."""


def least_allocated(
    used: Int64Array, allocatable: Int64Array, weights: Sequence[int] | None = None
) -> ScoreArray:
    """The free share in percent, rounded down, averaged; 0 where more is used than there is.

    Source: least_allocated.go.
    """
    free = np.maximum(allocatable - used, 0)
    return _mean(free * MAX_SCORE // np.maximum(allocatable, 1), allocatable > 0, weights)


def most_allocated(
    used: Int64Array, allocatable: Int64Array, weights: Sequence[int] | None = None
) -> ScoreArray:
    """The used share in percent, rounded down, averaged; 100 where more is used than there is.

    Source: most_allocated.go.
    """
    taken = np.minimum(used, allocatable)
    return _mean(taken * MAX_SCORE // np.maximum(allocatable, 1), allocatable > 0, weights)


def requested_to_capacity_ratio(
    used: Int64Array, allocatable: Int64Array, curve: ScoreArray, weights: Sequence[int]
) -> ScoreArray:
    """The curve's value at the used percent, averaged over the resources where it is not 0.

    curve: (101,) see `broken_line`. The mean is rounded half up.
    Source: requested_to_capacity_ratio.go.
    """
    percent = used * MAX_SCORE // np.maximum(allocatable, 1)
    scores = curve[np.where(used > allocatable, MAX_SCORE, percent)]
    counted = (allocatable > 0) & (scores > 0)
    total, weight = _sums(scores, counted, weights)
    mean: ScoreArray = np.floor(total / np.maximum(weight, 1) + 0.5).astype(np.int64)
    return mean


def broken_line(shape: Sequence[tuple[int, int]]) -> ScoreArray:
    """(101,) the value at each percent of a line through the points, level before and after them.

    shape: utilization and score, 0 to 10, of each point. Between two points the change is rounded
    towards zero, as Go divides. Source: plugins/helper/shape_score.go.
    """
    at = [point[0] for point in shape]
    values = [point[1] * _CUSTOM_SCALE for point in shape]

    def value(percent: int) -> int:
        after = next((i for i, utilization in enumerate(at) if percent <= utilization), None)
        if after is None:
            return values[-1]
        if after == 0:
            return values[0]
        rise = (values[after] - values[after - 1]) * (percent - at[after - 1])
        step = abs(rise) // (at[after] - at[after - 1])
        return values[after - 1] + (step if rise >= 0 else -step)

    return np.array([value(percent) for percent in range(MAX_SCORE + 1)], dtype=np.int64)


def scorer(strategy: ScoringStrategy) -> Scorer:
    """The function that scores by this strategy."""
    if strategy.type == "LeastAllocated":
        return least_allocated
    if strategy.type == "MostAllocated":
        return most_allocated
    curve = broken_line(strategy.shape)

    def by_curve(used: Int64Array, allocatable: Int64Array, weights: Sequence[int]) -> ScoreArray:
        return requested_to_capacity_ratio(used, allocatable, curve, weights)

    return by_curve


def _mean(scores: ScoreArray, counted: BoolMatrix, weights: Sequence[int] | None) -> ScoreArray:
    total, weight = _sums(scores, counted, weights or [1] * len(scores))
    mean: ScoreArray = total // np.maximum(weight, 1)
    return mean


def _sums(
    scores: ScoreArray, counted: BoolMatrix, weights: Sequence[int]
) -> tuple[ScoreArray, ScoreArray]:
    total = np.zeros(scores.shape[1], dtype=np.int64)
    weight = np.zeros(scores.shape[1], dtype=np.int64)
    for row, resource_weight in enumerate(weights):
        total += np.where(counted[row], scores[row] * resource_weight, 0)
        weight += np.where(counted[row], resource_weight, 0)
    return total, weight
