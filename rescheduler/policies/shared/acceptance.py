"""Which nodes would accept a pod, and what they would have against it.

This is not the scheduler model. Policies need to know which nodes a pod selects and tolerates;
whether there is room is asked where a landing is predicted.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from rescheduler.kube.node_labels import NodeLabels
from rescheduler.kube.objects import Node, PodSpec, Taint, Toleration
from rescheduler.model.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.snapshot import Snapshot

_encode = msgspec.json.Encoder(order="deterministic").encode

HARD = ("NoSchedule", "NoExecute")
"""The effects that keep a pod from being placed."""


class Acceptance:
    """Answers, per shape of pod, which nodes of a snapshot accept it; each shape is judged once.

    Answers are shared: do not write into them.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.labels = NodeLabels(snapshot.nodes)
        self.usable: BoolArray = np.fromiter(
            (node.ready and not node.spec.unschedulable for node in snapshot.nodes),
            dtype=np.bool_,
            count=len(snapshot.nodes),
        )
        """(nodes,) Ready and not cordoned."""
        self._taints = _Taints(snapshot.nodes)
        self._shape_of_spec: dict[int, bytes] = {}
        self._nodes: dict[bytes, BoolArray] = {}
        self._selected: dict[bytes, BoolArray] = {}
        self._tolerated: dict[bytes, BoolArray] = {}

    def shape(self, spec: PodSpec) -> bytes:
        """What two specs have in common when they accept the same nodes."""
        # The snapshot keeps every spec alive, so an id stands for one spec.
        shape = self._shape_of_spec.get(id(spec))
        if shape is None:
            affinity = spec.affinity.nodeAffinity if spec.affinity else None
            required = affinity and affinity.requiredDuringSchedulingIgnoredDuringExecution
            shape = _encode((spec.nodeSelector, required, spec.tolerations))
            self._shape_of_spec[id(spec)] = shape
        return shape

    def nodes(self, spec: PodSpec) -> BoolArray:
        """(nodes,) Ready, not cordoned, selected by the pod, and without a taint it must shun."""
        shape = self.shape(spec)
        if shape not in self._nodes:
            self._nodes[shape] = self.usable & self.selected(spec) & self.tolerated(spec)
        return self._nodes[shape]

    def selected(self, spec: PodSpec) -> BoolArray:
        """(nodes,) the nodes that the nodeSelector and the required node affinity accept."""
        affinity = spec.affinity.nodeAffinity if spec.affinity else None
        required = affinity and affinity.requiredDuringSchedulingIgnoredDuringExecution
        key = _encode((spec.nodeSelector, required))
        if key not in self._selected:
            answer = self.labels.having(spec.nodeSelector or {})
            self._selected[key] = answer & self.labels.matching(required) if required else answer
        return self._selected[key]

    def tolerated(self, spec: PodSpec) -> BoolArray:
        """(nodes,) the nodes without a NoSchedule or NoExecute taint that the pod must shun."""
        key = _encode(spec.tolerations)
        if key not in self._tolerated:
            self._tolerated[key] = self.shunned(spec, lambda taint: taint.effect in HARD) == 0
        return self._tolerated[key]

    def shunned(self, spec: PodSpec, counted: Callable[[Taint], bool]) -> IntArray:
        """(nodes,) how many of the counted taints of each node the pod does not tolerate."""
        return self._taints.count(
            lambda taint: counted(taint) and not tolerated(taint, spec.tolerations)
        )

    def preferred(self, spec: PodSpec) -> FloatArray | None:
        """(nodes,) the weight of the preferred node affinity that each node meets; None: no wish.

        Source: pkg/scheduler/framework/plugins/nodeaffinity, Score, Kubernetes 1.36.
        """
        affinity = spec.affinity.nodeAffinity if spec.affinity else None
        terms = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity else None
        if not terms:
            return None
        answer = np.zeros(self.labels.count)
        for each in terms:
            answer += each.weight * self.labels.satisfying(each.preference)
        return answer


class _Taints:
    """The nodes by their taints: nodes with equal taints are judged together."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        kinds: dict[bytes, int] = {}
        self._taints: list[list[Taint]] = []
        self._kind = np.zeros(len(nodes), dtype=np.int32)
        for number, node in enumerate(nodes):
            taints = node.spec.taints or []
            kind = kinds.setdefault(_encode(taints), len(kinds))
            if kind == len(self._taints):
                self._taints.append(taints)
            self._kind[number] = kind

    def count(self, counted: Callable[[Taint], bool]) -> IntArray:
        """(nodes,) how many taints of each node are counted."""
        counts = [sum(map(counted, taints)) for taints in self._taints]
        answer: IntArray = np.array(counts, dtype=np.int32)[self._kind]
        return answer


def tolerated(taint: Taint, tolerations: Sequence[Toleration] | None) -> bool:
    """Whether one of these tolerations covers the taint, whatever its effect.

    Source: component-helpers scheduling/corev1 Toleration.ToleratesTaint, Kubernetes 1.36.
    """
    return any(
        each.effect in ("", taint.effect)
        and each.key in ("", taint.key)
        and (
            each.operator == "Exists"
            or (
                each.operator in ("", "Equal")
                and each.key != ""
                and each.value == (taint.value or "")
            )
        )
        for each in tolerations or ()
    )
