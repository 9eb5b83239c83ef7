"""The unit of Utilization's cost: what a pod uses on average. No move changes it."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray

IDLE = 0.01
"""A pod that uses less of the largest node, or of a device, is no load that anybody would move."""

_LEAST_UNIT = 0.001
"""The smallest average pod, as a share of the largest node, or of a device."""


def average_pods(
    used: FloatArray, capacity: FloatArray, bound: BoolArray, movable: BoolArray
) -> FloatArray:
    """(targets,) mean usage of the pods that may be moved.

    used: (targets, pods). capacity: (targets, nodes). Idle pods do not count where others do, and
    it is at least a thousandth of the largest node: they must not make a pod so small a unit that
    any load costs millions. Where no bound pod uses any, it is the largest node.
    """
    has_capacity = ~np.isnan(capacity)
    largest = np.max(capacity, axis=1, initial=0.0, where=has_capacity)
    answer = np.where(largest > 0, largest, 1.0)
    least = answer * _LEAST_UNIT
    for row, amounts in enumerate(used):
        using = bound & (amounts > 0)
        busy = using & (amounts >= IDLE * answer[row])
        for chosen in (movable & busy, movable & using, using):
            if chosen.any():
                answer[row] = amounts[chosen].mean()
                break
    return np.maximum(answer, least)


def average_part(used: FloatArray, movable: BoolArray, has: BoolArray) -> float:
    """Mean use of a device by the pods that may be moved and are not idle; 1.0: nobody uses any."""
    for chosen in (movable & (used >= IDLE), movable & (used > 0), has & (used > 0)):
        if chosen.any():
            return max(float(used[chosen].mean()), _LEAST_UNIT)
    return 1.0
