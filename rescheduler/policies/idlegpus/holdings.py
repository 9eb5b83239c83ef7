"""How many GPUs each pod has to itself."""

import numpy as np

from rescheduler.kube.accelerators import asked, offers
from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.model.readings import FloatArray
from rescheduler.model.snapshot import Snapshot


def held_gpus(snapshot: Snapshot) -> FloatArray:
    """(pods,) by the device plugins' resources, or by claims; 0 for shares, and where unbound."""
    shared = np.array(
        [
            any(one.shared for one in offers(each.status.allocatable, each.metadata.labels))
            for each in snapshot.nodes
        ]
        + [True],  # an unbound pod has node -1
        np.bool_,
    )
    claimed = ClaimedAccelerators(
        snapshot.resource_slices,
        snapshot.resource_claims,
        snapshot.node_index,
        snapshot.pod_index,
    )
    of_spec = [
        sum(
            sum((asked(each.resources.requests) or asked(each.resources.limits)).values())
            for each in spec.containers
            if each.resources is not None
        )
        for spec in snapshot.specs
    ]
    held = np.array([*of_spec, 0], np.float64)[snapshot.pod_spec]
    for pod, count in claimed.held.items():
        held[pod] = max(held[pod], float(count))
    for uuid in claimed.shared:
        held[list(claimed.users.get(uuid, ()))] = 0.0
    return np.where(shared[snapshot.pod_node], 0.0, held)
