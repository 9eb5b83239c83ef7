"""Plugin NodeResourcesFit: a pod needs room, and the emptier node is better."""

from functools import partial
from typing import ClassVar

import numpy as np

from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.scheduler.occupancy import Int64Array, Occupancy
from rescheduler.scheduler.plugin import MAX_SCORE, Filter, Plugin, Replacement, Score, ScoreArray


def least_allocated(used: Int64Array, allocatable: Int64Array) -> ScoreArray:
    """kube-scheduler's LeastAllocated score of each node, 0-100, over equally weighted resources.

    used, allocatable: (resources, nodes), the incoming pod included in `used`. A resource that a
    node does not have is left out of that node's mean.
    Source: pkg/scheduler/framework/plugins/noderesources/least_allocated.go, Kubernetes 1.36.
    """
    free = np.maximum(allocatable - used, 0)
    scores = free * MAX_SCORE // np.maximum(allocatable, 1)
    total = np.zeros(allocatable.shape[1], dtype=np.int64)
    present = np.zeros(allocatable.shape[1], dtype=np.int64)
    for resource in range(len(allocatable)):
        has = allocatable[resource] > 0
        total += np.where(has, scores[resource], 0)
        present += has
    return total // np.maximum(present, 1)


class NodeResourcesFit(Plugin):
    """Only resources that the pod asks for are compared; a pod that asks for none needs a slot."""

    name: ClassVar[str] = "NodeResourcesFit"

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy

    def filter(self, pod: Replacement) -> Filter:
        """The nodes with a free slot and room for every resource asked for."""
        asked = list(pod.requests.plain.items())
        unknown = any(name not in self._occupancy.index for name, _ in asked)
        rows = [] if unknown else [(self._occupancy.index[name], value) for name, value in asked]
        return partial(self._fits, rows, nowhere=unknown)

    def score(self, pod: Replacement) -> Score:
        """LeastAllocated over cpu and memory, with defaults where a container says nothing."""
        asked = np.array([[pod.requests.cpu], [pod.requests.memory]], dtype=np.int64)
        return partial(self._score, asked)

    def _fits(self, rows: list[tuple[int, int]], *, nowhere: bool) -> BoolArray:
        state = self._occupancy
        if nowhere:
            return np.zeros(len(state.slots), dtype=np.bool_)
        answer: BoolArray = state.pods < state.slots
        for row, value in rows:
            answer &= state.allocatable[row] - state.requested[row] >= value
        return answer

    def _score(self, asked: Int64Array, nodes: IntArray) -> ScoreArray:
        state = self._occupancy
        return least_allocated(state.nonzero[:, nodes] + asked, state.allocatable[:2, nodes])
