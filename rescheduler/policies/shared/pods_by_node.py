"""Pods by node, built when first used."""

import numpy as np

from rescheduler.model.cluster.readings import IntArray


class OfNodes(dict[int, tuple[int, ...]]):
    """Node to its pods, in their order; a node is worked out when it is first read."""

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
