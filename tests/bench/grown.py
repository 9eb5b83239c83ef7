"""A drawn cluster that grew: its third zone came when half of the Deployments were there."""

import random
from dataclasses import dataclass

import msgspec
import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cluster import deployment, node, pod, snapshot

ZONE = "topology.kubernetes.io/zone"
_LEAST_SEEN = 100
"""kube-scheduler samples no fewer feasible nodes than these before it scores."""


@dataclass(frozen=True)
class Size:
    """How large the cluster is: `workloads` Deployments of `replicas` pods each on `nodes`."""

    nodes: int = 600
    workloads: int = 120
    replicas: int = 50


@dataclass(frozen=True)
class _Template:
    """What the pods of one Deployment ask for. cpu: millicores; memory: MiB."""

    name: str
    cpu: int
    memory: int


@dataclass(frozen=True)
class _Machine:
    """What every node has. cpu: millicores; memory: MiB."""

    cpu: int
    memory: int


def grown(seed: int, size: Size) -> Snapshot:
    """The cluster of this seed.

    Two thirds of the nodes are in two zones and took the first half of the Deployments; the others
    are a third zone, and were there for the second half. So hardly a Deployment is even over the
    zones, though all of their pods ask softly to be. How large nodes and pods are is drawn.
    """
    draw = random.Random(seed)
    machine = _Machine(draw.choice((8_000, 16_000)), 64 * 1024)
    templates = [
        _Template(f"app-{n}", draw.choice((100, 250, 500, 1000)), draw.choice((128, 512, 1024)))
        for n in range(size.workloads)
    ]
    zones = _zones(size)
    room = {"cpu": f"{machine.cpu}m", "memory": f"{machine.memory}Mi"}
    nodes = [
        node(f"node-{number}", zone=f"zone-{zone}", allocatable=room)
        for number, zone in enumerate(zones.tolist())
    ]
    placement = _placement(np.random.default_rng(seed), size, machine, templates)
    controllers: list[Controller] = []
    pods: list[Pod] = []
    for number, (template, places) in enumerate(zip(templates, placement, strict=True)):
        top, owner = deployment(
            template.name, namespace=f"team-{number % 10}", replicas=size.replicas
        )
        controllers += [top, owner]
        pods += _pods(template, owner, [nodes[place].metadata.name for place in places])
    return snapshot(nodes, pods, controllers=controllers)


def _zones(size: Size) -> IntArray:
    """(nodes,) the zone of each: two alternately, then the third."""
    number = np.arange(size.nodes, dtype=np.int32)
    return np.where(number < _early(size), number % 2, 2).astype(np.int32)


def _early(size: Size) -> int:
    return size.nodes * 2 // 3


def _pods(template: _Template, owner: Controller, places: list[str]) -> list[Pod]:
    """One pod on each node; they share their spec, as those that are decoded do."""
    labels = {"app": template.name}
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    first = pod(
        template.name,
        places[0],
        namespace=owner.metadata.namespace,
        owner=owner,
        labels=labels,
        requests={"cpu": f"{template.cpu}m", "memory": f"{template.memory}Mi"},
        topologySpreadConstraints=[spread],
    )
    made = []
    for number, place in enumerate(places):
        name = f"{template.name}-{number}"
        metadata = msgspec.structs.replace(first.metadata, name=name, uid=f"uid-{name}")
        made.append(msgspec.structs.replace(first, metadata=metadata))
        made[-1].node = place
    return made


def _placement(
    generator: np.random.Generator, size: Size, machine: _Machine, templates: list[_Template]
) -> list[list[int]]:
    """The nodes of each Deployment's pods, placed one after the other on the nodes of its time."""
    zones = _zones(size)
    used = np.zeros((2, size.nodes))
    answer: list[list[int]] = []
    for number, template in enumerate(templates):
        there = size.nodes if number >= len(templates) // 2 else _early(size)
        asked = np.array([template.cpu / machine.cpu, template.memory / machine.memory])
        in_zone = np.zeros(3)
        answer.append([])
        for _ in range(size.replicas):
            seen = generator.choice(
                there, min(there, max(_LEAST_SEEN, there * 45 // 100)), replace=False
            )
            score = _score(used[:, seen] + asked[:, None], in_zone[zones[seen]])
            best = int(generator.choice(seen[score == score.max()]))
            used[:, best] += asked
            in_zone[zones[best]] += 1
            answer[-1].append(best)
    return answer


def _score(after: FloatArray, own: FloatArray) -> FloatArray:
    """(k,) roughly what kube-scheduler's default profile makes of the nodes; -1: it is full.

    after: (2, k) the used shares of CPU and memory. own: (k,) pods of its own in each zone.
    """
    free = 100 * (1 - after.mean(axis=0))
    balance = 100 * (1 - np.abs(after[0] - after[1]) / 2)
    spread = 100 * (own.max() + own.min() - own) / max(1.0, own.max())
    score: FloatArray = np.round(free) + np.round(balance) + 2 * np.round(spread)
    score[(after > 1).any(axis=0)] = -1
    return score
