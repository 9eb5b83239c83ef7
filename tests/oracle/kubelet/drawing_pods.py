"""Draw pods for one machine, in the shapes that batch, training and network workloads have."""

from random import Random
from typing import Any

from tests.oracle.kubelet.drawing_nodes import ANYWHERE, BOTH, GIB, GPU, HUGE, VF, Machine

Resources = dict[str, Any]


def draw_pod(draw: Random, machine: Machine, name: str) -> dict[str, Any]:
    """A pod in Kubernetes' JSON; it may be larger than the machine."""
    kind = draw.choices(["guaranteed", "burstable", "besteffort", "podlevel"], [75, 15, 5, 5])[0]
    makers = {
        "guaranteed": _guaranteed,
        "podlevel": _guaranteed,
        "burstable": _burstable,
        "besteffort": _besteffort,
    }
    make = makers[kind]
    containers = [
        _container(draw, f"c{number}", make(draw, machine, number))
        for number in range(draw.choices([1, 2, 3], [7, 2, 1])[0])
    ]
    inits = []
    if draw.random() < 0.35:
        for number in range(draw.choice([1, 1, 2, 3])):
            container = _container(draw, f"i{number}", make(draw, machine, number + 1))
            if draw.random() < 0.4:
                container["restartPolicy"] = "Always"
            if draw.random() < 0.3:  # an init container that prepares the same as it will run
                container["resources"] = containers[0]["resources"]
            inits.append(container)
    spec: dict[str, Any] = {"containers": containers, "initContainers": inits}
    if kind == "podlevel":
        limits = {
            "cpu": str(draw.randint(1, machine.cpus_of_zone)),
            "memory": str(draw.randint(1, 16) * GIB // 4),
        }
        for box in (*containers, *inits):
            kept = box["resources"]["limits"]
            for name_ in list(kept):
                if name_ in ("cpu", "memory") or name_.startswith("hugepages-"):
                    del kept[name_]
        spec["resources"] = {"limits": limits, "requests": dict(limits)}
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}


def _container(draw: Random, name: str, limits: Resources) -> dict[str, Any]:
    given: dict[str, Any] = {"limits": limits}
    own = limits.pop("requests", None)
    if own is not None:
        given["requests"] = own
    elif draw.random() < 0.5:
        given["requests"] = dict(limits)
    return {"name": name, "image": "app:1", "resources": given}


def _guaranteed(draw: Random, machine: Machine, number: int) -> Resources:
    most = max(machine.cpus_of_zone, 1)
    if number == 0:
        cpus = draw.choice([1, 1, 2, 2, 3, 4, most // 2, most, most + 2])
    else:
        cpus = draw.choice([1, 1, 1, 2])
    cpu = str(max(cpus, 1)) if draw.random() < 0.85 else f"{draw.randint(1, 39) * 100}m"
    share = draw.choice([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2] if number == 0 else [0.02, 0.05])
    memory = int(machine.memory_of_zone * share * draw.uniform(0.9, 1.1)) // 2**20 * 2**20
    limits = {"cpu": cpu, "memory": str(max(memory, 2**20))}
    for name, size in HUGE.items():
        if name in machine.room and draw.random() < 0.3:
            limits[name] = str(size * 1024 * draw.choice([1, 1, 2]) * (64 if size == 2048 else 1))
    return {**limits, **_some_devices(draw, machine, number)}


def _burstable(draw: Random, machine: Machine, number: int) -> Resources:
    limits = _some_devices(draw, machine, number)
    requests = {"cpu": f"{draw.randint(1, 20) * 100}m", "memory": str(draw.randint(1, 8) * 2**28)}
    return {**limits, "requests": {**requests, **limits}}


def _besteffort(draw: Random, machine: Machine, number: int) -> Resources:
    return _some_devices(draw, machine, number)


def _some_devices(draw: Random, machine: Machine, number: int) -> Resources:
    answer: Resources = {}
    there = {device["resource"] for device in machine.node["devices"]}
    for resource, chance in ((GPU, 0.55), (VF, 0.3), (ANYWHERE, 0.2), (BOTH, 0.3)):
        if resource in there and draw.random() < (chance if number == 0 else chance / 3):
            most = machine.devices(resource)
            answer[resource] = str(draw.choice([0, 1, 1, 1, 2, 2, 3, most // 2, most]))
    return answer
