"""Pods, their owners and their landings, as files refer to them."""

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PodRef
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.planning.evaluation.evaluation import Choice


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


def stop_ref(snapshot: Snapshot, pod: int) -> StopRef | None:
    """What stops and starts the whole gang of this pod.

    None where its pods are evicted, or it is not moved: Kueue runs it, and its Workload is unknown.
    """
    gang = snapshot.gangs.gang_of(pod)
    facts = None if gang is None else snapshot.gangs.facts(gang)
    if facts is None or not facts.kueue or facts.workload is None:
        return None
    metadata = facts.workload.metadata
    return StopRef(name=metadata.name, uid=metadata.uid)


def steered_ref(snapshot: Snapshot, choice: Choice | None) -> Steered | None:
    """How a replacement is steered, by the names of the nodes; None: not at all."""
    if choice is None:
        return None
    names = [node.metadata.name for node in snapshot.nodes]
    tainted = choice.steer.tainted
    return Steered(
        by=choice.by,
        strength=choice.strength,
        nodes=[names[node] for node in choice.nodes.tolist()],
        # By name, so that the plan's digest does not hang on the order in which nodes were listed.
        shunned=[] if tainted is None else sorted(names[n] for n in np.flatnonzero(tainted)),
    )


def landing_shares(snapshot: Snapshot, landing: Landing) -> list[LandingShare]:
    """A landing by the names of its nodes, the likeliest first."""
    return [
        LandingShare(node=snapshot.nodes[node].metadata.name, probability=probability)
        for node, probability in zip(
            landing.nodes.tolist(), landing.probabilities.tolist(), strict=True
        )
    ]
