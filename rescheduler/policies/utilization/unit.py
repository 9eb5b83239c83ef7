"""The unit of cost of measured load: what a pod uses on average."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray

_LEAST_UNIT = 0.001
"""The smallest average pod, as a share of the largest node."""
_IDLE = 0.01
"""A pod that uses less of the largest node is no load that anybody would move."""


def average_pod(
    used: FloatArray, capacity: FloatArray, bound: BoolArray, mobile: BoolArray
) -> FloatArray:
    """(targets,) mean usage of the pods that may be moved; no move changes it.

    Idle pods do not count where others do, and it is at least a thousandth of the largest node:
    they must not make a pod so small a unit that any load costs millions.

    used: (targets, pods). capacity: (targets, nodes). bound, mobile: (pods,).
    """
    largest = np.max(capacity, axis=1, initial=0.0, where=~np.isnan(capacity))
    answer = np.where(largest > 0, largest, 1.0)
    least = answer * _LEAST_UNIT
    for row, amounts in enumerate(used):
        using = bound & (amounts > 0)
        busy = using & (amounts >= _IDLE * answer[row])
        for chosen in (mobile & busy, mobile & using, using):
            if chosen.any():
                answer[row] = amounts[chosen].mean()
                break
    return np.maximum(answer, least)
