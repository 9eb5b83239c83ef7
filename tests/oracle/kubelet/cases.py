"""One case: a machine, what happened on it, a pod that comes; and what objects tell of it."""

import zlib
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from rescheduler.kube.objects import Node, Pod, PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests, scheduler_units
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cluster import node, snapshot
from tests.oracle.kubelet.drawing_nodes import HUGE, Machine, draw_machine
from tests.oracle.kubelet.drawing_pods import draw_pod
from tests.oracle.kubelet.telling import Answer, exported

HERE, ELSEWHERE = 0, 1
"""The nodes of a case's snapshot; the pod runs on the second."""


@dataclass
class Case:
    """events: what the judge replays. started: UIDs of the pods whose init containers ended.

    features: what is special about it.
    """

    seed: int
    machine: Machine
    events: list[dict[str, Any]]
    pod: dict[str, Any]
    started: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)

    def line(self) -> bytes:
        """As the judge reads it."""
        given = {"node": self.machine.node, "events": self.events, "pod": self.pod}
        return msgspec.json.encode(given) + b"\n"


def draw_case(seed: int) -> Case:
    """A case whose pod kube-scheduler would let onto the node."""
    draw = Random(seed)
    machine = draw_machine(draw)
    room = dict(machine.room)
    case = Case(seed, machine, [], {})
    there: dict[str, dict[str, int]] = {}
    for number in range(draw.choice([0, 2, 4, 8, 12, 16, 24])):
        pod = draw_pod(draw, machine, f"p{number}")
        asked = requested(pod["spec"])
        if not _fits(asked, room):
            continue
        there[pod["metadata"]["uid"]] = asked
        _add(room, asked, -1)
        case.events.append({"admit": pod})
        if draw.random() < 0.95:
            case.events.append({"start": pod["metadata"]["uid"]})
            case.started.add(pod["metadata"]["uid"])
        if there and draw.random() < 0.2:
            gone = draw.choice(sorted(there))
            _add(room, there.pop(gone), 1)
            case.events.append({"remove": gone})
            case.features.add("pods that left")
        if machine.node["devices"] and draw.random() < 0.01:
            device = draw.choice(machine.node["devices"])
            if device["id"] not in case.broken:
                case.broken.append(device["id"])
                case.events.append({"break": device["id"]})
                room[device["resource"]] -= 1
    # Most that need a second look are large for what is left.
    large = draw.random() < 0.6
    for attempt in range(100):
        case.pod = draw_pod(draw, machine, f"x{attempt}")
        asked = requested(case.pod["spec"])
        if _fits(asked, room) and (not large or attempt > 50 or _large(asked, room)):
            break
    else:
        case.pod["spec"] = {"containers": [{"name": "c", "image": "app:1"}]}
    _name_features(case)
    return case


def requested(spec: dict[str, Any]) -> dict[str, int]:
    """What kube-scheduler counts for a pod."""
    asked = pod_requests(msgspec.convert(spec, PodSpec))
    return {name: scheduler_units(name, amount) for name, amount in asked.items()}


def seen(case: Case, answer: Answer) -> Snapshot:
    """What the program sees: the node with its zones and its pods, and the pod elsewhere."""
    capacity: dict[str, int] = dict(case.machine.room)
    for name in HUGE:
        if name in capacity:
            capacity[name] = _pages(case, name)
    zones = case.machine.zones
    capacity["cpu"] = 1000 * sum(len(core) for zone in zones for core in zone["cores"])
    capacity["memory"] = sum(zone["memory"] for zone in zones)
    allocatable = dict(case.machine.room)
    for device in case.machine.node["devices"]:
        allocatable[device["resource"]] -= device["id"] in case.broken
    here = node("n0")
    here.status.capacity = _quantities(capacity)
    here.status.allocatable = _quantities(allocatable)
    specs = [event["admit"] for event in case.events if "admit" in event]
    active = {pod.uid for pod in answer.report.pods or ()}
    pods = [
        _pod(given, here, "Running" if given["metadata"]["uid"] in case.started else "Pending")
        for given in specs
        if given["metadata"]["uid"] in active
    ]
    away = node("n1", allocatable=_quantities({**capacity, "cpu": 10**6}))
    # Exporters write NFD's arithmetic or that of resource-topology-exporter; both are in use.
    style = "nfd" if zlib.crc32(str(case.seed).encode()) % 3 else "rte"
    return snapshot(
        [here, away],
        [*pods, _pod(case.pod, away, "Running")],
        topologies=[exported(case.machine, answer.report, style)],
    )


def _pages(case: Case, name: str) -> int:
    size = HUGE[name]
    pages = sum(int(zone["hugePages"].get(str(size), 0)) for zone in case.machine.zones)
    return pages * size * 1024


def _pod(given: dict[str, Any], on: Node, phase: str) -> Pod:
    pod = msgspec.convert({**given, "status": {"phase": phase}}, Pod)
    pod.node = on.metadata.name
    return pod


def _quantities(amounts: dict[str, int]) -> dict[str, str | int | float]:
    return {
        name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()
    }


def _fits(asked: dict[str, int], room: dict[str, int]) -> bool:
    return all(amount <= room.get(name, 0) for name, amount in asked.items() if amount)


def _large(asked: dict[str, int], room: dict[str, int]) -> bool:
    return any(2 * amount > room.get(name, 0) for name, amount in asked.items() if amount)


def _add(room: dict[str, int], asked: dict[str, int], sign: int) -> None:
    for name, amount in asked.items():
        room[name] = room.get(name, 0) + sign * amount


def _name_features(case: Case) -> None:
    spec, node_ = case.pod["spec"], case.machine.node
    inits = spec.get("initContainers", [])
    around = [event["admit"]["spec"] for event in case.events if "admit" in event]
    containers = [*inits, *spec["containers"]]
    limits = [container.get("resources", {}).get("limits", {}) for container in containers]
    told = {
        f"policy {node_['topologyPolicy']}": True,
        f"scope {node_['topologyScope']}": node_["topologyPolicy"] != "none",
        "memory manager": node_["memoryPolicy"] == "Static",
        "init containers": any("restartPolicy" not in init for init in inits),
        "sidecars": any("restartPolicy" in init for init in inits),
        "pod-level resources": "resources" in spec,
        "huge pages": any(name in limit for limit in limits for name in HUGE),
        "init containers of others": any(neighbor.get("initContainers") for neighbor in around),
        "more than 8 zones": len(node_["zones"]) > 8,
        "broken devices": bool(case.broken),
        "pods that start": len(case.started) < len(around),
    }
    case.features |= {name for name, is_so in told.items() if is_so}
