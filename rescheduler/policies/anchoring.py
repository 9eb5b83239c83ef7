"""Anchoring: pods that want to be near certain nodes, such as those that hold their data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.finding import Finding
from rescheduler.model.move import Shift
from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.model.wording import agreed, counted


@dataclass(frozen=True, slots=True)
class Anchor:
    """Some pods, all bound to nodes, and how far each node is from what they want.

    distances: (nodes,) 0 to 1. weight: what one pod costs at distance 1. shares: of how many wishes
    of each pod this is one.
    """

    pods: IntArray
    distances: FloatArray
    weight: float
    subject: str
    wanted: str
    code: str = "LOC003"
    shares: int = 1


class Anchoring:
    """All anchors of a policy on one snapshot: each pod costs the distance of its node."""

    def __init__(self, anchors: Sequence[Anchor], node: IntArray) -> None:
        self.anchors = tuple(anchors)
        self._node: dict[int, int] = {}
        self._of_pod: dict[int, list[int]] = {}
        self._least = [float(anchor.distances.min(initial=1.0)) for anchor in anchors]
        for number, anchor in enumerate(anchors):
            for pod in anchor.pods.tolist():
                self._node[pod] = int(node[pod])
                self._of_pod.setdefault(pod, []).append(number)

    def cost(self) -> float:
        """The distances of all pods from their anchors."""
        return float(sum(self._costs(number).sum() for number in range(len(self.anchors))))

    def worst(self) -> float:
        """Every pod at distance 1 from each of its anchors."""
        return float(sum(len(anchor.pods) * anchor.weight for anchor in self.anchors))

    def members(self) -> IntArray:
        """Every pod with an anchor."""
        return np.array(sorted(self._of_pod), dtype=np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number in self._of_pod[pod]:
            anchor = self.anchors[number]
            total += anchor.weight * (anchor.distances[nodes] - anchor.distances[source])
        return total

    def bound(self, pod: int, source: int) -> float:
        """The way to the nearest node there is."""
        return sum(
            self.anchors[number].weight
            * (float(self.anchors[number].distances[source]) - self._least[number])
            for number in self._of_pod[pod]
        )

    def commit(self, shift: Shift) -> IntArray:
        """Make the move in the working copy; only the pod itself has another bound now."""
        self._node[shift.pod] = shift.destination
        return np.array([shift.pod], dtype=np.int32)

    def findings(self) -> Iterator[Finding]:
        """One finding for each anchor that some of its pods are far from."""
        for number, anchor in enumerate(self.anchors):
            costs = self._costs(number)
            far = costs > 1e-12
            if far.any():
                yield Finding(
                    code=anchor.code,
                    subject=anchor.subject,
                    cost=float(costs.sum()),
                    message=f"{int(far.sum())} of {counted(len(far), 'pod')} "
                    f"{agreed(int(far.sum()), 'is', 'are')} away from {anchor.wanted}, "
                    f"at a mean distance of {costs[far].mean() / anchor.weight:.2f}",
                    pods=tuple(anchor.pods[far].tolist()),
                    aspect=f"{anchor.wanted}, one of {anchor.shares}",
                )

    def _costs(self, number: int) -> FloatArray:
        """(pods of the anchor,) what each of them costs."""
        anchor = self.anchors[number]
        nodes = [self._node[pod] for pod in anchor.pods.tolist()]
        costs: FloatArray = anchor.weight * anchor.distances[nodes]
        return costs
