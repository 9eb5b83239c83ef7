"""Measured load as hinges, which tell nearly what moves change, for many pods and nodes at once."""

from collections.abc import Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.policies.shared.hinges import Hinges

_NO_ROOM = 1e30
"""More than anything takes."""


def hinges_of(
    used: FloatArray,
    above: Sequence[FloatArray],
    unit: FloatArray,
    where: IntArray,
    movable: BoolArray,
) -> Hinges:
    """A hinge for each target and limit; what is above one costs half.

    Exact but for pods that free nothing when they leave, and where the fullest of several targets
    of one resource counts.

    used: (targets, pods). above: for each limit (targets, nodes) how much there is beyond it.
    unit: (targets,) what costs 1.
    """
    half = 0.5 / unit[:, np.newaxis]
    parts = np.concatenate([used * half for _ in above]).T
    slack = -np.concatenate([array * half for array in above]).T
    placed = np.flatnonzero(where >= 0)
    np.add.at(slack, where[placed], parts[placed])
    return Hinges(parts, slack, where, movable)


def room_of(used: FloatArray, free: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(pods, targets) and (nodes, targets): what each takes, and what is left, never infinite."""
    return used.T, np.maximum(free, -_NO_ROOM).T
