"""What moving a pod costs its users, in pods: 1.0 is a plain pod.

disruption = clamp(1 + deletion cost / 2^27 + priority / 2^25, 0.1, 10) + replicas + start + work

The clamped part is Karpenter's eviction cost (pkg/utils/disruption/disruption.go), with a floor
above zero so that no pod moves for free. The rest is ours: what the Ready replicas that stay
behind lose (1 / ready - 0.1, for fewer than ten), how long a replacement takes to be Ready (up to
1.0 at ten minutes, or where it is not known), and the hours of work that start again (up to 2.0).
A pod that is not Ready serves nobody: of it the replicas and the start count nothing.
"""

from dataclasses import dataclass

from rescheduler.kube import annotations
from rescheduler.kube.objects import ObjectMeta, Pod
from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.restart_cost import RestartCost
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.ready_times import ReadyTimes, Usual
from rescheduler.planning.limits.restart import (
    MOST_WORK_SECONDS,
    own_start,
    restart_cost,
    works,
)

_LEAST, _MOST = 0.1, 10.0
_LONG_START_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Shared:
    """What like pods share.

    usual: of their workload. above: the annotated objects above them. ready: how many pods of their
    workload are. works: whether work of theirs is lost. base, lost: what that costs.
    """

    usual: Usual
    above: tuple[ObjectMeta, ...]
    ready: int
    works: bool
    base: float
    lost: float


class Disruptions(dict[int, float]):
    """Pod to the disruption of moving it, in pods, each worked out when it is first needed."""

    def __init__(self, snapshot: Snapshot, eligibility: Eligibility, history: History) -> None:
        super().__init__()
        self._snapshot = snapshot
        self._eligibility = eligibility
        self._ready_times = ReadyTimes(history)
        self._shared: dict[int, _Shared] = {}

    def __missing__(self, pod: int) -> float:
        pod_object, shared = self._snapshot.pods[pod], self._shared_of(pod)
        cost = self[pod] = disruption_cost(pod_object, shared.ready, self.restart(pod))
        return cost

    def learn(self, pods: IntArray) -> None:
        """Work out those of the pods that are not known yet, what like pods share only once."""
        snapshot, shared = self._snapshot, self._shared
        for pod, kin in zip(pods.tolist(), snapshot.pod_kin[1][pods].tolist(), strict=True):
            if pod in self:
                continue
            common = shared.get(kin) or self._shared_of(pod)
            pod_object, usual = snapshot.pods[pod], common.usual.seconds
            if common.works:
                self[pod] = disruption_cost(pod_object, common.ready, self.restart(pod))
                continue
            seconds = own_start(pod_object) if usual is None else usual
            serves = pod_object.ready if usual is not None or seconds is None else True
            self[pod] = common.base + common.lost + _start(seconds) if serves else common.base

    def restart(self, pod: int) -> RestartCost:
        """The part of it that starts again, as reports show it."""
        pod_object, shared = self._snapshot.pods[pod], self._shared_of(pod)
        return restart_cost(pod_object, self._snapshot.taken, shared.usual, shared.above)

    def _shared_of(self, pod: int) -> _Shared:
        """What pods like this one share."""
        kin = int(self._snapshot.pod_kin[1][pod])
        if kin not in self._shared:
            pod_object, workload = self._snapshot.pods[pod], int(self._snapshot.pod_workload[pod])
            has_workload = workload >= 0
            uid = self._snapshot.workloads[workload].uid if has_workload else ""
            above = tuple(o for o in self._eligibility.owners_of(pod) if o.annotations)
            ready = self._eligibility.ready(workload) if has_workload else 1
            self._shared[kin] = _Shared(
                self._ready_times.usual(uid),
                above,
                ready,
                works=works(pod_object, above),
                base=_base(pod_object),
                lost=_replica_loss(ready),
            )
        return self._shared[kin]


def disruption_cost(pod: Pod, ready: int, restart: RestartCost) -> float:
    """The disruption of moving this pod, in pods, above zero.

    ready: how many pods of its workload are Ready, this one included.
    """
    cost = _base(pod)
    if pod.ready:
        cost = cost + _replica_loss(ready) + _start(restart.readySeconds)
    return cost + min(restart.workSeconds or 0.0, MOST_WORK_SECONDS) / 3600.0


def _base(pod: Pod) -> float:
    deletion = _deletion_cost(pod) if pod.metadata.annotations else 0
    base = 1.0 + deletion / 2**27 + pod_priority(pod.spec) / 2**25
    return min(max(base, _LEAST), _MOST)


def _replica_loss(ready: int) -> float:
    """What the replicas that stay behind lose."""
    return max(0.0, 1.0 / max(ready, 1) - 0.1)


def _start(seconds: float | None) -> float:
    """What the way to Ready costs; None: it is not known how long that takes."""
    return 1.0 if seconds is None else min(seconds / _LONG_START_SECONDS, 1.0)


def _deletion_cost(pod: Pod) -> int:
    """The annotation as Kubernetes reads it: an int32, 0 where it cannot be read."""
    text = (pod.metadata.annotations or {}).get(annotations.DELETION_COST, "0")
    try:
        value = int(text)
    except ValueError:
        return 0
    return value if -(2**31) <= value < 2**31 else 0
