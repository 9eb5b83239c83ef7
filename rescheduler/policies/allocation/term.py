"""The term of Allocation: hinges of what is requested, node by node."""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.allocation.hinge_amounts import Amounts, Hinge, unreadable
from rescheduler.policies.shared.hinges import Hinges
from rescheduler.policies.shared.pods_by_node import OfNodes

_NOTHING = 1e-12


class AllocationTerm:
    """Requests above targets on one snapshot; two nodes change with every move."""

    def __init__(
        self, snapshot: Snapshot, amounts: Amounts, selected: BoolArray, movable: BoolArray
    ) -> None:
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._amounts = amounts
        self._selected = selected & amounts.readable
        self._warnings = unreadable(snapshot, selected & ~amounts.readable)
        scale = np.array([hinge.weight / hinge.unit for hinge in amounts.hinges])
        self._scale = scale * self._selected[:, None]
        self._home, self._node = snapshot.pod_node, snapshot.pod_node.copy()
        self._movable = movable & (self._node >= 0)
        self._parts, self._away = amounts.parts * scale, amounts.away * scale
        slack = np.where(self._selected[:, None], amounts.slack * scale, np.inf)
        self._slack = slack
        self._hinges = self.kernel()
        self._relief = np.maximum(-self._away, 0.0).sum(axis=1)  # by coming, where out of balance
        self._start = self._hinges.cost()

    def cost(self) -> float:
        """Average pods too many, over all nodes."""
        return self._hinges.cost()

    def worst(self) -> float:
        """The cost if all of every node were requested, or the cost now if that is more."""
        return max(float((self._amounts.full * self._scale).sum()), self._start)

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(self._selected.sum())

    def candidates(self) -> IntArray:
        """The pods that may move and whose move could lower the cost."""
        pods = np.flatnonzero(self._movable).astype(np.int32)
        if not self._hinges.cost() > _NOTHING:
            return pods[:0]
        return np.asarray(pods[self.bounds(pods) > _NOTHING], dtype=np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) what leaving saves, and what coming could relieve at most."""
        answer = np.zeros(len(pods))
        placed = self._node[pods] >= 0
        answer[placed] = self._relief[pods[placed]] - self._hinges.departure_deltas(pods[placed])
        return np.maximum(answer, 0.0)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        one = np.array([pod], dtype=np.int32)
        change: FloatArray = self._hinges.arrival_deltas(one, nodes)[0]
        if self._node[pod] >= 0:
            change += self._hinges.departure_deltas(one)[0]
        change[nodes == self._node[pod]] = 0.0
        return change

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._hinges.commit(shift)
        self._node[shift.pod] = shift.destination

    def kernel(self) -> Hinges:
        """The hinges as they are now, of their own."""
        away = None if np.array_equal(self._parts, self._away) else self._away
        return Hinges(self._parts, self._slack, self._node, self._movable, away, self._home)

    def findings(self) -> Iterator[Finding]:
        """One finding for each node and each thing that costs there."""
        over = self._hinges.excess()
        candidates = OfNodes(self.candidates(), self._node)
        for node, number in zip(*np.nonzero(over > _NOTHING), strict=True):
            hinge = self._amounts.hinges[number]
            yield Finding(
                code="ALC002" if hinge.needs else "ALC001",
                subject=f"node {self._names[node]}",
                cost=float(over[node, number]),
                message=_sentence(hinge, float(over[node, number])),
                pods=candidates[int(node)],
                aspect=f"{hinge.resource}/{hinge.needs}" if hinge.needs else hinge.resource,
            )

    def warnings(self) -> tuple[Problem, ...]:
        """The nodes whose annotation cannot be read."""
        return self._warnings


def _sentence(hinge: Hinge, over: float) -> str:
    amount = over * hinge.unit / hinge.weight
    if hinge.needs:
        return (
            f"{hinge.resource} is free for which {amount:.4g} of {hinge.needs} is missing: about "
            f"{over / hinge.weight:.2g} average pods"
        )
    return (
        f"{amount:.4g} more of {hinge.resource} is requested than {hinge.than}: about "
        f"{over / hinge.weight:.2g} average pods"
    )
