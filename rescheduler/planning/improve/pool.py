"""Pools to draw pods from: a pod that weighs more is in them more often."""

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray

TIMES = 10
"""How often one of average weight is in the pool."""
_RARER = 0.125
"""The least that one weighs, in the average: then it is in the pool at least once."""


def weighted_pool(pods: IntArray, weights: FloatArray) -> IntArray:
    """Each pod as often as it weighs, `TIMES` as many as there are: one number draws one."""
    count = TIMES * len(pods)
    up_to = np.cumsum(weights)
    places = (np.arange(count) + 0.5) * (up_to[-1] / count)
    pool: IntArray = pods[np.searchsorted(up_to, places).clip(max=len(pods) - 1)]
    return pool


def pool_by_savings(pods: IntArray, savings: FloatArray) -> IntArray:
    """Each pod as often as it can save; all of them at least once."""
    if not len(pods):
        return pods
    return weighted_pool(pods, np.maximum(savings, _RARER * float(savings.mean())))
