"""Clusters that a reader can see, and what the planner makes of them.

    zone a | n1 gpu 8 | web web web
    zone b | n2       | -

Columns: labels of the node (`zone` stands for its long name), the node with what it has, and its
pods by workload. A node may be `cordoned`, `notready` or `tainted`. Each workload is a Deployment
whose pods carry label `app`; a pod in parentheses is being deleted: `(web)`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rescheduler.model.history import History
from rescheduler.model.objects import Node
from rescheduler.model.quantity import milli, units
from rescheduler.model.readings import FloatArray, Reading, ReadingRequest, Readings
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.documents import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import budget, deployment, node, pod, snapshot
from tests.policies.numa_drawing import topology_of

LABELS = {"zone": "topology.kubernetes.io/zone"}
RESOURCES = {"gpu": "nvidia.com/gpu"}
NIC = 1.25e9  # bytes per second of a 10 Gbit/s interface
GPU_MEMORY = 80 * 2**30


class PictureMove(NamedTuple):
    """A move as a story tells it."""

    workload: str
    source: str
    destination: str


def move(workload: str, source: str, destination: str) -> PictureMove:
    """A move of one pod of that workload."""
    return PictureMove(workload, source, destination)


def picture(
    text: str,
    *,
    requests: Mapping[str, Mapping[str, Any]] | None = None,
    specs: Mapping[str, Mapping[str, Any]] | None = None,
    readings: Mapping[str, Mapping[str, Any]] | None = None,
    budgets: Mapping[str, int] | None = None,
    zones: Mapping[str, Mapping[str, Any]] | None = None,
    policies: Iterable[Policy] = (),
) -> Snapshot:
    """The cluster of the picture.

    requests: of each pod, by workload. specs: further fields of its spec, likewise. budgets: disruptions that the workload's budget allows.
    readings: reading name to the value of each node, or of each pod of a workload; None is a value
    that ought to be there and is not. They answer to the requests of `policies`, or to defaults.
    zones: node to its kubelet's `policy` and `scope` and its `zones`, each resource to what the
    zone holds and what of it is free.
    """
    rows = [line for line in text.strip().splitlines() if line.strip()]
    drawn = [[column.split() for column in row.split("|")] for row in rows]
    sizes = Counter(name.strip("()") for _, _, names in drawn for name in names if name != "-")
    owners = {name: deployment(name, replicas=size) for name, size in sizes.items()}
    for name, (_, replica_set) in owners.items():
        # kube-scheduler's default spreading follows the ReplicaSet's selector.
        replica_set.spec.selector = {"matchLabels": {"app": name}}
    numbers: Counter[str] = Counter()
    pods = []
    for _, described, names in drawn:
        for drawing in names:
            if drawing == "-":
                continue
            name = drawing.strip("()")
            made = pod(
                f"{name}-{numbers[name]}",
                described[0],
                owner=owners[name][1],
                labels={"app": name},
                requests=(requests or {}).get(name),
                **(specs or {}).get(name, {}),
            )
            numbers[name] += 1
            if drawing != name:
                made.metadata.deletionTimestamp = made.metadata.creationTimestamp
            pods.append(made)
    made = snapshot(
        [_node(labels, described) for labels, described, _ in drawn],
        pods,
        controllers=[each for pair in owners.values() for each in pair],
        budgets=[
            budget(name, name, allowed=allowed, healthy=sizes[name])
            for name, allowed in (budgets or {}).items()
        ],
        topologies=[topology_of(name, each) for name, each in (zones or {}).items()],
    )
    return measured(made, readings or {}, policies)


def measured(
    before: Snapshot, values: Mapping[str, Mapping[str, Any]], policies: Iterable[Policy] = ()
) -> Snapshot:
    """The snapshot with these readings."""
    wanted = {each.name: each for policy in policies for each in policy.requests()}
    return replace(
        before,
        readings=Readings(
            tuple(
                _reading(before, wanted.get(name, ReadingRequest(name)), by_name)
                for name, by_name in values.items()
            )
        ),
    )


def proposed(
    before: Snapshot, *policies: Policy, limits: Limits | None = None
) -> list[PictureMove]:
    """The moves that planning proposes, in order, each to the node where it most likely lands."""
    made = plan(before, policy_set(list(policies), limits), History(), mode="Enforce")
    return [
        move(each.owner.name, each.source, max(each.landing, key=lambda one: one.probability).node)
        for each in made.moves
    ]


def workloads(before: Snapshot, pods: Iterable[int]) -> list[str]:
    """The names of the workloads of these pods, each once."""
    return sorted({(before.pods[each].metadata.labels or {})["app"] for each in pods})


def _node(labels: list[str], described: list[str]) -> Node:
    name, *rest = described
    flags = [each for each in rest if each in ("cordoned", "notready", "tainted")]
    pairs = [each for each in rest if each not in flags]
    made = node(
        name,
        labels={
            LABELS.get(key, key): value
            for key, value in zip(labels[::2], labels[1::2], strict=True)
        },
        allocatable={
            RESOURCES.get(key, key): value
            for key, value in zip(pairs[::2], pairs[1::2], strict=True)
        },
        taints=[{"key": "kept", "effect": "NoSchedule"}] if "tainted" in flags else (),
        unschedulable="cordoned" in flags,
    )
    if "notready" in flags:
        # The conditions are shared between all nodes of the builder.
        ready = (made.status.conditions or [])[0]
        made.status.conditions = [msgspec.structs.replace(ready, status="False")]
    return made


def _reading(before: Snapshot, request: ReadingRequest, given: Mapping[str, Any]) -> Reading:
    names = [each.metadata.name for each in before.nodes]
    capacity = None
    if request.subject == "pod":
        names = [(each.metadata.labels or {}).get("app", "") for each in before.pods]
    else:
        capacity = _capacity(before, request.name)
    values = np.array([_number(given.get(name)) for name in names], dtype=np.float64)
    return Reading(
        request=request,
        unit="ratio" if request.subject == "node" else "",
        values=values,
        ages=np.where(np.isnan(values), np.nan, 10.0),
        expected=np.array([name in given for name in names], dtype=np.bool_),
        capacity=capacity,
    )


def _number(value: Any) -> float:
    if value is None:
        return np.nan
    text = str(value)
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _capacity(before: Snapshot, name: str) -> FloatArray:
    rooms = [each.status.allocatable or {} for each in before.nodes]
    gpus = np.array([float(units(room.get("nvidia.com/gpu", 0))) for room in rooms])
    match name.removeprefix("node."):
        case "gpu":
            return gpus
        case "gpu.memory":
            return gpus * GPU_MEMORY
        case "cpu":
            return np.array([milli(room["cpu"]) / 1000 for room in rooms])
        case "memory":
            return np.array([float(units(room["memory"])) for room in rooms])
    return np.full(len(rooms), NIC)
