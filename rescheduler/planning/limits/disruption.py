"""What moving a pod costs its users, in pods: 1.0 is a plain pod.

disruption = clamp(1 + deletion cost / 2^27 + priority / 2^25, 0.1, 10) + replicas + start + work

The clamped part is Karpenter's eviction cost (pkg/utils/disruption/disruption.go), with a floor
above zero so that no pod moves for free. The rest is ours: what the Ready replicas that stay
behind lose (1 / ready - 0.1, for fewer than ten), how long the pod took to become Ready (up to 1.0
at ten minutes), and for a Job the hours of work that start anew (up to 2.0).
A pod that is not Ready serves nobody: of it the replicas and the start count nothing.
"""

from datetime import datetime

from rescheduler.kube import annotations
from rescheduler.kube.objects import Pod
from rescheduler.kube.pod_state import pod_priority
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.eligibility.eligibility import Eligibility

_LEAST, _MOST = 0.1, 10.0
_LONG_START_SECONDS = 600.0
_MOST_HOURS = 2.0


class Disruptions(dict[int, float]):
    """Pod to the disruption of moving it, in pods, each worked out when it is first asked for."""

    def __init__(self, snapshot: Snapshot, eligibility: Eligibility) -> None:
        super().__init__()
        self._snapshot = snapshot
        self._eligibility = eligibility

    def __missing__(self, pod: int) -> float:
        workload = int(self._snapshot.pod_workload[pod])
        ready = self._eligibility.ready(workload) if workload >= 0 else 1
        cost = disruption_cost(self._snapshot.pods[pod], ready, self._snapshot.taken)
        self[pod] = cost
        return cost


def disruption_cost(pod: Pod, ready: int, now: datetime) -> float:
    """The disruption of moving this pod, in pods, above zero.

    ready: how many pods of its workload are Ready, this one included.
    """
    deletion = _deletion_cost(pod) if pod.metadata.annotations else 0
    base = 1.0 + deletion / 2**27 + pod_priority(pod.spec) / 2**25
    cost = min(max(base, _LEAST), _MOST)
    if pod.ready:
        cost += max(0.0, 1.0 / max(ready, 1) - 0.1)
    start = pod.status.startTime or pod.metadata.creationTimestamp
    condition = pod.condition("Ready")
    if start is None:
        return cost + 1.0
    if condition is not None and pod.ready and condition.lastTransitionTime is not None:
        seconds = (condition.lastTransitionTime - start).total_seconds()
        cost += min(max(seconds, 0.0) / _LONG_START_SECONDS, 1.0)
    owner = pod.controller
    if owner is not None and owner.kind == "Job":
        cost += min(max((now - start).total_seconds(), 0.0) / 3600.0, _MOST_HOURS)
    return cost


def _deletion_cost(pod: Pod) -> int:
    """The annotation as Kubernetes reads it: an int32, 0 where it cannot be read."""
    text = (pod.metadata.annotations or {}).get(annotations.DELETION_COST, "0")
    try:
        value = int(text)
    except ValueError:
        return 0
    return value if -(2**31) <= value < 2**31 else 0
