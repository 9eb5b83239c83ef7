"""Workloads: the top owner of a pod, found through its chain of controllers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rescheduler.kube.controllers import MOST_OWNERS, Controller
from rescheduler.kube.objects import OwnerReference, Pod


@dataclass(frozen=True, slots=True)
class Workload:
    """The top owner of some pods.

    controller_kind: the kind that replaces a pod (ReplicaSet where the top is a Deployment).
    replicas: how many pods the owner wants now, None where we do not know the kind.
    ready: pods the owner counts as Ready, None where we do not know the kind or it does not say.
    rolling: whether a rollout is under way (or the owner has not seen its newest generation).
    chain_is_complete: whether every link of the chain was found.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    controller_kind: str
    controller_uid: str
    replicas: int | None = None
    ready: int | None = None
    rolling: bool = False
    chain_is_complete: bool = True

    @property
    def key(self) -> str:
        """`kind/namespace/name`, as reports write it."""
        return f"{self.kind}/{self.namespace}/{self.name}"


def resolve(
    pods: Sequence[Pod], controllers: Iterable[Controller]
) -> tuple[list[Workload], list[int]]:
    """The workloads of these pods, and for each pod the index of its workload or -1.

    A bare pod has none. Pods of one Deployment share one workload, whichever ReplicaSet made them.
    """
    by_uid = {controller.metadata.uid: controller for controller in controllers}
    updated = _updated_sets(pods, by_uid)
    workloads: list[Workload] = []
    of_controller: dict[str, int] = {}
    of_top: dict[tuple[str, str], int] = {}
    of_owners: dict[int, int] = {}  # pods of one owner share the list of owners
    answer: list[int] = []
    for pod in pods:
        owners = id(pod.metadata.ownerReferences)
        if owners in of_owners:
            answer.append(of_owners[owners])
            continue
        reference = pod.controller
        if reference is None:
            of_owners[owners] = -1
            answer.append(-1)
            continue
        index = of_controller.get(reference.uid)
        if index is None:
            workload = _top(pod.metadata.namespace, reference, by_uid, updated)
            key = (workload.uid, workload.controller_kind)
            index = of_top.get(key, -1)
            if index < 0:
                index = len(workloads)
                workloads.append(workload)
                of_top[key] = index
            of_controller[reference.uid] = index
        of_owners[owners] = index
        answer.append(index)
    return workloads, answer


def _updated_sets(pods: Sequence[Pod], by_uid: dict[str, Controller]) -> set[str]:
    """UIDs of the StatefulSets whose pods all have the new template, though the status lags.

    The controller lets `currentRevision` follow only where it rolls out by itself: with OnDelete it
    stays behind for ever (completeRollingUpdate in pkg/controller/statefulset).
    A pod below a partition is made from the old template.
    """
    updated_uids = {
        uid
        for uid, controller in by_uid.items()
        if controller.kind == "StatefulSet"
        and controller.status.currentRevision != controller.status.updateRevision
        and (controller.status.updatedReplicas or 0) >= controller.status.replicas
        and not controller.spec.partition
    }
    for pod in pods if updated_uids else ():
        owner = pod.controller
        if owner is not None and owner.uid in updated_uids:
            revision = (pod.metadata.labels or {}).get("controller-revision-hash")
            if revision != by_uid[owner.uid].status.updateRevision:
                updated_uids.discard(owner.uid)
    return updated_uids


def _top(
    namespace: str, reference: OwnerReference, by_uid: dict[str, Controller], updated: set[str]
) -> Workload:
    controller = by_uid.get(reference.uid)
    top = controller
    seen = {reference.uid}
    while top is not None and len(seen) < MOST_OWNERS:
        above = top.metadata.controller
        if above is None or above.uid in seen or above.uid not in by_uid:
            break
        seen.add(above.uid)
        top = by_uid[above.uid]
    if top is None or controller is None:
        return Workload(
            kind=reference.kind,
            namespace=namespace,
            name=reference.name,
            uid=reference.uid,
            controller_kind=reference.kind,
            controller_uid=reference.uid,
            chain_is_complete=False,
        )
    return Workload(
        kind=top.kind,
        namespace=namespace,
        name=top.metadata.name,
        uid=top.metadata.uid,
        controller_kind=reference.kind,
        controller_uid=reference.uid,
        replicas=top.wanted,
        ready=_ready(top),
        rolling=_is_rolling(top, updated),
    )


def _ready(top: Controller) -> int | None:
    if top.kind == "DaemonSet":
        return top.status.numberReady
    if top.kind == "Job":
        return top.status.ready
    return top.status.readyReplicas or 0


def _is_rolling(top: Controller, updated: set[str]) -> bool:
    """Whether a Deployment or StatefulSet is between two templates.

    A Deployment is stable when all its replicas are updated; a StatefulSet when its current and
    update revision agree, or it is among the updated ones. Missing (not Ready) replicas alone are
    not a rollout.
    """
    if top.metadata.generation > top.status.observedGeneration > 0:
        return True
    if top.kind == "Deployment":
        return (top.status.updatedReplicas or 0) < top.wanted or top.status.replicas > top.wanted
    if top.kind == "StatefulSet":
        behind = top.status.currentRevision != top.status.updateRevision
        return bool(top.status.updateRevision) and behind and top.metadata.uid not in updated
    return False
