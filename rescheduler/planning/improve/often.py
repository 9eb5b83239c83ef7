"""Pods to draw from, by what they weigh."""

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray

_TIMES = 10
"""How often one of average weight is among them."""
_RARER = 0.125
"""The least that one weighs, in the average: then it is among them at least once."""


def as_often(pods: IntArray, weights: FloatArray, times: int = _TIMES) -> IntArray:
    """Each pod as often as it weighs, so many times as many as there are: one number draws one."""
    up_to = np.cumsum(weights)
    places = (np.arange(times * len(pods)) + 0.5) * (up_to[-1] / (times * len(pods)))
    found: IntArray = pods[np.searchsorted(up_to, places).clip(max=len(pods) - 1)]
    return found


def by_savings(pods: IntArray, savings: FloatArray) -> IntArray:
    """Each pod as often as it can save; all of them at least once."""
    if not len(pods):
        return pods
    return as_often(pods, np.maximum(savings, _RARER * float(savings.mean())))
