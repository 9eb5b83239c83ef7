"""Pods with GPUs and NICs of two NUMA zones."""

from typing import Any

from rescheduler.kube.dra.devices import (
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.numa.policy import Numa
from tests.cluster import deployment, node, snapshot
from tests.policies.device_drawing import (
    GPU,
    NIC,
    classes,
    held,
    offered,
    on_zones,
    template,
    user,
)

PAIR = template("pair", gpu=1, nic=1)
EVEN = (0, 0, 1, 1)
"""Four devices, two on each NUMA node."""


def numa(**spec: Any) -> Numa:
    return Numa(name="zones", **{"nodes": {"all": True}, "match": {"all": True}, **spec})


def both(on: str, gpus: tuple[int | None, ...] = EVEN, nics: tuple[int | None, ...] = EVEN) -> Any:
    """The slices of a node with GPUs and NICs on these NUMA nodes."""
    return [offered(on, GPU, *on_zones("gpu", *gpus)), offered(on, NIC, *on_zones("nic", *nics))]


def cluster(
    slices: list[ResourceSlice],
    pods: list[Pod],
    claims: list[ResourceClaim],
    templates: tuple[ResourceClaimTemplate, ...] = (PAIR,),
    **more: Any,
) -> Snapshot:
    names = sorted(
        {str(resource_slice.spec.nodeName) for resource_slice in slices}
        | set(more.pop("beside", ()))
    )
    return snapshot(
        [node(name) for name in names],
        pods,
        controllers=deployment("train", replicas=len(pods)),
        device_classes=classes(),
        resource_slices=slices,
        resource_claims=claims,
        claim_templates=list(templates),
        **more,
    )


def split(*slices: ResourceSlice, more: tuple[Any, ...] = ()) -> Snapshot:
    """p0 on n1 has a GPU of NUMA node 0 and a NIC of 1; `more`: pods with their claims."""
    pods = [user("p0", "n1"), user("p9", "n1"), *(pod for pod, _ in more)]
    claims = [
        held("p0", "n1", "gpu-0", "nic-2"),
        held("p9", "n1", "gpu-1", "nic-1"),
        *(claim for _, claim in more if claim is not None),
    ]
    return cluster([*both("n1"), *slices], pods, claims)
