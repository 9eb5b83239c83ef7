"""Nodes that differ in everything that the scheduler considers."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.e2e.builders.nodes import node

Manifest = dict[str, Any]
_MIB = 1024 * 1024
FPGA = "example.com/fpga"
HUGE = "hugepages-2Mi"
READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
_Room = tuple[Sequence[str], Sequence[str]]
_WIDE: _Room = (
    ["4", "8", "16", "3920m", "7910m"],
    ["8Gi", "16Gi", "48Gi", "15822Mi", "32001234Ki"],
)
_TIGHT: _Room = (["2", "4", "1930m"], ["4Gi", "8Gi", "3600001Ki"])
_TAINTS = (
    ("dedicated", "NoSchedule", 0.1),
    ("leaving", "NoExecute", 0.05),
    ("busy", "PreferNoSchedule", 0.2),
    ("old", "PreferNoSchedule", 0.1),
)


def nodes(draw: Random, prefix: str, count: int, zones: Sequence[str]) -> list[Manifest]:
    """`count` nodes; some clusters are uniform, so that scores tie, and some are tight."""
    uniform = draw.random() < 0.15
    room = _TIGHT if draw.random() < 0.5 else _WIDE
    first = _node(draw, f"{prefix}000", zones, room)
    made = [first]
    for number in range(1, count):
        name = f"{prefix}{number:03}"
        made.append(_twin(draw, first, name, zones) if uniform else _node(draw, name, zones, room))
    return made


def _node(draw: Random, name: str, zones: Sequence[str], room: _Room) -> Manifest:
    made = node(
        name,
        zone=draw.choice(zones) if zones and draw.random() < 0.92 else None,
        rack=draw.choice(["r1", "r2", "r3"]) if draw.random() < 0.8 else None,
        cpu=draw.choice(room[0]),
        memory=draw.choice(room[1]),
        gpus=draw.choice([0, 0, 4]),
        pods=draw.choice([110, 110, 110, 110, 110, 4, 7]),
        labels=_labels(draw),
        taints=[
            {"key": key, "value": draw.choice(["yes", "no"]), "effect": effect}
            for key, effect, share in _TAINTS
            if draw.random() < share
        ],
        unschedulable=draw.random() < 0.05,
    )
    resources = made["status"]["allocatable"]
    if draw.random() < 0.2:
        resources[FPGA] = str(draw.randint(1, 3))
    if draw.random() < 0.2:
        resources[HUGE] = draw.choice(["64Mi", "256Mi"])
    made["status"]["conditions"] = READY
    made["status"]["images"] = [
        {"names": [f"registry.test/big{number}:1"], "sizeBytes": (number + 1) * 310 * _MIB + 77}
        for number in range(3)
        if draw.random() < 0.4
    ]
    if draw.random() < 0.3:
        latest = {"names": ["registry.test/plain:latest", "registry.test/plain@sha256:00"]}
        made["status"]["images"].append({**latest, "sizeBytes": 210 * _MIB})
    return made


def _labels(draw: Random) -> dict[str, str]:
    labels = {"disk": draw.choice(["ssd", "hdd"])}
    if draw.random() < 0.9:
        # One value is no number: Gt and Lt do not match it.
        labels["level"] = draw.choice([*map(str, range(1, 10)), "high"])
    if draw.random() < 0.3:
        labels["pool"] = draw.choice(["batch", "web"])
    return labels


def _twin(draw: Random, first: Manifest, name: str, zones: Sequence[str]) -> Manifest:
    """A node as the first one, in some zone."""
    made = node(name, zone=draw.choice(zones) if zones else None)
    hostname = {"kubernetes.io/hostname": name}
    labels = {**first["metadata"]["labels"], **made["metadata"]["labels"], **hostname}
    made["metadata"]["labels"] = labels
    for field in ("capacity", "allocatable", "images", "conditions"):
        made["status"][field] = first["status"][field]
    return made
