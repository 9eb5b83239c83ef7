"""How many GPUs a pod has by claims: whole ones, and partitions by their slices."""

from dataclasses import replace

import msgspec
import pytest

from rescheduler.kube.dra.devices import ResourceClaim, ResourceSlice
from rescheduler.policies.idlegpus.holdings import held_gpus
from tests import cluster

DRIVER = "gpu.nvidia.com"
SORTS = {
    "gpu-0": {"type": "gpu"},
    "part-1": {"type": "mig", "profile": "1g.10gb"},
    "part-2": {"type": "mig", "profile": "2g.20gb"},
    "part-3": {"type": "mig"},
}


@pytest.mark.parametrize(
    ("devices", "gpus"),
    [(["gpu-0"], 1.0), (["part-1", "part-2"], 3 / 7), (["gpu-0", "part-1"], 8 / 7)],
)
def test_partitions_count_by_their_slices(devices: list[str], gpus: float) -> None:
    assert held(devices) == pytest.approx(gpus)


def test_a_partition_of_unknown_size_hides_all_that_the_pod_has() -> None:
    assert held(["gpu-0", "part-3"]) == 0.0


def held(devices: list[str]) -> float:
    """The GPUs of a pod that has these devices by one claim."""
    offered = [
        {"name": name, "attributes": {key: {"string": text} for key, text in sort.items()}}
        for name, sort in SORTS.items()
    ]
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": offered}
    pod = cluster.pod("p", "n1")
    results = [{"driver": DRIVER, "pool": "n1", "device": device} for device in devices]
    owner = {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
    claim = {
        "metadata": {"name": "c", "namespace": "default"},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [owner]},
    }
    before = replace(
        cluster.snapshot([cluster.node("n1")], [pod]),
        resource_slices=[msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)],
        resource_claims=[msgspec.convert(claim, ResourceClaim)],
    )
    return float(held_gpus(before)[0])
