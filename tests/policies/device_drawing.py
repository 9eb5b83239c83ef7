"""Clusters with devices that claims have, for tests of what evaluates them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from rescheduler.kube.dra.devices import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from rescheduler.kube.objects import Pod
from tests.cluster import deployment, pod

GPU, NIC = "gpu.test", "nic.test"
NUMA = "resource.kubernetes.io/numaNode"


def offered(on: str, driver: str, *devices: Mapping[str, Any], part: int = 0) -> ResourceSlice:
    """A slice of a node; each device as its attributes, `name` besides. part: of two, from 1."""
    made = [
        {"name": device["name"], "attributes": {k: v for k, v in device.items() if k != "name"}}
        for device in devices
    ]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 2 if part else 1}
    return msgspec.convert(
        {
            "metadata": {"name": f"{on}-{driver}-{part}"},
            "spec": {"driver": driver, "nodeName": on, "pool": pool, "devices": made},
        },
        ResourceSlice,
    )


def on_zones(kind: str, *zones: int | None, attribute: str = NUMA) -> list[dict[str, Any]]:
    """Devices named `kind-0`, `kind-1`, ... on these NUMA nodes; None has none."""
    return [
        {"name": f"{kind}-{n}", **({} if zone is None else {attribute: {"int": zone}})}
        for n, zone in enumerate(zones)
    ]


def classes() -> list[DeviceClass]:
    """A class for each driver, named like it."""
    return [
        msgspec.convert(
            {
                "metadata": {"name": driver},
                "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
            },
            DeviceClass,
        )
        for driver in (GPU, NIC)
    ]


def template(name: str, common: str = "", **counts: int) -> ResourceClaimTemplate:
    """One claim for so many devices of each class, `gpu=2`. common: an attribute to share."""
    requests = [
        {"name": kind, "exactly": {"deviceClassName": f"{kind}.test", "count": count}}
        for kind, count in counts.items()
    ]
    constraints = [{"matchAttribute": common}] if common else None
    devices = {"requests": requests, "constraints": constraints}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"spec": {"devices": devices}},
        },
        ResourceClaimTemplate,
    )


def user(name: str, on: str = "", claim: str = "pair") -> Pod:
    """A pod of a Deployment that has a claim made from that template."""
    _, owner = deployment("train")
    claims = [{"name": "d", "resourceClaimTemplateName": claim}]
    return pod(name, on, owner=owner, labels={"app": "train"}, resourceClaims=claims)


def held(by: str, on: str, *devices: str) -> ResourceClaim:
    """The allocated claim of a pod: devices such as `gpu-0` and `nic-1` of its node."""
    results = [
        {"driver": f"{device.partition('-')[0]}.test", "pool": on, "device": device}
        for device in devices
    ]
    uid = f"pod-default-{by}"
    return msgspec.convert(
        {
            "metadata": {
                "name": f"{by}-d",
                "namespace": "default",
                "ownerReferences": [{"kind": "Pod", "name": by, "uid": uid}],
            },
            "status": {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [{"resource": "pods", "name": by, "uid": uid}],
            },
        },
        ResourceClaim,
    )
