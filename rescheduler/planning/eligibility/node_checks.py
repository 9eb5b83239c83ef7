"""Whether a node may be left, and whether a replacement may go there: ELG020, ELG025, FEA016."""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property

import numpy as np

from rescheduler.kube.objects import Node, Pod
from rescheduler.kube.pods.tolerations import evicting_taint
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.platform_checks import PlatformChecks
from rescheduler.policies.limits import Limits


def refuse_node(node: Node, limits: Limits, now: datetime) -> Problem | None:
    """ELG020: whether the node is stable and nobody else is draining it."""
    name = node.metadata.name
    if not node.ready:
        return Problem(code="ELG020", message=f"node {name} is not Ready")
    if node.spec.unschedulable or node.metadata.deletionTimestamp is not None:
        return Problem(code="ELG020", message=f"node {name} is unschedulable or being deleted")
    if mark := limits.leaving_marks.first_mark(node):
        return Problem(code="ELG020", message=f"node {name} is about to go: it has {mark}")
    born = node.metadata.creationTimestamp
    if born is None or now - born < limits.minNodeAge:
        age = "an unknown time" if born is None else f"{(now - born).total_seconds():.0f} s"
        least = limits.minNodeAge.total_seconds()
        return Problem(code="ELG020", message=f"node {name} has lived {age} of {least:.0f} s")
    return None


def refuse_arrival(node: Node, limits: Limits) -> Problem | None:
    """ELG020: whether something says that no pod should be sent to the node, though it stays."""
    mark = limits.avoided_marks.first_mark(node)
    if not mark:
        return None
    return Problem(code="ELG020", message=f"node {node.metadata.name} is avoided: it has {mark}")


def refuse_execution(pod: Pod, node: Node) -> Problem | None:
    """ELG020: whether the node evicts the pod by itself, for a taint with effect NoExecute."""
    key = evicting_taint(node.spec.taints, pod.spec.tolerations)
    if not key:
        return None
    return Problem(
        code="ELG020",
        message=f"node {node.metadata.name} has taint {key} (NoExecute), "
        "which the pod does not tolerate for good",
    )


class NodeChecks:
    """The nodes of one snapshot, as places to leave and to go to.

    back_off: why arrivals at the node of that name have gone wrong again and again, or None.
    """

    def __init__(
        self, snapshot: Snapshot, limits: Limits, back_off: Callable[[str], Problem | None]
    ) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._back_off = back_off
        self._platforms = PlatformChecks(snapshot)
        self._nodes: dict[int, Problem | None] = {}
        self._avoided: dict[int, BoolArray] = {}

    def node(self, node: int) -> Problem | None:
        """Why this node may be neither left nor counted on (ELG020, ELG025), or None."""
        if node not in self._nodes:
            node_object = self._snapshot.nodes[node]
            self._nodes[node] = refuse_node(
                node_object, self._limits, self._snapshot.taken
            ) or self._back_off(node_object.metadata.name)
        return self._nodes[node]

    def destination(self, node: int) -> Problem | None:
        """Why no replacement may be sent to this node, nor be counted on to go there, or None."""
        return self.node(node) or refuse_arrival(self._snapshot.nodes[node], self._limits)

    def stay(self, pod: int, node: int) -> Problem | None:
        """Why this pod, on this node or bound for it, cannot be counted on to stay, or None."""
        return self.node(node) or refuse_execution(
            self._snapshot.pods[pod], self._snapshot.nodes[node]
        )

    def arrival(self, pod: int, node: int) -> Problem | None:
        """FEA016, FEA017: why this pod's replacement may not go to this node, or None."""
        refusal = self.destination(node) or refuse_execution(
            self._snapshot.pods[pod], self._snapshot.nodes[node]
        )
        if refusal is not None:
            return Problem("FEA016", refusal.message)
        return self._platforms.refusal(pod, node)

    @cached_property
    def unstable(self) -> BoolArray:
        """(nodes,) the nodes that `node` refuses."""
        count = len(self._snapshot.nodes)
        return np.array([self.node(node) is not None for node in range(count)], dtype=np.bool_)

    @cached_property
    def avoided(self) -> BoolArray:
        """(nodes,) the nodes that `destination` refuses: `unstable` ones, and more."""
        count = len(self._snapshot.nodes)
        refused = [self.destination(node) is not None for node in range(count)]
        return np.array(refused, dtype=np.bool_)

    @cached_property
    def calm(self) -> BoolArray:
        """(nodes,) the nodes that refuse no pod that is on them."""
        answer = ~self.unstable
        answer[self._executing] = False
        return answer

    def avoided_for(self, pod: int) -> BoolArray:
        """(nodes,) the nodes where `arrival` refuses this pod's replacement."""
        avoided, foreign = self._unsafe_nodes(pod), self._platforms.foreign(pod)
        return avoided if foreign is None else avoided | foreign

    def _unsafe_nodes(self, pod: int) -> BoolArray:
        """(nodes,) the `avoided` nodes, and those that would evict this pod for a taint."""
        pod_object = self._snapshot.pods[pod]
        avoided = self._avoided.get(id(pod_object.spec))  # the snapshot keeps every spec alive
        if avoided is None:
            avoided = self.avoided
            for node in self._executing:
                if refuse_execution(pod_object, self._snapshot.nodes[node]) is not None:
                    avoided = avoided.copy() if avoided is self.avoided else avoided
                    avoided[node] = True
            self._avoided[id(pod_object.spec)] = avoided
        return avoided

    @cached_property
    def _executing(self) -> list[int]:
        """The nodes with a taint that evicts some pods."""
        return [
            number
            for number, node in enumerate(self._snapshot.nodes)
            if any(taint.effect == "NoExecute" for taint in node.spec.taints or ())
        ]
