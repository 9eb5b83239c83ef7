"""Marks of gangs: PodGroups, Workloads, labels and annotations that make pods members.

Sources: PodGroup of scheduling.k8s.io v1alpha2 (Kubernetes 1.36), v1alpha3 and v1beta1 (1.37), of
scheduling.x-k8s.io/v1alpha1 (coscheduling), of scheduling.volcano.sh/v1beta1 and of
scheduling.run.ai/v2alpha2 (KAI Scheduler); Workload of kueue.x-k8s.io v1beta1 and v1beta2; the
labels of LeaderWorkerSet, JobSet, the Kubeflow trainer (MPIJob, PyTorchJob), KubeRay, Grove and
Koordinator; the annotations of YuniKorn; the gangs of the Job controller.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from rescheduler.kube.annotations import YUNIKORN_APP
from rescheduler.kube.controllers import Controller, Owner
from rescheduler.kube.objects import Base, Condition, ObjectMeta, Pod, PodSpec
from rescheduler.kube.owner_references import LONGEST_NAME

NATIVE = "scheduling.k8s.io"
SCHEDULING_GROUP = "spec.schedulingGroup"
"""The mark of a gang that kube-scheduler itself places."""
WORKLOAD_REF = "spec.workloadRef"
"""That mark in Kubernetes 1.35, whose Workload is not read: the gang needs all its pods."""
COSCHEDULING = "scheduling.x-k8s.io"
VOLCANO = "scheduling.volcano.sh"
KAI = "scheduling.run.ai"
KUEUE = "kueue.x-k8s.io"
INDEXED = "completionMode: Indexed"
"""The mark of a gang that the Job controller makes: all pods of one Job, and no other."""

WORKLOADS = f"Workload.{KUEUE}"
"""The kind that says which gangs Kueue runs, as a snapshot names it where it cannot be read."""
_KUEUE_GROUP = "kueue.x-k8s.io/pod-group-name"
_KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
QUEUE = "kueue.x-k8s.io/queue-name"
"""The label with which a job asks Kueue to start and stop it."""
_MANAGED = "kueue.x-k8s.io/managed"
"""The label that Kueue gives to pods that it admits one by one, such as those of a Deployment."""
_LWS = "leaderworkerset.sigs.k8s.io/name"
_LWS_GROUP = "leaderworkerset.sigs.k8s.io/group-index"
_LWS_SIZE = "leaderworkerset.sigs.k8s.io/size"
_KOORDINATOR = "gang.scheduling.koordinator.sh/name"
_KOORDINATOR_LEAST = "gang.scheduling.koordinator.sh/min-available"
_YUNIKORN = "yunikorn.apache.org/task-group-name"
_YUNIKORN_GROUPS = "yunikorn.apache.org/task-groups"
"""On the first pod of an application, which asks YuniKorn to place all of it or nothing."""
_YUNIKORN_APPS = (YUNIKORN_APP, "applicationId", "spark-app-selector")
"""The labels, and the first an annotation too, that name the application of a pod.
Source: GetApplicationIDFromPod of yunikorn-k8shim."""
_COUNT = re.compile(r"[1-9][0-9]{0,8}")


class GangPolicy(Base):
    """spec.schedulingPolicy.gang of a PodGroup of Kubernetes."""

    minCount: int = 0


class SchedulingPolicy(Base):
    """spec.schedulingPolicy of a PodGroup of Kubernetes: one of the two."""

    basic: dict[str, Any] | None = None
    gang: GangPolicy | None = None


class PodSet(Base):
    """spec.podSets[] of a Workload of Kueue."""

    name: str = ""
    count: int = 0
    minCount: int | None = None
    topologyRequest: Any = None


class GangSpec(Base):
    """spec of a PodGroup of any API group, or of a Workload of Kueue: the union of their fields."""

    schedulingPolicy: SchedulingPolicy | None = None
    schedulingConstraints: dict[str, Any] | None = None
    disruptionMode: Any = None
    priority: int | None = None
    preemptionPolicy: str | None = None
    resourceClaims: list[dict[str, Any]] | None = None
    parentCompositePodGroupName: str | None = None
    minMember: int | None = None
    minTaskMember: dict[str, int] | None = None
    minSubGroup: int | None = None
    subGroups: list[dict[str, Any]] | None = None
    podSets: list[PodSet] | None = None
    active: bool | None = None
    queueName: str | None = None
    maximumExecutionTimeSeconds: int | None = None


class PodSetAssignment(Base):
    """status.admission.podSetAssignments[] of a Workload of Kueue."""

    flavors: dict[str, str] | None = None
    topologyAssignment: Any = None
    delayedTopologyRequest: str | None = None


class Admission(Base):
    """status.admission of a Workload of Kueue."""

    clusterQueue: str = ""
    podSetAssignments: list[PodSetAssignment] | None = None


class GangStatus(Base):
    """status of a Workload of Kueue; nothing of it is read for other kinds."""

    conditions: list[Condition] | None = None
    admission: Admission | None = None
    admissionChecks: list[Any] | None = None
    clusterName: str | None = None


class GangObject(Base):
    """A PodGroup or a Workload; `apiVersion` is filled in where it is listed."""

    apiVersion: str = ""
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: GangSpec = msgspec.field(default_factory=GangSpec)
    status: GangStatus = msgspec.field(default_factory=GangStatus)

    @property
    def group(self) -> str:
        """Its API group."""
        return self.apiVersion.partition("/")[0]

    @property
    def minimum(self) -> int | None:
        """How many pods of the group must run; None where that is not known, so that all must.

        Minima of parts of a group (Volcano's tasks, KAI's subgroups) are not followed, nor where
        kube-scheduler keeps a group in one topology domain.
        """
        spec = self.spec
        if self.group == NATIVE:
            policy = spec.schedulingPolicy
            if policy is None or not _one_by_one(spec.disruptionMode):
                return None
            if spec.schedulingConstraints or spec.parentCompositePodGroupName:
                return None
            if policy.gang is not None:
                return policy.gang.minCount if policy.gang.minCount > 0 else None
            return 0 if policy.basic is not None else None
        if self.group == KUEUE:
            return sum(pod_set.count for pod_set in spec.podSets or ()) or None
        if spec.minTaskMember or spec.subGroups or spec.minSubGroup is not None:
            return None
        return spec.minMember if spec.minMember is not None and spec.minMember > 0 else None


def _one_by_one(mode: Any) -> bool:
    """Whether a PodGroup says that its pods may be disrupted alone: by a word, or since 1.37."""
    return mode in (None, "Pod") or (isinstance(mode, dict) and mode.keys() == {"single"})


@dataclass(frozen=True, slots=True)
class GangMark:
    """One thing that makes a pod a member of a gang.

    what: the label, annotation or field. name: of the gang, in the pod's namespace.
    group: the API group of the PodGroup that describes it; "" where there is none, and the gang
    stands and falls with all its pods. minimum: where the pod itself says how many it needs.
    """

    what: str
    name: str
    group: str = ""
    minimum: int | None = None


_VOLCANO_JOB = "volcano.sh/job-name"
_VOLCANO_GROUPS = frozenset({"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"})
"""Annotations of Volcano with the name of the PodGroup, which is not that of its Job."""

_Source = Literal["label", "annotation"]

_KNOWN: tuple[tuple[_Source, str, str], ...] = (
    ("label", "scheduling.x-k8s.io/pod-group", COSCHEDULING),
    ("label", "pod-group.scheduling.sigs.k8s.io", COSCHEDULING),  # before v0.24, and Koordinator
    ("annotation", "pod-group.scheduling.sigs.k8s.io/name", COSCHEDULING),
    ("annotation", "scheduling.k8s.io/group-name", VOLCANO),  # and kube-batch
    ("annotation", "scheduling.volcano.sh/group-name", VOLCANO),
    ("annotation", "pod-group-name", KAI),
    ("label", "runai/pod-group-name", KAI),
    ("annotation", _KOORDINATOR, ""),
    ("label", _LWS, ""),
    ("label", "jobset.sigs.k8s.io/jobset-name", ""),
    ("label", _KUEUE_GROUP, ""),
    ("annotation", _KUEUE_TOTAL, ""),
    ("label", "training.kubeflow.org/job-name", ""),  # MPIJob, PyTorchJob and the others
    ("label", "ray.io/cluster", ""),
    ("label", _VOLCANO_JOB, ""),
    ("label", "grove.io/podgang", ""),
    ("annotation", "batch.x-k8s.io/pod-group", ""),
    ("annotation", _YUNIKORN, ""),
    ("annotation", _YUNIKORN_GROUPS, ""),
)
"""The marks in the order in which they name a gang: what the scheduler goes by comes first."""
_KEYS = frozenset(key for _, key, _ in _KNOWN)


def has_scheduling_group(spec: PodSpec) -> bool:
    """Whether kube-scheduler itself places pods of this spec as members of a group."""
    return bool(spec.schedulingGroup or spec.workloadRef)


def marks(pod: Pod, controller: Controller | None) -> Iterator[GangMark]:
    """All that makes this pod a member of a gang; the first of them names it.

    controller: what makes the pod, where it is known.
    """
    reference = pod.spec.schedulingGroup
    if reference:
        yield GangMark(SCHEDULING_GROUP, str(reference.get("podGroupName") or "?"), NATIVE)
    reference = pod.spec.workloadRef
    if reference:
        parts = (reference.get(key) for key in ("name", "podGroup", "podGroupReplicaKey"))
        yield GangMark(WORKLOAD_REF, "/".join(str(part) for part in parts if part) or "?")
    labels, notes = pod.metadata.labels or {}, pod.metadata.annotations or {}
    if not (_KEYS.isdisjoint(labels) and _KEYS.isdisjoint(notes)):
        for source, key, group in _KNOWN:
            name = (labels if source == "label" else notes).get(key)
            if name is not None and (key != _VOLCANO_JOB or not _VOLCANO_GROUPS & notes.keys()):
                yield _read(key, name, group, pod)
    if controller is not None and _is_indexed(controller):
        yield GangMark(
            INDEXED,
            controller.metadata.name,
            minimum=controller.spec.parallelism,
        )


def admitted_alone(pod: Pod) -> bool:
    """Whether the pod's label says that Kueue admits it, by itself or with its gang."""
    return (pod.metadata.labels or {}).get(_MANAGED) == "true"


def kueue_marked(pod: Pod, above: Iterable[Owner]) -> bool:
    """Whether labels or annotations say that Kueue starts and stops the gang of this pod.

    above: the owners of the pod that are known.
    """
    labels, notes = pod.metadata.labels or {}, pod.metadata.annotations or {}
    queued = any(QUEUE in (owner.metadata.labels or {}) for owner in above)
    return queued or QUEUE in labels or _KUEUE_GROUP in labels or _KUEUE_TOTAL in notes


def _read(key: str, name: str, group: str, pod: Pod) -> GangMark:
    name = name[:LONGEST_NAME]  # an annotation may be longer than any name
    labels, notes = pod.metadata.labels or {}, pod.metadata.annotations or {}
    if key == _LWS:
        # Each replica of a LeaderWorkerSet is a gang: a leader and its workers.
        index = labels.get(_LWS_GROUP)
        group_name = name if index is None else f"{name}/{index}"
        return GangMark(key, group_name, group, _count(notes, _LWS_SIZE))
    if key == _KOORDINATOR:
        return GangMark(key, name, group, _count(notes, _KOORDINATOR_LEAST))
    if key in (_YUNIKORN, _YUNIKORN_GROUPS):
        named = (label.get(app) for app in _YUNIKORN_APPS for label in (notes, labels))
        return GangMark(key, next(filter(None, named), name)[:LONGEST_NAME], group)
    if key == _KUEUE_GROUP:
        return GangMark(key, name, group, _count(notes, _KUEUE_TOTAL))
    return GangMark(key, name, group)


def _count(notes: dict[str, str], key: str) -> int | None:
    text = notes.get(key, "")
    return int(text) if _COUNT.fullmatch(text) else None


def _is_indexed(controller: Controller) -> bool:
    """Whether the Job controller takes the Job for a gang.

    Source: IsGangSchedulingCandidate in pkg/controller/job/util.
    """
    spec = controller.spec
    several = spec.parallelism is not None and spec.parallelism > 1
    return (
        controller.kind == "Job"
        and spec.completionMode == "Indexed"
        and several
        and spec.completions == spec.parallelism
    )
