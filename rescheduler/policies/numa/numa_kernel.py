"""Numa as an estimate: what each pod by itself would be charged on each node.

What comes to a node after it, and takes the zones that it found free, is not in it.
"""

from collections.abc import Callable

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift


class NumaKernel:
    """The kernel.

    charges: gives the (nodes,) charges of a pod on all nodes as they are now; called for one pod of
    each kind. kind: (pods,), -1 for pods that are not charged anywhere. own: (pods,) the charge at
    home. where: (pods,) their nodes.
    """

    def __init__(
        self,
        charges: Callable[[int], FloatArray],
        kind: IntArray,
        own: FloatArray,
        home: IntArray,
        where: IntArray,
    ) -> None:
        self.movable: BoolArray = kind >= 0
        self._charges, self._kind, self._own = charges, kind, own
        self._home, self._where = home, where.astype(np.int32, copy=True)
        self._tables: dict[int, FloatArray] = {}

    def cost(self) -> float:
        """What all pods are charged."""
        pods = np.flatnonzero(self.movable & (self._where >= 0)).astype(np.int32)
        return float(self._charges_at(pods, self._where[pods]).sum())

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) the charge where each is, below 0."""
        return -self._charges_at(pods, self._where[pods])

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) the charge there."""
        answer = np.zeros((len(pods), len(nodes)))
        for kind in np.unique(self._kind[pods]).tolist():
            if kind >= 0:
                rows = self._kind[pods] == kind
                answer[rows] = self._table(kind)[nodes]
        back = nodes[None, :] == self._home[pods][:, None]
        return np.where(back, self._own[pods][:, None], answer)

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) what changes if each pod went to its node, and the other, if any, came instead."""
        here = self._where[pods]
        answer = self._charges_at(pods, nodes) - self._charges_at(pods, here)
        coming = np.flatnonzero(others >= 0)
        other = others[coming]
        answer[coming] += self._charges_at(other, here[coming]) - self._charges_at(
            other, nodes[coming]
        )
        return answer

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        self._where[shift.pod] = shift.destination

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        self._where[pods] = nodes

    def savings(self) -> FloatArray:
        """(pods,) its own charge."""
        return np.where(self.movable, self._own, 0.0)

    def _charges_at(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) what each is charged on its node."""
        answer = np.zeros(len(pods))
        kinds = self._kind[pods]
        for kind in np.unique(kinds).tolist():
            if kind >= 0:
                rows = kinds == kind
                answer[rows] = self._table(kind)[nodes[rows]]
        return np.where(nodes == self._home[pods], self._own[pods], answer)

    def _table(self, kind: int) -> FloatArray:
        if kind not in self._tables:
            self._tables[kind] = self._charges(int(np.argmax(self._kind == kind)))
        return self._tables[kind]
