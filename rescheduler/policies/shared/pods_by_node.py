"""Pods by node, built when first used."""

import numpy as np

from rescheduler.model.cluster.readings import IntArray


class OfNodes(dict[int, tuple[int, ...]]):
    """Node to those of the pods that are on it, in their order; made when it is first asked for."""

    def __init__(self, pods: IntArray, where: IntArray) -> None:
        """where: (pods of the snapshot,) the node of each, -1 for none."""
        super().__init__()
        at = where[pods]
        order = np.argsort(at, kind="stable")
        self._pods, self._at = pods[order], at[order]

    def __missing__(self, node: int) -> tuple[int, ...]:
        begin, end = np.searchsorted(self._at, (node, node + 1))
        pods = self[node] = tuple(self._pods[begin:end].tolist())
        return pods
