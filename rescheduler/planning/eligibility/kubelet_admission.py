"""Whether the kubelets where a replacement may land would admit it: code FEA007.

kube-scheduler does not look at NUMA zones. A pod that lands where no zone holds it is bound, then
refused by the kubelet (TopologyAffinityError), and its controller tries again at once, perhaps
for ever and on the same node (kubernetes/kubernetes#84869).
"""

from rescheduler.model.move import Landing, Shift
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.numa.zone_use import ZoneUse

_TOLERATED = 0.01
"""The probability of a refusal that is taken for none: with it a loop cannot last."""


class Admission:
    """Kubelets' NUMA admission on the working copy, as far as NodeResourceTopology tells of it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._use = ZoneUse(snapshot) if snapshot.topologies else None

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        if self._use is not None:
            self._use.commit(shift)

    def refusal(self, pod: int, source: int, landing: Landing) -> Problem | None:
        """FEA007 where the replacement may land on a node that would not admit it."""
        if self._use is None or self._use.demand_of[pod] < 0:
            return None
        rejected = self._use.rejected(pod, landing.nodes) & (landing.nodes != source)
        chance = float(landing.probabilities[rejected].sum())
        if chance <= _TOLERATED:
            return None
        names = [self._names[node] for node in landing.nodes[rejected].tolist()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return Problem(
            code="FEA007",
            message=f"it may land ({chance:.0%}) on {', '.join(names[:3])}{more}, where no NUMA "
            "zone that is free holds it: kubelet would refuse it, and its controller try again",
        )
