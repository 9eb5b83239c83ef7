"""Storage objects for tests, from Kubernetes' own JSON."""

from typing import Any

import msgspec

from rescheduler.kube.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

HOST = "kubernetes.io/hostname"


def on_host(host: str) -> dict[str, Any]:
    """A node affinity that leaves one node."""
    expression = {"key": HOST, "operator": "In", "values": [host]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def unbound(name: str, size: str = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    """A claim of class `late` that waits for its pod."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {
                "storageClassName": "late",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
                **spec,
            },
            "status": {"phase": "Pending"},
        },
        PersistentVolumeClaim,
    )


def ready(name: str, size: str = "1Gi", host: str = "", labels: Any = None, **spec: Any) -> Any:
    """A volume of class `late` that nobody has."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {
                "storageClassName": "late",
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": size},
                "nodeAffinity": on_host(host) if host else None,
                **spec,
            },
            "status": {"phase": "Available"},
        },
        PersistentVolume,
    )


def storage_class(
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str = "WaitForFirstConsumer",
    **more: Any,
) -> StorageClass:
    """The class `late`."""
    return msgspec.convert(
        {
            "metadata": {"name": "late"},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
            **more,
        },
        StorageClass,
    )


def driver(name: str, **spec: Any) -> CSIDriver:
    """A CSI driver."""
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def csi_node(name: str, **limits: int | None) -> CSINode:
    """A node with these drivers and their limits."""
    drivers = [
        {"name": driver, "allocatable": None if count is None else {"count": count}}
        for driver, count in limits.items()
    ]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"drivers": drivers}}, CSINode)


def capacity(zone: str, room: str, **more: Any) -> CSIStorageCapacity:
    """The room of class `late` in a zone."""
    selector = {"matchLabels": {"topology.kubernetes.io/zone": zone}}
    return msgspec.convert(
        {"storageClassName": "late", "capacity": room, "nodeTopology": selector, **more},
        CSIStorageCapacity,
    )


def attachment(volume: str, node: str, attacher: str = "csi") -> VolumeAttachment:
    """A volume that is attached to a node."""
    return msgspec.convert(
        {
            "metadata": {"name": f"{volume}-{node}"},
            "spec": {
                "attacher": attacher,
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
        },
        VolumeAttachment,
    )
