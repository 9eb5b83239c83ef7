"""Which nodes would accept the pods of a workload: what makes a domain worth counting.

This is not the scheduler model. Spreading needs to know only which domains a workload may use at
all: those with a node that is Ready, not cordoned, and that the pods select and tolerate. Whether
there is room is asked where a landing is predicted.
"""

import msgspec
import numpy as np

from rescheduler.model.objects import (
    LabelSelectorRequirement,
    Node,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)
from rescheduler.model.readings import BoolArray
from rescheduler.model.selectors import satisfies
from rescheduler.model.snapshot import Snapshot

_encode = msgspec.json.Encoder(order="deterministic").encode


class Acceptance:
    """Answers, per shape of pod, which nodes of a snapshot accept it; each shape is judged once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes
        self._usable = np.fromiter(
            (node.ready and not node.spec.unschedulable for node in snapshot.nodes),
            dtype=np.bool_,
            count=len(snapshot.nodes),
        )
        self._shape_of_spec: dict[int, bytes] = {}
        self._by_shape: dict[bytes, BoolArray] = {}

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
        if shape not in self._by_shape:
            self._by_shape[shape] = self._judge(spec)
        return self._by_shape[shape]

    def _judge(self, spec: PodSpec) -> BoolArray:
        affinity = spec.affinity.nodeAffinity if spec.affinity else None
        required = affinity and affinity.requiredDuringSchedulingIgnoredDuringExecution
        answer = self._usable.copy()
        for index in np.flatnonzero(answer):
            node = self._nodes[index]
            labels = node.metadata.labels or {}
            answer[index] = (
                all(labels.get(key) == value for key, value in (spec.nodeSelector or {}).items())
                and all(tolerated(taint, spec.tolerations) for taint in node.spec.taints or ())
                and (
                    not required
                    or any(_holds(term, node) for term in required.nodeSelectorTerms or ())
                )
            )
        return answer


def tolerated(taint: Taint, tolerations: list[Toleration] | None) -> bool:
    """Whether a pod with these tolerations may be placed on a node with this taint.

    Source: component-helpers scheduling/corev1 Toleration.ToleratesTaint, Kubernetes 1.36.
    """
    if taint.effect not in ("NoSchedule", "NoExecute"):
        return True
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


def _holds(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.matchExpressions and not term.matchFields:
        return False
    labels = node.metadata.labels or {}
    fields = {"metadata.name": node.metadata.name}
    return _all(term.matchExpressions, labels) and _all(term.matchFields, fields)


def _all(requirements: list[LabelSelectorRequirement] | None, values: dict[str, str]) -> bool:
    return all(satisfies(each, values) for each in requirements or ())
