"""Pods, their owners and their landings, as files refer to them."""

from rescheduler.model.move import Landing
from rescheduler.model.plan import LandingShare, OwnerRef, PodRef
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


def landing_shares(snapshot: Snapshot, landing: Landing) -> list[LandingShare]:
    """A landing by the names of its nodes, the likeliest first."""
    return [
        LandingShare(node=snapshot.nodes[node].metadata.name, probability=probability)
        for node, probability in zip(
            landing.nodes.tolist(), landing.probabilities.tolist(), strict=True
        )
    ]
