"""The gangs of a snapshot: which pods belong together, how many of them must run, who says so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.controllers import MOST_OWNERS, Controller, Owner
from rescheduler.kube.gang_marks import (
    INDEXED,
    KUEUE,
    QUEUE,
    WORKLOADS,
    GangMark,
    GangObject,
    has_scheduling_group,
    kueue_marked,
    marks,
)
from rescheduler.kube.objects import Pod


class Gang(NamedTuple):
    """Which gang it is. name: `namespace/name`. mark: the label, annotation or field of it."""

    name: str
    mark: str


@dataclass(frozen=True, slots=True)
class _Membership:
    """What one pod says of its gang. marks: all of its own. minimum, kueue: as in `Facts`.

    workload: the UID of Kueue's Workload for it, or "".
    """

    gang: Gang
    marks: tuple[Gang, ...]
    minimum: int | None
    kueue: bool
    workload: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a gang.

    members: its pods, ascending: all that have not ended, also Pending ones.
    minimum: how many of them must run; None: all that there are.
    kueue: whether Kueue starts and stops it.
    entangled: whether some of its pods, and not just all of them, are another gang too, or a part
    of one; then nothing can be moved that would not move a part of a gang. The Indexed Jobs of a
    JobSet are no others: all pods of each are among its own.
    workload: the Workload of Kueue that stands for exactly these pods, where there is one.
    """

    members: IntArray
    minimum: int | None
    kueue: bool
    entangled: bool = False
    workload: GangObject | None = None


class Gangs:
    """Finds the gang of any pod. What pods of one template share is worked out once."""

    def __init__(
        self,
        pods: Sequence[Pod],
        controllers: Iterable[Controller],
        objects: Iterable[GangObject],
        unread: Iterable[str] = (),
        owners: Iterable[Owner] = (),
    ) -> None:
        """objects: the PodGroups and Workloads that were read. unread: kinds that were not.

        owners: what may be above the controllers.
        """
        self._without_workloads = WORKLOADS in unread
        self._pods = pods
        self._controllers = {controller.metadata.uid: controller for controller in controllers}
        self._owners: dict[str, Owner] = {owner.metadata.uid: owner for owner in owners}
        self._owners |= self._controllers
        self._objects: dict[tuple[str, str, str], GangObject] = {}
        self._workloads: dict[str, GangObject] = {}  # of Kueue, by the UID of what they are for
        self._sharing: set[str] = set()  # Workloads that are not the only one for something
        for gang_object in objects:
            if gang_object.group == KUEUE:
                for owner in gang_object.metadata.ownerReferences or ():
                    other = self._workloads.setdefault(owner.uid, gang_object)
                    if other is not gang_object:
                        self._sharing |= {other.metadata.uid, gang_object.metadata.uid}
                    self._workloads[owner.uid] = gang_object
            else:
                key = (gang_object.group, gang_object.metadata.namespace, gang_object.metadata.name)
                self._objects[key] = gang_object
        self._known: dict[tuple[object, ...], _Membership | None] = {}

    def gang_of(self, pod: int) -> Gang | None:
        """The gang of this pod, or None."""
        membership = self._membership(pod)
        return None if membership is None else membership.gang

    def facts(self, gang: Gang) -> Facts:
        """All that is known of a gang of this snapshot."""
        return self._facts[gang]

    @cached_property
    def _facts(self) -> dict[Gang, Facts]:
        """Where the pods of a gang differ in what they say of it, the most cautious holds."""
        members: dict[Gang, list[int]] = {}
        said: dict[Gang, set[_Membership]] = {}
        marked: dict[Gang, list[int]] = {}
        queued: dict[str, list[int]] = {}
        for pod in range(len(self._pods)):
            membership = self._membership(pod)
            if membership is not None:
                members.setdefault(membership.gang, []).append(pod)
                said.setdefault(membership.gang, set()).add(membership)
                queued.setdefault(membership.workload, []).append(pod)
                for mark in membership.marks:
                    marked.setdefault(mark, []).append(pod)
        workloads = {
            workload.metadata.uid: workload
            for workload in self._workloads.values()
            if workload.metadata.uid not in self._sharing
        }
        answer: dict[Gang, Facts] = {}
        for gang, pods in members.items():
            minima = [item.minimum for item in said[gang]]
            stated_minima = [minimum for minimum in minima if minimum is not None]
            uids = {item.workload for item in said[gang]}
            whole = len(uids) == 1 and queued[min(uids)] == pods
            answer[gang] = Facts(
                np.array(pods, dtype=np.int32),
                max(stated_minima) if len(stated_minima) == len(minima) else None,
                any(item.kueue for item in said[gang]),
                any(_entangles(marked[m], pods, m) for item in said[gang] for m in item.marks),
                workloads.get(min(uids)) if whole else None,
            )
        return answer

    def owner_uids(self, pod: Pod) -> list[str]:
        """UIDs of the pod's controllers from below, also of the first one that is not known."""
        answer: list[str] = []
        reference = pod.controller
        while reference is not None and reference.uid not in answer and len(answer) < MOST_OWNERS:
            answer.append(reference.uid)
            owner = self._owners.get(reference.uid)
            reference = None if owner is None else owner.metadata.controller
        return answer

    def _membership(self, pod: int) -> _Membership | None:
        metadata, spec = self._pods[pod].metadata, self._pods[pod].spec
        # The snapshot keeps all of these alive, so an id stands for one object.
        key = (
            metadata.namespace,
            id(metadata.labels),
            id(metadata.annotations),
            id(metadata.ownerReferences),
            id(spec) if has_scheduling_group(spec) else 0,
        )
        if key not in self._known:
            self._known[key] = self._find(self._pods[pod])
        return self._known[key]

    def _find(self, pod: Pod) -> _Membership | None:
        owner = pod.controller
        own_marks = list(marks(pod, None if owner is None else self._controllers.get(owner.uid)))
        if not own_marks and not self._workloads and not self._without_workloads:
            return None
        chain = self.owner_uids(pod)
        workload = next((self._workloads[uid] for uid in chain if uid in self._workloads), None)
        if workload is not None and not own_marks and workload.minimum != 1:
            own_marks = [GangMark(f"Workload of {KUEUE}", workload.metadata.name)]
        owners = [self._owners[uid] for uid in chain if uid in self._owners]
        if not own_marks and self._without_workloads and _may_be_queued(pod, owners):
            top = owners[-1].metadata if owners else pod.metadata
            own_marks = [GangMark(QUEUE, top.name)]
        if not own_marks:
            return None
        own = tuple(Gang(f"{pod.metadata.namespace}/{mark.name}", mark.what) for mark in own_marks)
        return _Membership(
            own[0],
            own,
            self._minimum(pod, own_marks),
            workload is not None or kueue_marked(pod, owners),
            "" if workload is None else workload.metadata.uid,
        )

    def _minimum(self, pod: Pod, own_marks: Iterable[GangMark]) -> int | None:
        """The most that any of the marks asks for; None as soon as one asks for all."""
        answer = 0
        for mark in own_marks:
            least = mark.minimum
            if mark.group:
                described = self._objects.get((mark.group, pod.metadata.namespace, mark.name))
                least = None if described is None else described.minimum
            if least is None:
                return None
            answer = max(answer, least)
        return answer


def _may_be_queued(pod: Pod, owners: Iterable[Owner]) -> bool:
    """Whether Kueue may run it: any Job, as with `manageJobsWithoutQueueName` nothing else says so.

    owners: those of the pod that are known.
    """
    owner = pod.controller
    return kueue_marked(pod, owners) or (owner is not None and owner.kind == "Job")


def _entangles(marked: list[int], pods: list[int], mark: Gang) -> bool:
    """Whether the pods with this mark are neither just those of the gang nor a Job inside of it."""
    if marked == pods:
        return False
    return mark.mark != INDEXED or not set(pods).issuperset(marked)
