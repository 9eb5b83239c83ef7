"""Devices (DRA), their classes and claims."""

from typing import Any

import msgspec

from rescheduler.kube.dra.devices import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import node, pod, snapshot

DRIVER = "gpu.example.com"
CLAIMS: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}


def gpu(name: str, model: str = "A100", numa: int = 0, **more: Any) -> dict[str, Any]:
    attributes = {"model": {"string": model}, "topology/numa": {"int": numa}}
    capacity = {"memory": {"value": "80Gi" if model == "H100" else "40Gi"}}
    return {"name": name, "attributes": attributes, "capacity": capacity, **more}


def offered(on: str, *devices: dict[str, Any], generation: int = 1, **spec: Any) -> ResourceSlice:
    pool = {"name": on, "generation": generation, "resourceSliceCount": 1}
    where = {} if spec else {"nodeName": on}
    return msgspec.convert(
        {"spec": {"driver": DRIVER, "pool": pool, "devices": list(devices), **where, **spec}},
        ResourceSlice,
    )


def template(*requests: dict[str, Any], constraints: Any = None) -> ResourceClaimTemplate:
    named = [
        request if "firstAvailable" in request else {"name": f"r{number}", "exactly": request}
        for number, request in enumerate(requests)
    ]
    devices = {"requests": named, "constraints": constraints}
    return msgspec.convert(
        {"metadata": {"name": "t", "namespace": "default"}, "spec": {"spec": {"devices": devices}}},
        ResourceClaimTemplate,
    )


def one(expression: str = "", count: int = 1, **more: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}] if expression else None
    return {"deviceClassName": "gpu", "selectors": selectors, "count": count, **more}


def held(by: str, on: str, *devices: str) -> ResourceClaim:
    results = [{"driver": DRIVER, "pool": on, "device": device} for device in devices]
    return msgspec.convert(
        {
            "metadata": {
                "name": f"{by}-gpu",
                "namespace": "default",
                "ownerReferences": [{"kind": "Pod", "name": by, "uid": f"pod-default-{by}"}],
            },
            "status": {"allocation": {"devices": {"results": results}}},
        },
        ResourceClaim,
    )


def gpu_class(**spec: Any) -> DeviceClass:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return msgspec.convert(
        {"metadata": {"name": "gpu"}, "spec": {"selectors": [selector], **spec}}, DeviceClass
    )


def cluster(
    wanted: ResourceClaimTemplate, slices: list[ResourceSlice], *pods: Any, **more: Any
) -> Any:
    return snapshot(
        [node("a"), node("b")],
        pods or [pod("p", **CLAIMS)],
        **{"device_classes": [gpu_class()], **more},
        resource_slices=slices,
        claim_templates=[wanted],
    )


def where(wanted: Any, *slices: Any, **more: Any) -> Any:
    model = SchedulerModel(cluster(wanted, list(slices), **more))
    assert model.landing(0).refusal is None, model.landing(0).refusal
    return model.feasible(0).tolist()


def refused(wanted: Any, *slices: Any, **more: Any) -> str:
    refusal = SchedulerModel(cluster(wanted, list(slices), **more)).landing(0).refusal
    assert refusal is not None
    assert refusal.code == "FEA005"
    return refusal.message
