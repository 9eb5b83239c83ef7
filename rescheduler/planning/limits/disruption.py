"""What moving a pod costs its users, in pods: 1.0 is a plain pod.

disruption = clamp(1 + deletion cost / 2^27 + priority / 2^25, 0.1, 10) + replicas + start + work

The clamped part is Karpenter's eviction cost (pkg/utils/disruption/disruption.go), with a floor
above zero so that no pod moves for free. The rest is ours: what the Ready replicas that stay
behind lose (1 / ready - 0.1, for fewer than ten), how long a replacement takes to be Ready (up to
1.0 at ten minutes, or where it is not known), and the hours of work that start anew (up to 2.0).
A pod that is not Ready serves nobody: of it the replicas and the start count nothing.
"""

from rescheduler.kube import annotations
from rescheduler.kube.objects import ObjectMeta, Pod
from rescheduler.kube.pod_state import pod_priority
from rescheduler.model.history import History
from rescheduler.model.restarting import RestartCost
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.ready_times import ReadyTimes, Usual
from rescheduler.planning.limits.restart import MOST_WORK_SECONDS, restart_cost

_LEAST, _MOST = 0.1, 10.0
_LONG_START_SECONDS = 600.0


class Disruptions(dict[int, float]):
    """Pod to the disruption of moving it, in pods, each worked out when it is first asked for."""

    def __init__(self, snapshot: Snapshot, eligibility: Eligibility, history: History) -> None:
        super().__init__()
        self._snapshot = snapshot
        self._eligibility = eligibility
        self._ready_times = ReadyTimes(history)
        self._shared: dict[int, tuple[Usual, tuple[ObjectMeta, ...]]] = {}

    def __missing__(self, pod: int) -> float:
        workload = int(self._snapshot.pod_workload[pod])
        ready = self._eligibility.ready(workload) if workload >= 0 else 1
        cost = self[pod] = disruption_cost(self._snapshot.pods[pod], ready, self.restart(pod))
        return cost

    def restart(self, pod: int) -> RestartCost:
        """The part of it that starts anew, as reports show it."""
        each = self._snapshot.pods[pod]
        owners = id(each.metadata.ownerReferences)  # pods of one owner share the list of owners
        shared = self._shared.get(owners)
        if shared is None:
            shared = self._shared[owners] = self._evaluate(pod)
        return restart_cost(each, self._snapshot.taken, *shared)

    def _evaluate(self, pod: int) -> tuple[Usual, tuple[ObjectMeta, ...]]:
        """What is usual for the pod's workload, and the annotated objects above the pod."""
        workload = int(self._snapshot.pod_workload[pod])
        uid = self._snapshot.workloads[workload].uid if workload >= 0 else ""
        above = self._eligibility.owners_of(pod)
        return self._ready_times.usual(uid), tuple(each for each in above if each.annotations)


def disruption_cost(pod: Pod, ready: int, restart: RestartCost) -> float:
    """The disruption of moving this pod, in pods, above zero.

    ready: how many pods of its workload are Ready, this one included.
    """
    deletion = _deletion_cost(pod) if pod.metadata.annotations else 0
    base = 1.0 + deletion / 2**27 + pod_priority(pod.spec) / 2**25
    cost = min(max(base, _LEAST), _MOST)
    if pod.ready:
        cost += max(0.0, 1.0 / max(ready, 1) - 0.1)
        seconds = restart.readySeconds
        cost += 1.0 if seconds is None else min(seconds / _LONG_START_SECONDS, 1.0)
    return cost + min(restart.workSeconds or 0.0, MOST_WORK_SECONDS) / 3600.0


def _deletion_cost(pod: Pod) -> int:
    """The annotation as Kubernetes reads it: an int32, 0 where it cannot be read."""
    text = (pod.metadata.annotations or {}).get(annotations.DELETION_COST, "0")
    try:
        value = int(text)
    except ValueError:
        return 0
    return value if -(2**31) <= value < 2**31 else 0
