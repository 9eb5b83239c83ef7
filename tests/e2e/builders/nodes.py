"""Nodes as a cloud or a rack of GPU machines gives them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.builders.load import BaseLoad
from tests.e2e.controlplane.versions import KUBERNETES

Manifest = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
RACK = "topology.test/rack"
HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"


def node(
    name: str,
    *,
    zone: str | None = None,
    rack: str | None = None,
    cpu: str | int = 32,
    memory: str = "128Gi",
    gpus: int = 0,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    load: BaseLoad | None = None,
    address: str | None = None,
) -> Manifest:
    """One node with its status, as kubelet would register it; KWOK makes it Ready.

    taints: as `{"key": "gpu", "value": "true", "effect": "NoSchedule"}`.
    address: InternalIP; without one the Cluster gives each node its own.
    """
    own = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if zone is not None:
        own |= {ZONE: zone, REGION: "test"}
    if rack is not None:
        own[RACK] = rack
    resources = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    resources |= {"ephemeral-storage": "500Gi"}
    if gpus:
        resources[GPU] = str(gpus)
        own["nvidia.com/gpu.present"] = "true"
    addresses = [{"type": "Hostname", "address": name}]
    if address is not None:
        addresses.insert(0, {"type": "InternalIP", "address": address})
    notes = {**(load.annotations() if load else {}), **(annotations or {})}
    spec: Manifest = {"taints": [dict(taint) for taint in taints]}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}, "annotations": notes},
        "spec": spec,
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": addresses,
            "nodeInfo": _info(name),
        },
    }


def nodes(
    count: int,
    prefix: str = "n",
    *,
    zones: Sequence[str] = (),
    racks_of: int = 0,
    first: int = 1,
    **options: Any,
) -> list[Manifest]:
    """`count` equal nodes `<prefix><first>`..., zones dealt round robin.

    racks_of: nodes of a zone in one rack (0: no racks). options: passed on to `node`.
    """
    built = []
    for index in range(count):
        zone = zones[index % len(zones)] if zones else None
        rack = None
        if racks_of:
            rack = f"{zone or 'rack'}-{index // max(len(zones), 1) // racks_of}"
        built.append(node(f"{prefix}{first + index}", zone=zone, rack=rack, **options))
    return built


def _info(name: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.1.0",
        "kernelVersion": "6.12.0",
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{KUBERNETES.version}",
        "machineID": name,
        "operatingSystem": "linux",
        "osImage": "Debian GNU/Linux 13",
        "systemUUID": name,
    }
