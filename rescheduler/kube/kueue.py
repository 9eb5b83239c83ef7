"""Kueue: its Workloads, their queues, and which Workloads it can stop and start again as a whole.

A Workload that is deleted is made again by Kueue itself: its finalizer holds it until its job has
been suspended, and once no pod of the job is left a new one is made and queued. So nobody has to
come back to resume it. The pods of a plain group would be deleted for good.

Source: pkg/controller/jobframework/reconciler.go (reconcileGenericJob steps 1.1 and 3,
handleJobWithNoWorkload), pkg/controller/jobs/pod/pod_controller.go (Stop), Kueue v0.6 to v0.14.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from rescheduler.kube.gang_marks import GangObject, PodSet, PodSetAssignment
from rescheduler.kube.objects import (
    Base,
    Condition,
    Labels,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
)
from rescheduler.kube.quantity import nanos
from rescheduler.kube.selectors import matches

KUEUE_VERSIONS = ("v1beta2", "v1beta1")
"""The versions of its API that are read, newest first: Kueue 0.15 brought v1beta2, which it stores,
and 0.20 serves v1beta1 no more. What is read of both is the same."""
JOBSETS = "jobset.x-k8s.io/v1alpha2"
RUNNERS = frozenset({("batch/v1", "Job"), (JOBSETS, "JobSet")})
"""Kinds that create all their pods again once they are not suspended any more."""
_RUNNING = ("QuotaReserved", "Admitted")
_NO_TOPOLOGY = frozenset({"podIndexLabel", "subGroupIndexLabel", "subGroupCount"})
"""What a topologyRequest has if none was set: each PodSet gets one.
Source: topologyRequestBuilder in pkg/controller/jobframework/tas.go."""
_HASH = 5
_PREFIX = 252 - _HASH


class ResourceQuota(Base):
    """spec.resourceGroups[].flavors[].resources[] of a ClusterQueue."""

    name: str = ""
    nominalQuota: str | float = "0"


class FlavorQuotas(Base):
    """spec.resourceGroups[].flavors[]."""

    name: str = ""
    resources: list[ResourceQuota] | None = None


class ResourceGroup(Base):
    """spec.resourceGroups[]: resources that come in the same flavors."""

    coveredResources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class ClusterQueueSpec(Base):
    """spec of a ClusterQueue; the cohort is `cohortName` since v1beta2."""

    cohort: str = ""
    cohortName: str = ""
    stopPolicy: str = ""
    resourceGroups: list[ResourceGroup] | None = None
    namespaceSelector: LabelSelector | None = None
    admissionChecks: list[str] | None = None
    admissionChecksStrategy: dict[str, object] | None = None


class ResourceUsage(Base):
    """status.flavorsReservation[].resources[]: what admitted Workloads hold of it."""

    name: str = ""
    total: str | float = "0"


class FlavorUsage(Base):
    """status.flavorsReservation[]."""

    name: str = ""
    resources: list[ResourceUsage] | None = None


class ClusterQueueStatus(Base):
    """status of a ClusterQueue; pendingWorkloads: how many wait for its quota."""

    conditions: list[Condition] | None = None
    pendingWorkloads: int = 0
    flavorsReservation: list[FlavorUsage] | None = None


class ClusterQueue(Base):
    """A ClusterQueue: the quota that Workloads are admitted by."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ClusterQueueSpec = msgspec.field(default_factory=ClusterQueueSpec)
    status: ClusterQueueStatus = msgspec.field(default_factory=ClusterQueueStatus)

    @property
    def cohort(self) -> str:
        """The cohort in which it shares its quota, or ""."""
        return self.spec.cohort or self.spec.cohortName

    @property
    def takes_workloads(self) -> bool:
        """Whether it admits anything now: it is Active, and neither stopped nor deleted."""
        gone = self.metadata.deletionTimestamp is not None
        active = holds(self.status.conditions, "Active")
        return active and not gone and self.spec.stopPolicy in ("", "None")

    def takes(self, labels: Labels | None) -> bool:
        """Whether it admits Workloads of a namespace with these labels."""
        return self.takes_workloads and matches(self.spec.namespaceSelector, labels)


class LocalQueueSpec(Base):
    """spec of a LocalQueue."""

    clusterQueue: str = ""
    stopPolicy: str = ""


class LocalQueue(Base):
    """A LocalQueue: where Workloads of a namespace wait."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LocalQueueSpec = msgspec.field(default_factory=LocalQueueSpec)

    @property
    def takes_workloads(self) -> bool:
        """Whether what waits in it may be admitted: it is neither stopped nor deleted."""
        return self.spec.stopPolicy in ("", "None") and self.metadata.deletionTimestamp is None


def holds(conditions: Iterable[Condition] | None, name: str) -> bool:
    """Whether the condition of that type is True."""
    return any(
        condition.type == name and condition.status == "True" for condition in conditions or ()
    )


def waits(workload: GangObject) -> bool:
    """Whether the Workload asks for quota that it does not have, or is about to do so."""
    if workload.spec.active is False or holds(workload.status.conditions, "Finished"):
        return False
    leaves = holds(workload.status.conditions, "Evicted")
    leaves = leaves or workload.metadata.deletionTimestamp is not None
    return leaves or not holds(workload.status.conditions, "Admitted")


def unstoppable(workload: GangObject) -> str:
    """Why Kueue would not stop this Workload and start it again as it is; "" if it would."""
    name = f"Workload {workload.metadata.name}"
    owner, conditions = workload.metadata.controller, workload.status.conditions
    kind = None if owner is None else (owner.apiVersion, owner.kind)
    if kind not in RUNNERS:
        of = "nothing" if owner is None else f"{owner.kind} {owner.name}"
        return f"{name} is run by {of}, and only those of a Job or JobSet come back as they were"
    if workload.metadata.deletionTimestamp is not None or workload.spec.active is False:
        return f"{name} is being stopped already"
    if holds(conditions, "Evicted") or holds(conditions, "Finished"):
        return f"{name} was evicted or has finished"
    if (
        not all(holds(conditions, condition) for condition in _RUNNING)
        or workload.status.admission is None
    ):
        return f"{name} is not admitted"
    if workload.spec.maximumExecutionTimeSeconds is not None:
        return f"{name} has a maximumExecutionTimeSeconds, which would begin again"
    if workload.status.admissionChecks or workload.status.clusterName:
        return f"{name} has admission checks, which would have to pass again"
    if owner is not None and workload.metadata.name not in made_names(owner):
        return f"{name} was not made by Kueue for {owner.kind} {owner.name}, or is elastic"
    if any(pod_set.minCount is not None for pod_set in workload.spec.podSets or ()):
        return f"{name} may be admitted with fewer pods (minCount)"
    if _by_topology(workload):
        return f"{name} is placed by Kueue itself (TopologyAwareScheduling)"
    return ""


def unrepeatable(workload: GangObject) -> str:
    """Why Kueue might not admit the next pod as it did the one of this Workload; "" if it would."""
    name, conditions = f"Workload {workload.metadata.name}", workload.status.conditions
    if workload.metadata.deletionTimestamp is not None or workload.spec.active is False:
        return f"{name} is being stopped"
    if holds(conditions, "Evicted") or not all(
        holds(conditions, condition) for condition in _RUNNING
    ):
        return f"{name} is not admitted"
    if workload.status.admissionChecks or workload.status.clusterName:
        return f"{name} has admission checks, which would have to pass again"
    if _by_topology(workload):
        return f"{name} is placed by Kueue itself (TopologyAwareScheduling)"
    return ""


def was_stopped(workload: GangObject | None, uid: str) -> bool:
    """Whether this reading of the Workload with that UID shows that its deletion took effect."""
    return (
        workload is None
        or workload.metadata.uid != uid
        or workload.metadata.deletionTimestamp is not None
    )


def made_names(owner: OwnerReference) -> set[str]:
    """How Kueue names the Workload that it makes for a job, before and since v0.8.

    Those that somebody else made (prebuilt), and slices of elastic jobs, have other names.
    Source: generateWorkloadName in pkg/controller/jobframework/workload_names.go.
    """
    group = owner.apiVersion.partition("/")[0]
    prefix = f"{owner.kind.lower()}-{owner.name}"[:_PREFIX]
    texts = (
        f"{owner.kind}\n{group}\n{owner.name}",
        f"{owner.kind}\n{group}\n{owner.name}\n{owner.uid}",
    )
    return {f"{prefix}-{_hash(text)}" for text in texts}


def _hash(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_HASH]


def _by_topology(workload: GangObject) -> bool:
    sets: list[PodSet] = workload.spec.podSets or []
    return any(
        not _NO_TOPOLOGY.issuperset(pod_set.topologyRequest or ()) for pod_set in sets
    ) or any(
        assignment.topologyAssignment is not None or assignment.delayedTopologyRequest
        for assignment in _assignments(workload)
    )


def readmission_obstacle(workload: GangObject, queue: ClusterQueue) -> str:
    """Why this ClusterQueue might not admit the Workload again in the flavors it has; "" if so.

    What it holds has to be of the queue's own quota, in the only flavor that there is for it.
    """
    name = f"ClusterQueue {queue.metadata.name}"
    if queue.metadata.deletionTimestamp is not None or not holds(queue.status.conditions, "Active"):
        return f"{name} is not Active"
    if queue.spec.stopPolicy not in ("", "None"):
        return f"{name} admits nothing (stopPolicy {queue.spec.stopPolicy})"
    if queue.spec.admissionChecks or queue.spec.admissionChecksStrategy:
        return f"{name} has admission checks, which would have to pass again"
    assigned = [assignment.flavors or {} for assignment in _assignments(workload)]
    if len(assigned) != len(workload.spec.podSets or ()) or not all(assigned):
        return f"Workload {workload.metadata.name} does not name the flavors of all its pods"
    groups = queue.spec.resourceGroups or []
    for resource, flavor in sorted(
        {pair for assignment in assigned for pair in assignment.items()}
    ):
        offered = [
            flavor
            for group in groups
            if resource in (group.coveredResources or ())
            for flavor in group.flavors or ()
        ]
        if [flavor_quota.name for flavor_quota in offered] != [flavor]:
            return f"{name} has other flavors of {resource} than {flavor}, and may choose another"
        quota = [q.nominalQuota for q in offered[0].resources or () if q.name == resource]
        held = [
            used.total
            for usage in queue.status.flavorsReservation or ()
            if usage.name == flavor
            for used in usage.resources or ()
            if used.name == resource
        ]
        if len(quota) != 1 or len(held) != 1 or nanos(held[0]) > nanos(quota[0]):
            return f"{name} holds more {resource} than its own quota, or does not say how much"
    return ""


def _assignments(workload: GangObject) -> list[PodSetAssignment]:
    admission = workload.status.admission
    return (admission.podSetAssignments if admission else None) or []
