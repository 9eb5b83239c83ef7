"""What the scheduler asks of storage and devices is read, recorded, and missed where it is not."""

import gzip
from pathlib import Path
from typing import Any

import msgspec

from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.recording import load, save
from tests.sources.connected import connected
from tests.sources.objects import CANARY, Api, named, node, pod
from tests.sources.same import same

STORAGE, DEVICES = "/apis/storage.k8s.io/v1", "/apis/resource.k8s.io/v1"
LATER = [
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "VolumeAttachment",
    "DeviceClass",
    "ResourceSlice",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "CSIStorageCapacity",
]
KEYS = [
    "storage_classes",
    "csi_drivers",
    "csi_nodes",
    "storage_capacities",
    "attachments",
    "device_classes",
    "resource_slices",
    "resource_claims",
    "claim_templates",
]
CEL = [{"cel": {"expression": "true"}}]
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2, "selectors": CEL}}
LISTS: dict[str, list[dict[str, Any]]] = {
    "/api/v1/nodes": [node("n1")],
    "/api/v1/pods": [pod("web", "n1")],
    f"{STORAGE}/storageclasses": [
        named("late", provisioner="csi", volumeBindingMode="WaitForFirstConsumer")
    ],
    f"{STORAGE}/csidrivers": [named("csi", spec={"storageCapacity": True})],
    f"{STORAGE}/csinodes": [
        named("n1", spec={"drivers": [{"name": "csi", "allocatable": {"count": 9}}]})
    ],
    f"{STORAGE}/csistoragecapacities": [
        named("c", storageClassName="late", capacity="5Gi", nodeTopology={})
    ],
    f"{STORAGE}/volumeattachments": [
        named(
            "v", spec={"attacher": "csi", "nodeName": "n1", "source": {"persistentVolumeName": "p"}}
        )
    ],
    f"{DEVICES}/deviceclasses": [named("gpu", spec={"selectors": CEL})],
    f"{DEVICES}/resourceslices": [
        named(
            "s",
            spec={
                "driver": "d",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "0", "attributes": {"numa": {"int": 1}}}],
            },
        )
    ],
    f"{DEVICES}/resourceclaims": [
        named("c", spec={"devices": {"requests": [REQUEST]}}, status={"allocation": {}})
    ],
    f"{DEVICES}/resourceclaimtemplates": [
        named("t", spec={"spec": {"devices": {"requests": [REQUEST]}}})
    ],
    "/apis/apps/v1/replicasets": [
        named(
            "web",
            spec={
                "replicas": 1,
                "template": {
                    "spec": {
                        "containers": [
                            {"name": "c", "env": [{"name": "PASSWORD", "value": CANARY}]}
                        ]
                    }
                },
            },
        )
    ],
}


def test_storage_and_devices_are_read_and_recorded(tmp_path: Path) -> None:
    with connected(Api(LISTS), tmp_path) as (connection, _):
        made = read_cluster(connection)
    assert made.unread == []
    assert made.storage_classes[0].volumeBindingMode == "WaitForFirstConsumer"
    assert made.csi_drivers[0].spec.storageCapacity
    drivers = made.csi_nodes[0].spec.drivers or []
    assert drivers[0].allocatable is not None
    assert drivers[0].allocatable.count == 9
    assert made.storage_capacities[0].capacity == "5Gi"
    assert made.attachments[0].spec.source.persistentVolumeName == "p"
    assert made.device_classes[0].spec.selectors is not None
    assert (made.resource_slices[0].spec.devices or [])[0].name == "0"
    assert made.resource_claims[0].status.allocation is not None
    requests = made.claim_templates[0].spec.spec.devices.requests or []
    assert requests[0].exactly is not None
    assert requests[0].exactly.count == 2
    template = made.controllers[0].spec.template
    assert template is not None
    assert template.spec.containers[0].name == "c"
    save(made, tmp_path / "a")
    assert same(made, load(tmp_path / "a"))


def test_an_older_recording_has_not_read_them(tmp_path: Path) -> None:
    fresh = Path(__file__).parents[1] / "recordings" / "gpu-cluster.snapshot"
    assert not set(LATER) & set(load(fresh).unread)
    data = gzip.decompress(fresh.read_bytes())
    start = 4 + int.from_bytes(data[:4], "big")
    body = msgspec.msgpack.decode(data[start:])
    for kind in KEYS:
        del body[kind]
    older = tmp_path / "older.snapshot"
    older.write_bytes(gzip.compress(data[:start] + msgspec.msgpack.encode(body)))

    made = load(older)

    assert set(LATER) <= set(made.unread)
    assert len(made.nodes) > 0
