"""A gang, and the places that it could have."""

import itertools
from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.match import Match
from tests.cluster import controller, deployment, pod, snapshot

GPU = "nvidia.com/gpu"
ROOM: Any = {"namespaces": ["gangs"]}
POLICY = Fragmentation(name="f", match=Match(all=True), resources=[], room=ROOM)
Shape = tuple[int, int, str]
"""How many pods, the GPUs of each, and the pool that they select, if any."""


def asking(before: Snapshot, gangs: dict[str, list[Shape]], kind: str = "Job") -> Snapshot:
    """The cluster with these gangs' pods Pending."""
    pods, owners = [], []
    for name, shapes in gangs.items():
        made = deployment(name, namespace="gangs") if kind == "Deployment" else None
        owner = made[1] if made else controller(kind, name, namespace="gangs")
        owners += list(made) if made else [owner]
        numbers = itertools.count()
        for count, gpus, pool in shapes:
            pods += [
                pod(
                    f"{name}-{next(numbers)}",
                    namespace="gangs",
                    owner=owner,
                    requests={"cpu": "1", GPU: str(gpus)},
                    labels={"app": name},
                    nodeSelector={"pool": pool} if pool else {},
                )
                for _ in range(count)
            ]
    controllers = [*before.controllers, *owners]
    return snapshot(before.nodes, [*before.pods, *pods], controllers=controllers)


def term(before: Snapshot) -> FragmentationTerm:
    made = POLICY.compile(before)
    assert isinstance(made, FragmentationTerm), made
    return made
