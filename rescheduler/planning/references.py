"""Pods and their owners, as files refer to them."""

from rescheduler.model.plan import OwnerRef, PodRef
from rescheduler.model.snapshot import Snapshot


def pod_ref(snapshot: Snapshot, pod: int) -> PodRef:
    """The pod, pinned by its UID and version."""
    metadata = snapshot.pods[pod].metadata
    return PodRef(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resourceVersion=metadata.resourceVersion,
    )


def owner_ref(snapshot: Snapshot, pod: int) -> OwnerRef | None:
    """The pod's workload and the controller that would replace it; None for a bare pod."""
    index = int(snapshot.pod_workload[pod])
    controller = snapshot.pods[pod].controller
    if index < 0 or controller is None:
        return None
    workload = snapshot.workloads[index]
    return OwnerRef(
        kind=workload.kind,
        name=workload.name,
        uid=workload.uid,
        controllerKind=controller.kind,
        controllerUid=controller.uid,
    )
