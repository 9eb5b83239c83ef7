"""Rows stored one after the other with the begin of each number's (compressed sparse rows)."""

import numpy as np

from rescheduler.model.cluster.readings import IntArray


def rows_of(begin: IntArray, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """All rows of these numbers (-1 has none), from their begins on, and whose each is."""
    first = np.where(numbers >= 0, begin[numbers], 0)
    length = np.where(numbers >= 0, begin[numbers + 1] - first, 0)
    owner = np.repeat(np.arange(len(numbers)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    rows = (np.repeat(first, length) + within).astype(np.int32)
    return rows, owner.astype(np.int32)
