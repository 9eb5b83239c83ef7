"""Pending pods that would take the capacity that a replacement needs (GRD008)."""

from collections import defaultdict
from datetime import timedelta
from functools import cached_property

import numpy as np

from rescheduler.kube.pods.pod_state import pod_priority, to_be_placed
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing
from rescheduler.model.problem import Problem
from rescheduler.planning.limits.tenants import Tenants
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel

PASSED_OVER = timedelta(minutes=15)
"""A pod that its scheduler has left Pending for so long takes no room: for reasons that cannot be
read, or though it found no node where the model finds some (other plugins wait for more of them).
kube-scheduler tries each pod again after 5 minutes at the latest.

Source: pkg/scheduler/backend/queue/scheduling_queue.go,
DefaultPodMaxInUnschedulablePodsDuration.
"""


class PendingPods:
    """The Pending pods of one snapshot, and the nodes that are feasible for them now.

    A move is refused where a Pending pod of the same or a higher priority could be placed on the
    pod's own node or on one where it may land: both wait for the same room, so the landing cannot
    be predicted. A Pending pod that fits nowhere holds nothing: a move takes no room from it, and
    real clusters always have one. One whose landing cannot be predicted may go wherever it has the
    resources, as far as its own rules admit, until it has been passed over for long; one that may
    preempt, where that would help it. A pod that fits is passed over as long as its scheduler
    reports that it found no node: it takes no room that is there. Pods that are gated or being
    deleted do not wait for room, nor does one that nobody tries to place: anybody may name a
    scheduler that is not there.
    """

    def __init__(self, snapshot: Snapshot, scheduler: SchedulerModel, limits: Limits) -> None:
        self._snapshot = snapshot
        self._scheduler = scheduler
        self._tenants = Tenants(snapshot, limits)

    @cached_property
    def _groups(self) -> list[tuple[int, int, BoolArray]]:
        """Priority, a pod and its feasible nodes: one per owner and priority, highest first."""
        chosen: dict[tuple[int, str], int] = {}
        for index in np.flatnonzero(self._snapshot.pod_node < 0).tolist():
            pod = self._snapshot.pods[index]
            if to_be_placed(pod):
                owner = pod.controller
                key = (pod_priority(pod.spec), owner.uid if owner else pod.metadata.uid)
                other = chosen.get(key)
                if other is None or pod.key < self._snapshot.pods[other].key:
                    chosen[key] = index
        groups = (
            (priority, index, self._feasible(index)) for (priority, _), index in chosen.items()
        )
        return sorted(
            (group for group in groups if group[2].any()),
            key=lambda group: (-group[0], self._snapshot.pods[group[1]].key),
        )

    def _feasible(self, pod: int) -> BoolArray:
        """(nodes,) where the Pending pod could be placed, as far as that is known."""
        feasible = self._scheduler.feasible(pod)
        nothing = np.zeros(len(feasible), dtype=np.bool_)
        passed_over = self._passed_over(pod) and self._unschedulable(pod)
        if feasible.any():
            return nothing if passed_over else feasible
        refusal = self._scheduler.landing(pod).refusal
        if refusal is None:
            return feasible
        if refusal.code == "FEA009":
            return nothing if passed_over else self._scheduler.preemptible(pod)
        unknown = self._snapshot.pods[pod].spec.schedulerName not in self._scheduler.profiles
        if self._passed_over(pod) or (unknown and not self._is_tried(pod)):
            return feasible
        return self._scheduler.room(pod)

    def _passed_over(self, pod: int) -> bool:
        since = self._snapshot.pods[pod].metadata.creationTimestamp
        return since is not None and self._snapshot.taken - since > PASSED_OVER

    def _is_tried(self, pod: int) -> bool:
        """Whether a scheduler that is not declared tries to place the pod, or others like it.

        A scheduler says so in the pod's status. Pods of other tenants that were placed show that
        it is there; one's own may have named their node themselves.
        """
        pod_object = self._snapshot.pods[pod]
        if pod_object.status.nominatedNodeName or self._unschedulable(pod):
            return True
        tenant = self._tenants.tenant_of(pod_object.metadata.namespace)
        return bool(self._serving[pod_object.spec.schedulerName] - {tenant})

    def _unschedulable(self, pod: int) -> bool:
        """Whether a scheduler says that it found no node for it."""
        said = self._snapshot.pods[pod].condition("PodScheduled")
        return said is not None and said.status == "False"

    @cached_property
    def _serving(self) -> defaultdict[str, set[str]]:
        """The tenants that have bound pods, by undeclared scheduler."""
        tenants: defaultdict[str, set[str]] = defaultdict(set)
        profiles = self._scheduler.profiles
        for pod in self._snapshot.pods:
            if pod.node and pod.spec.schedulerName not in profiles:
                tenants[pod.spec.schedulerName].add(self._tenants.tenant_of(pod.metadata.namespace))
        return tenants

    def contested_nodes(self, pod: int) -> BoolArray:
        """(nodes,) where a Pending pod could take the room that this pod's replacement needs."""
        mine = pod_priority(self._snapshot.pods[pod].spec)
        answer = np.zeros(len(self._snapshot.nodes), dtype=np.bool_)
        for priority, _, feasible in self._groups:
            if priority >= mine:
                answer |= feasible
        return answer

    def refusal(self, pod: int, landing: Landing) -> Problem | None:
        """GRD008, naming the Pending pod of the highest priority that is in the way, or None."""
        mine = pod_priority(self._snapshot.pods[pod].spec)
        nodes = np.append(landing.nodes, self._snapshot.pod_node[pod])
        for priority, index, feasible in self._groups:
            if priority < mine:
                return None
            if feasible[nodes].any():
                name = self._snapshot.pods[index].key
                return Problem(
                    code="GRD008",
                    message=f"pod {name} (priority {priority}) is Pending and could take its room",
                )
        return None
