"""A term made of parts; each part knows one sort of preference and adds its own cost."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.locality.traffic_kernel import TrafficKernel
from rescheduler.policies.locality.traffic_term import TrafficTerm


class TermPart(Protocol):
    """One sort of preference over some pods of a snapshot.

    `source` is the pod's node in the working copy, which the whole term keeps.
    """

    def cost(self) -> float:
        """Its share of the term's cost, in badly placed pods."""
        ...

    def worst(self) -> float:
        """The highest that its cost could be."""
        ...

    def members(self) -> IntArray:
        """The pods whose move could change its cost."""
        ...

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of its cost if the pod moved from `source` to each of the k nodes."""
        ...

    def gain_bound(self, pod: int, source: int) -> float:
        """At most how much moving the pod could lower its cost, wherever it went."""
        ...

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        ...

    def partners(self, pod: int) -> IntArray:
        """The pods, it among them, whose bounds may be others once this one has moved."""
        ...

    def findings(self) -> Iterator[Finding]:
        """Why its cost is what it is; they sum to it."""
        ...


class LocalityTerm:
    """The sum of its parts.

    movable: (pods,) which pods the policy may move. The bound of each pod is kept until a move
    changes what it rests on.
    """

    def __init__(
        self,
        parts: Sequence[TermPart],
        node: IntArray,
        movable: BoolArray,
        warnings: Sequence[Problem] = (),
    ) -> None:
        self._node = node.copy()
        self._movable = movable & (node >= 0)
        self._warnings = tuple(warnings)
        self._bound = np.full(len(node), np.nan)
        self.parts = tuple(parts)
        self._has = np.zeros((len(parts), len(node)), dtype=np.bool_)
        for number, part in enumerate(parts):
            self._has[number, part.members()] = True
        self._members = np.flatnonzero(self._has.any(axis=0)).astype(np.int32)

    def cost(self) -> float:
        """Badly placed pods, over all parts."""
        return max(0.0, float(sum(part.cost() for part in self.parts)))

    def worst(self) -> float:
        """The sum of what each part could cost."""
        return float(sum(part.worst() for part in self.parts))

    def scope(self) -> int:
        """How many pods have a preference."""
        return len(self._members)

    def candidates(self) -> IntArray:
        """The pods that may move and whose move could lower the cost."""
        free = self._members[self._movable[self._members]]
        pods: IntArray = free[self.bounds(free) > 1e-12]
        return pods

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower the cost, wherever it went."""
        unknown = np.unique(pods[np.isnan(self._bound[pods])])
        self._bound[unknown] = 0.0
        for part, has in zip(self.parts, self._has, strict=True):
            concerned = unknown[has[unknown]]
            nodes = self._node[concerned].tolist()
            for pod, source in zip(concerned.tolist(), nodes, strict=True):
                self._bound[pod] += part.gain_bound(pod, source)
        bounds: FloatArray = self._bound[pods]
        return bounds

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        total = np.zeros(len(nodes))
        source = int(self._node[pod])
        for part in self._parts_of(pod):
            total += part.deltas(pod, source, nodes)
        return total

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        for part in self._parts_of(shift.pod):
            part.commit(shift)
            self._bound[part.partners(shift.pod)] = np.nan

    def partners(self, pods: IntArray) -> IntArray:
        """The pods that may gain more by moving once any of these has moved, in any part."""
        partners = [part.partners(pod) for pod in pods.tolist() for part in self._parts_of(pod)]
        return np.unique(np.concatenate([pods, *partners])).astype(np.int32)

    def findings(self) -> Iterator[Finding]:
        """The findings of every part."""
        for part in self.parts:
            yield from part.findings()

    def kernel(self) -> TrafficKernel | None:
        """The traffic alone, where a host is the only level: then it is a sum over nodes."""
        traffic = self.parts[0] if len(self.parts) == 1 else None
        if not isinstance(traffic, TrafficTerm):
            return None
        return traffic.kernel(self._node, self._movable)

    def warnings(self) -> tuple[Problem, ...]:
        """Which data the term lacked, or could not use."""
        return self._warnings

    def _parts_of(self, pod: int) -> Iterator[TermPart]:
        """The parts whose cost a move of the pod could change."""
        return (self.parts[number] for number in np.flatnonzero(self._has[:, pod]).tolist())
