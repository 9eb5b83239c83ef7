"""Taints and tolerations: which nodes a pod must shun, and which it had better.

Source: api core/v1/toleration.go and component-helpers scheduling/corev1/helpers.go.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from rescheduler.kube.arrays import BoolArray, IntArray
from rescheduler.kube.objects import Node, Taint, Toleration

HARD = ("NoSchedule", "NoExecute")
"""The effects that keep a pod from being placed (DoNotScheduleTaintsFilterFunc)."""
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""What a pod has to tolerate to be placed on a node with `spec.unschedulable`."""
SOFT_TAINT = Taint(key="rescheduler.io/relieved", value="fence.until", effect="PreferNoSchedule")
"""What nodes bear while a replacement comes that had better not go there. The value is another one
each time, so that nobody tolerates it by its value."""

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration covers the taint. The operators Lt and Gt are off by default: False.

    An empty key means every key, whatever the operator; the API server takes it with Exists
    alone.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == (taint.value or "")
    return toleration.operator == "Exists"


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration] | None) -> bool:
    """Whether one of these tolerations covers the taint, whatever its effect."""
    return any(tolerates(toleration, taint) for toleration in tolerations or ())


def evicting_taint(taints: Sequence[Taint] | None, tolerations: Sequence[Toleration] | None) -> str:
    """The key of a NoExecute taint that evicts the pod at once or after a while; "" without one.

    Of the tolerations of a taint the first counts, and its tolerationSeconds.
    Source: pkg/controller/tainteviction/taint_eviction.go, processPodOnNode, and
    pkg/apis/core/v1/helper/helpers.go, GetMatchingTolerations.
    """
    for taint in taints or ():
        if taint.effect == "NoExecute":
            first = next(
                (toleration for toleration in tolerations or () if tolerates(toleration, taint)),
                None,
            )
            if first is None or first.tolerationSeconds is not None:
                return taint.key
    return ""


class NodeTaints:
    """The nodes by their taints: nodes with equal taints are evaluated together.

    Answers of `tolerated_nodes` and `count_soft_taints` are kept for good and shared: do not write
    into them.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        kinds: dict[tuple[tuple[str, str, str], ...], int] = {}
        self._taints: list[list[Taint]] = []
        self._kind = np.zeros(len(nodes), dtype=np.int32)
        for number, node in enumerate(nodes):
            taints = node.spec.taints or []
            signature = tuple((taint.key, taint.value or "", taint.effect) for taint in taints)
            kind = kinds.setdefault(signature, len(kinds))
            if kind == len(self._taints):
                self._taints.append(taints)
            self._kind[number] = kind
        self._passing: dict[bytes, BoolArray] = {}
        self._disliked: dict[bytes, IntArray] = {}

    def nodes_with_taint(self, taint: Taint) -> BoolArray:
        """(nodes,) which nodes bear a taint of this key and effect; none bears two of them."""
        kinds = [
            any(
                (other_taint.key, other_taint.effect) == (taint.key, taint.effect)
                for other_taint in taints
            )
            for taints in self._taints
        ]
        answer: BoolArray = np.array(kinds, dtype=np.bool_)[self._kind]
        return answer

    def count_untolerated(
        self, tolerations: Sequence[Toleration] | None, wanted: Callable[[Taint], bool]
    ) -> IntArray:
        """(nodes,) how many of the wanted taints of each node are not tolerated."""
        counts = [
            sum(wanted(taint) and not is_tolerated(taint, tolerations) for taint in taints)
            for taints in self._taints
        ]
        answer: IntArray = np.array(counts, dtype=np.int32)[self._kind]
        return answer

    def tolerated_nodes(self, tolerations: Sequence[Toleration] | None) -> BoolArray:
        """(nodes,) the nodes without a NoSchedule or NoExecute taint that is not tolerated."""
        key = _encode(tolerations or [])
        nodes = self._passing.get(key)
        if nodes is None:
            shunned = self.count_untolerated(tolerations, lambda taint: taint.effect in HARD)
            nodes = self._passing[key] = shunned == 0
        return nodes

    def count_soft_taints(self, tolerations: Sequence[Toleration] | None) -> IntArray:
        """(nodes,) how many PreferNoSchedule taints of each node are not tolerated."""
        key = _encode(tolerations or [])
        counts = self._disliked.get(key)
        if counts is None:
            counts = self._disliked[key] = self.count_untolerated(
                tolerations, lambda taint: taint.effect == "PreferNoSchedule"
            )
        return counts
