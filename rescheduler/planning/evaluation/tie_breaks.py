"""Tie-breaks: a fixed order of equals for a seed, whatever the order of the input."""

import hashlib
from collections.abc import Sequence

import numpy as np

from rescheduler.model.cluster.readings import IntArray


def tie_break(seed: int, name: str) -> bytes:
    """Where the name stands among equals."""
    return hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()


def precedence(seed: int, names: Sequence[str]) -> IntArray:
    """(names,) the place of each in the fixed order."""
    order = [tie_break(seed, name) for name in names]
    answer = np.empty(len(order), dtype=np.int32)
    answer[sorted(range(len(order)), key=order.__getitem__)] = np.arange(len(order))
    return answer
