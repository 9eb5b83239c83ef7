"""Whether the kubelets where a replacement may land would admit it: code FEA007.

kube-scheduler does not know NUMA zones. A pod that lands where no zone holds it is bound, then
refused by the kubelet (TopologyAffinityError), and its controller tries again at once, perhaps
for ever and on the same node (kubernetes/kubernetes#84869). The topology manager's policies
`restricted` and `single-numa-node` refuse what they cannot align
(pkg/kubelet/cm/topologymanager/policy_*.go); the memory manager refuses what no
zones hold under any policy (pkg/kubelet/cm/memorymanager/policy_static.go, Allocate).
"""

import numpy as np

from rescheduler.kubelet.kubelet_states import KubeletStates
from rescheduler.kubelet.pod_wants import pod_wants
from rescheduler.kubelet.zone_allocation import ZoneAllocation
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.model.problem import Problem

_TOPOLOGIES = "NodeResourceTopology"
_TOLERATED = 0.01
"""The probability of a refusal that is taken for none: with it a loop cannot last."""


class KubeletAdmission:
    """Kubelets' NUMA admission on the working copy, as far as NodeResourceTopology reports it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._allocation = ZoneAllocation(snapshot) if snapshot.topologies else None
        self._snapshot = snapshot
        unread = _TOPOLOGIES in snapshot.unread
        self._unread = snapshot.served.get(_TOPOLOGIES, "") if unread else ""

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        if self._allocation is not None:
            self._allocation.commit(shift)

    def rejects(self, pod: int, source: int, node: int) -> bool:
        """Whether the kubelet of this node would or may refuse the pod, now in the working copy."""
        if self._allocation is None or node == source:
            return False
        return bool(self._allocation.refusals(pod, np.array([node], dtype=np.int32))[0])

    def rejection_mask(self, pod: int, source: int, nodes: IntArray) -> BoolArray:
        """(k,) the same as `rejects` for each of these nodes."""
        if self._allocation is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        answer: BoolArray = self._allocation.refusals(pod, nodes) & (nodes != source)
        return answer

    def refusal(self, pod: int, source: int, landing: Landing) -> Problem | None:
        """FEA007 where the replacement may land on a node that would not admit it, or may not.

        Nothing certain is known of a node whose NodeResourceTopology disagrees with its pods or
        cannot be read. If its kubelet refuses what it cannot align, it counts as refusing.
        """
        if self._unread and pod_wants(self._snapshot.next_pods.replacement(pod).spec).any:
            said = f"NodeResourceTopology was not read, as {self._unread}"
            return Problem("FEA007", f"whether a NUMA zone holds it is not known: {said}")
        if self._allocation is None:
            return None
        rejected = self._allocation.refusals(pod, landing.nodes) & (landing.nodes != source)
        if float(landing.probabilities[rejected].sum()) <= _TOLERATED:
            return None
        kubelets = self._allocation.kubelets
        reliable = np.array([not kubelets.doubtful(node) for node in landing.nodes.tolist()])
        causes = []
        if (rejected & reliable).any():
            causes.append(
                f"{self._describe_nodes(landing, rejected & reliable)}, where no NUMA zone "
                "that is free holds "
                "it: kubelet would refuse it, and its controller try again"
            )
        if (rejected & ~reliable).any():
            causes.append(self._doubt(kubelets, landing, rejected & ~reliable))
        return Problem(code="FEA007", message=f"it may land {'; or '.join(causes)}")

    def _describe_nodes(self, landing: Landing, which: BoolArray) -> str:
        """The chance of these nodes of the landing, and their names."""
        chance = float(landing.probabilities[which].sum())
        names = [self._names[node] for node in landing.nodes[which].tolist()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"({chance:.0%}) on {', '.join(names[:3])}{more}"

    def _doubt(self, kubelets: KubeletStates, landing: Landing, which: BoolArray) -> str:
        """Why the kubelets of these nodes may refuse it, for the likeliest of them."""
        first = int(landing.nodes[which][0])
        example = f"on {self._names[first]} " if which.sum() > 1 else ""
        return (
            f"{self._describe_nodes(landing, which)}, whose NodeResourceTopology cannot be "
            "relied on "
            f"({example}{kubelets.odd[first]}), and its kubelet's policy is "
            f"{kubelets.policies[first]}: it may refuse the pod, and its controller try again"
        )
