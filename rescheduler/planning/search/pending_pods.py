"""Pending pods that would take the room a replacement counts on (GRD008)."""

from datetime import timedelta
from functools import cached_property

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.pod_state import pod_priority, to_be_placed
from rescheduler.model.move import Landing
from rescheduler.model.problem import Problem
from rescheduler.model.readings import BoolArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.model import SchedulerModel

_LATE = timedelta(minutes=10)
"""kube-scheduler tries each pod again after five (pkg/scheduler/backend/queue, Kubernetes 1.36)."""


class Waiting:
    """The Pending pods of one snapshot, and the nodes that are feasible for them now.

    A move is refused where a Pending pod of the same or a higher priority could be placed on the
    pod's own node or on one where it may land: both wait for the same room, so the landing cannot
    be predicted. A Pending pod that fits nowhere holds nothing: a move takes no room from it, and
    real clusters always have one. One whose landing cannot be predicted may go wherever it has
    the resources, and one that may preempt anywhere. Pods that are gated or being deleted do not
    wait for room.

    A pod of the same priority that is still Pending after a while is not placed for a reason that
    is not known here, or by a scheduler that nobody runs: it holds only where there is no room for
    it beside the replacement. Else one small pod would hold all moves of a cluster for good.
    """

    def __init__(self, snapshot: Snapshot, scheduler: SchedulerModel) -> None:
        self._snapshot = snapshot
        self._scheduler = scheduler

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
        found = (
            (priority, index, self._feasible(index)) for (priority, _), index in chosen.items()
        )
        return sorted(
            (group for group in found if group[2].any()),
            key=lambda group: (-group[0], self._snapshot.pods[group[1]].key),
        )

    def _feasible(self, pod: int) -> BoolArray:
        """(nodes,) where the Pending pod could be placed, as far as that is known."""
        feasible = self._scheduler.feasible(pod)
        if feasible.any():
            return feasible
        refusal = self._scheduler.landing(pod).refusal
        if refusal is None:
            return feasible
        if refusal.code == "FEA009":
            return np.ones(len(feasible), dtype=np.bool_)
        return self._scheduler.room(pod)

    def wanted(self, pod: int) -> BoolArray:
        """(nodes,) where a Pending pod could take the room that this pod's replacement needs."""
        mine = pod_priority(self._snapshot.pods[pod].spec)
        answer = np.zeros(len(self._snapshot.nodes), dtype=np.bool_)
        late: list[int] = []
        for priority, index, feasible in self._groups:
            if priority > mine or (priority == mine and not self._late(index)):
                answer |= feasible
            elif priority == mine:
                late.append(index)
        return answer | self._crowded(pod, mine) if late else answer

    def _late(self, pod: int) -> bool:
        """Whether it waits for longer than a scheduler needs that has room for it."""
        made = self._snapshot.pods[pod].metadata.creationTimestamp
        return made is not None and self._snapshot.taken - made > _LATE

    def _crowded(self, pod: int, priority: int) -> BoolArray:
        """(nodes,) without room for this pod beside the most that any late pod asks for there.

        Where it is now it has what it needs.
        """
        some, most = self._late_pods[priority]
        state, here = self._scheduler.occupancy, self._snapshot.pod_node[pod]
        free = state.allocatable - state.requested - most
        slots = state.slots - state.pods - 1 - (np.arange(len(some)) != here)
        crowded = slots < 0
        for name, amount in state.incoming(self._snapshot.pods[pod]).plain.items():
            if name in state.index:
                asked = np.full(len(some), amount)
                asked[here] = 0
                crowded |= free[state.index[name]] < asked
        answer: BoolArray = some & crowded
        return answer

    @cached_property
    def _late_pods(self) -> dict[int, tuple[BoolArray, Int64Array]]:
        """Priority to the nodes for late pods, and (resources, nodes) the most one asks there."""
        state = self._scheduler.occupancy
        found: dict[int, tuple[BoolArray, Int64Array]] = {}
        for priority, index, feasible in self._groups:
            if self._late(index):
                some, most = found.setdefault(
                    priority, (np.zeros_like(feasible), np.zeros_like(state.allocatable))
                )
                some |= feasible
                for name, amount in state.incoming(self._snapshot.pods[index]).plain.items():
                    if name in state.index:
                        row = most[state.index[name]]
                        np.maximum(row, np.where(feasible, amount, 0), out=row)
        return found

    def refusal(self, pod: int, landing: Landing) -> Problem | None:
        """GRD008, naming the Pending pod of the highest priority that is in the way, or None."""
        mine = pod_priority(self._snapshot.pods[pod].spec)
        nodes = np.append(landing.nodes, self._snapshot.pod_node[pod])
        nodes = nodes[self.wanted(pod)[nodes]]
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
