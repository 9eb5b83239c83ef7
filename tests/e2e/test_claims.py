"""What the real allocator writes of a device that several claims share is what we read."""

from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import bare_pod

pytestmark = pytest.mark.e2e

API = "resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"
WANTED = {"small": "20Gi", "large": "30Gi"}
"""Of the memory of one device, in steps of 10Gi, so that 15Gi would become 20Gi."""


def test_claims_say_what_they_consume_by_the_names_of_the_devices_capacities(
    cluster: Cluster,
) -> None:
    device = {
        "name": "gpu-0",
        "attributes": {"type": {"string": "gpu"}, "uuid": {"string": "GPU-0"}},
        "allowMultipleAllocations": True,
        "capacity": {
            "memory": {
                "value": "80Gi",
                "requestPolicy": {
                    "default": "10Gi",
                    "validRange": {"min": "10Gi", "step": "10Gi"},
                },
            }
        },
    }
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    cluster.create(
        *nodes(1),
        {
            "apiVersion": API,
            "kind": "DeviceClass",
            "metadata": {"name": "shared"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
        },
        {
            "apiVersion": API,
            "kind": "ResourceSlice",
            "metadata": {"name": "n1-gpus"},
            "spec": {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [device]},
        },
        *(_claim(name, asked) for name, asked in {"small": "15Gi", "large": "30Gi"}.items()),
        *(_pod(name) for name in WANTED),
    )
    cluster.settled()

    claims = {each["metadata"]["name"]: each for each in cluster.api.items(API, "ResourceClaim")}
    for name, memory in WANTED.items():
        status = claims[name]["status"]
        (result,) = status["allocation"]["devices"]["results"]
        assert (result["driver"], result["pool"], result["device"]) == (DRIVER, "n1", "gpu-0")
        assert result["consumedCapacity"] == {"memory": memory}
        assert result["shareID"]
        assert [each["name"] for each in status["reservedFor"]] == [name]


def _claim(name: str, memory: str) -> dict[str, Any]:
    exactly = {"deviceClassName": "shared", "capacity": {"requests": {"memory": memory}}}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def _pod(name: str) -> dict[str, Any]:
    made = bare_pod(name)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return made
