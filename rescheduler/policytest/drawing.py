"""Clusters drawn as a table of text: zone, node and its pods.

    zone a | n1 gpu 8 | web web web
    zone b | n2       | -

Columns: labels of the node (`zone` is short for its label), the node with what it has, and its
pods by workload. A node may be `cordoned`, `notready` or `tainted`; the first two have the taint,
too, that Kubernetes then gives them. Each workload is a Deployment
whose pods carry label `app`; a pod in parentheses is being deleted: `(web)`; one with a `!`
crash-loops: `web!`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from rescheduler.kube.objects import Node, PodSpec
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.policytest.object_builders import (
    NOW,
    budget,
    crash_looping,
    deployment,
    namespaces,
    node,
    pod,
)
from rescheduler.policytest.topologies import topology_of

LABELS = {"zone": "topology.kubernetes.io/zone"}
RESOURCES = {"gpu": "nvidia.com/gpu"}
VERSION = "v1.36.3"
"""Of the cluster of every policy test, which decides how its scheduler scores."""

_MARKS = "()!"
_TAINTS = {
    "cordoned": "node.kubernetes.io/unschedulable",
    "notready": "node.kubernetes.io/not-ready",
    "tainted": "kept",
}
"""What a node may be, and the taint that it then has.

Source: pkg/controller/nodelifecycle, doNoScheduleTaintingPass."""


class DrawingError(ValueError):
    """A row that cannot be understood. line: of the drawing, from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Row(NamedTuple):
    line: int
    labels: list[str]
    node: list[str]
    pods: list[str]


def cluster_of_drawing(
    text: str,
    *,
    requests: Mapping[str, Mapping[str, Any]],
    specs: Mapping[str, Mapping[str, Any]],
    budgets: Mapping[str, int],
    zones: Mapping[str, Mapping[str, Any]],
) -> Snapshot:
    """The cluster of the drawing, without readings.

    requests: of each pod, by workload. specs: further fields of its spec, likewise.
    budgets: disruptions that the workload's budget allows. zones: NUMA zones by node.

    Raises:
        DrawingError: a row cannot be understood. ValueError: something else cannot.
    """
    rows = [
        _row(line, row_text)
        for line, row_text in enumerate(text.splitlines(), 1)
        if row_text.strip()
    ]
    if not rows:
        raise DrawingError(1, "a drawing needs at least one node")
    sizes = Counter(name.strip(_MARKS) for row in rows for name in row.pods)
    failing = Counter(name.strip(_MARKS) for row in rows for name in row.pods if "!" in name)
    _check_names("requests", requests, sizes)
    _check_names("specs", specs, sizes)
    _check_names("budgets", budgets, sizes)
    for name, spec in specs.items():
        _check_names(f"specs.{name}", spec, PodSpec.__struct_fields__, "a field of a pod's spec")
    owners = {name: deployment(name, replicas=size) for name, size in sizes.items()}
    for name, count in failing.items():
        for owner in owners[name]:
            owner.status.readyReplicas = sizes[name] - count
    numbers: Counter[str] = Counter()
    pods = []
    for row in rows:
        for drawing in row.pods:
            name = drawing.strip(_MARKS)
            try:
                made = pod(
                    f"{name}-{numbers[name]}",
                    row.node[0],
                    owner=owners[name][1],
                    labels={"app": name},
                    requests=requests.get(name),
                    **specs.get(name, {}),
                )
            except msgspec.ValidationError as error:
                raise ValueError(f"specs.{name}: {error}") from error
            numbers[name] += 1
            if "!" in drawing:
                made.status = crash_looping()
            if "(" in drawing:
                made.metadata.deletionTimestamp = made.metadata.creationTimestamp
            pods.append(made)
    nodes = [_node(row) for row in rows]
    _check_names("zones", zones, [node.metadata.name for node in nodes])
    return Snapshot(
        taken=NOW,
        cluster=Cluster(uid="cluster-1", version=VERSION),
        nodes=nodes,
        pods=pods,
        failed=[],
        controllers=[controller for pair in owners.values() for controller in pair],
        budgets=[
            budget(name, name, allowed=allowed, healthy=sizes[name], failing=failing[name])
            for name, allowed in budgets.items()
        ],
        namespaces=namespaces(pods),
        topologies=[topology_of(name, zone) for name, zone in zones.items()],
    )


def _row(line: int, text: str) -> _Row:
    columns = [column.split() for column in text.split("|")]
    if len(columns) != 3 or not columns[1]:
        raise DrawingError(line, "a row has three columns: `zone a | n1 gpu 8 | web web`")
    labels, described, pods = columns
    if len(labels) % 2:
        raise DrawingError(line, f"labels come in pairs: `{' '.join(labels)}`")
    return _Row(line, labels, described, [] if pods == ["-"] else pods)


def _check_names(
    field: str, entries: Mapping[str, Any], names: Iterable[str], what: str = "in the drawing"
) -> None:
    unknown = sorted(set(entries) - set(names))
    if unknown:
        raise ValueError(f"{field}: `{unknown[0]}` is not {what}")


def _node(row: _Row) -> Node:
    name, *rest = row.node
    flags = [word for word in rest if word in _TAINTS]
    pairs = [word for word in rest if word not in flags]
    if len(pairs) % 2:
        raise DrawingError(row.line, f"what a node has comes in pairs: `{' '.join(pairs)}`")
    made = node(
        name,
        labels={
            LABELS.get(key, key): value
            for key, value in zip(row.labels[::2], row.labels[1::2], strict=True)
        },
        allocatable={
            RESOURCES.get(key, key): value
            for key, value in zip(pairs[::2], pairs[1::2], strict=True)
        },
        taints=[{"key": _TAINTS[flag], "effect": "NoSchedule"} for flag in flags],
        unschedulable="cordoned" in flags,
    )
    if "notready" in flags:
        # The conditions are shared between all nodes of the builder.
        ready = (made.status.conditions or [])[0]
        made.status.conditions = [msgspec.structs.replace(ready, status="False")]
    return made
