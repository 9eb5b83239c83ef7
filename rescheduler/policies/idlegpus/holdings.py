"""How many GPUs each pod has to itself."""

import numpy as np

from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.kube.nodes.accelerators import (
    offers,
    part_of_gpu,
    profile_of_all,
    requested_accelerators,
)
from rescheduler.kube.objects import PodSpec
from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.cluster.snapshot import Snapshot


def held_gpus(snapshot: Snapshot) -> FloatArray:
    """(pods,) by the device plugins' resources, or by claims; a partition is a part of one GPU.

    0 for who has none or a share of one, is not bound, or has partitions of unknown size.
    """
    amounts = [_amounts(spec) for spec in snapshot.specs]
    resources = sorted({name for amount in amounts for name in amount})
    of_spec = np.array([[amount.get(name, 0) for name in resources] for amount in amounts], float)
    of_spec = of_spec.reshape(len(amounts), len(resources))
    of_node = np.full((len(snapshot.nodes) + 1, len(resources)), np.nan)  # unbound pods: node -1
    for index, node in enumerate(snapshot.nodes):
        labels = node.metadata.labels
        for offer in offers(node.status.allocatable, labels):
            if offer.resource in resources and not offer.shared:
                size = part_of_gpu(offer.profile or profile_of_all(labels))
                of_node[index, resources.index(offer.resource)] = size
    held = np.zeros(len(snapshot.pods))
    some = np.flatnonzero((of_spec > 0).sum(axis=1)[snapshot.pod_spec])
    wanted = of_spec[snapshot.pod_spec[some]]
    sizes = of_node[snapshot.pod_node[some]]
    held[some] = np.where(wanted > 0, wanted * sizes, 0.0).sum(axis=1)
    claimed = ClaimedAccelerators(
        snapshot.resource_slices,
        snapshot.resource_claims,
        snapshot.node_index,
        snapshot.pod_index,
    )
    for pod, gpus in claimed.gpus.items():
        held[pod] = np.maximum(held[pod], gpus)  # NaN if one of both is
    for uuid in claimed.shared:
        held[list(claimed.users.get(uuid, ()))] = 0.0
    return np.nan_to_num(held, nan=0.0)


def _amounts(spec: PodSpec) -> dict[str, int]:
    """The accelerators that a pod's containers ask for, by resource."""
    total: dict[str, int] = {}
    for container in spec.containers:
        if container.resources is not None:
            for name, count in (
                requested_accelerators(container.resources.requests)
                or requested_accelerators(container.resources.limits)
            ).items():
                total[name] = total.get(name, 0) + count
    return total
