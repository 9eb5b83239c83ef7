"""Devices that several claims share: what the real allocator writes, and where it finds room."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import bare_pod
from tests.e2e.claims import API, decide, device_class

pytestmark = pytest.mark.e2e

DRIVER = "gpu.nvidia.com"
WANTED = {"small": "20Gi", "large": "30Gi"}
"""Of the memory of one device, in steps of 10Gi, so that 15Gi would become 20Gi."""


def test_claims_name_the_device_capacities_that_they_consume(
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
    cluster.create(
        *nodes(1),
        device_class("shared", DRIVER),
        _slice("n1", DRIVER, [device]),
        *(_claim(name, asked) for name, asked in {"small": "15Gi", "large": "30Gi"}.items()),
        *(_pod(name) for name in WANTED),
    )
    cluster.settled()

    claims = {
        manifest["metadata"]["name"]: manifest
        for manifest in cluster.api.items(API, "ResourceClaim")
    }
    for name, memory in WANTED.items():
        status = claims[name]["status"]
        (result,) = status["allocation"]["devices"]["results"]
        assert (result["driver"], result["pool"], result["device"]) == (DRIVER, "n1", "gpu-0")
        assert result["consumedCapacity"] == {"memory": memory}
        assert result["shareID"]
        assert [consumer["name"] for consumer in status["reservedFor"]] == [name]


PARTS = "parts"
NODES, ROUNDS = 30, 3
POLICIES: tuple[Any, ...] = (
    None,
    {"default": "2", "validRange": {"min": "2", "step": "3", "max": "8"}},
    {"default": "1", "validRange": {"min": "1"}},
    {"default": "3", "validValues": ["1", "3", "6"]},
)
REQUESTS: dict[str, list[dict[str, Any]]] = {
    "default": [{}],
    "three": [{"capacity": {"requests": {"x": "3"}}}],
    "fraction": [{"capacity": {"requests": {"x": "2500m"}}}],
    "both": [{"capacity": {"requests": {"x": "1", "y": "2"}}}],
    "apart": [{"capacity": {"requests": {"x": "2"}}, "count": 2}],
    "alike": [{"capacity": {"requests": {"x": "2"}}}] * 2,
    "much": [{"capacity": {"requests": {"x": "9"}}}],
}


def test_the_real_allocator_finds_room_where_it_is_predicted(
    cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    draw = random.Random(36)
    names = [f"p{number}" for number in range(1, NODES + 1)]
    devices = {
        name: [_device(draw, device) for device in "abc"[: draw.randint(1, 3)]] for name in names
    }
    cluster.create(
        *nodes(NODES, prefix="p"),
        device_class(PARTS, f"{PARTS}.test"),
        *(_slice(name, f"{PARTS}.test", offered) for name, offered in devices.items()),
        *(_template(name, requests) for name, requests in REQUESTS.items()),
    )
    cluster.settled(120)
    predicted: dict[str, bool] = {}
    for number in range(ROUNDS):
        predicted |= decide(
            cluster, {f"{name}-{number}": draw.choice(sorted(REQUESTS)) for name in names}
        )
    bound = {pod["metadata"]["name"] for pod in cluster.pods() if pod["spec"].get("nodeName")}

    record_property("device decisions", len(predicted))
    assert len(predicted) == NODES * ROUNDS
    assert bound == {name for name, fits in predicted.items() if fits}
    assert 0.2 < len(bound) / len(predicted) < 0.8


def _device(draw: random.Random, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    capacity = {
        dimension: {"value": str(draw.randint(8, 14))} for dimension in draw.choice(["x", "xy"])
    }
    if draw.random() < 0.8:
        made["allowMultipleAllocations"] = True
        for device_capacity in capacity.values():
            if policy := draw.choice(POLICIES):
                device_capacity["requestPolicy"] = policy
    return {**made, "capacity": capacity}


def _template(name: str, requests: list[dict[str, Any]]) -> dict[str, Any]:
    made = [
        {"name": f"r{number}", "exactly": {"deviceClassName": PARTS, **request}}
        for number, request in enumerate(requests)
    ]
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": made}}},
    }


def _slice(node: str, driver: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {"driver": driver, "nodeName": node, "pool": pool, "devices": devices},
    }


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
