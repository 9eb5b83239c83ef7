"""Clusters with NUMA zones, for tests of what looks at them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rescheduler.model.numa import NodeResourceTopology
from rescheduler.model.objects import Pod
from tests.cluster import deployment, pod

GPU = "nvidia.com/gpu"
NIC = "example.com/vf"


def topology(
    node: str,
    *zones: Mapping[str, tuple[float, float] | float],
    policy: str = "single-numa-node",
    scope: str = "container",
) -> NodeResourceTopology:
    """A node's zones, each as resource to (what it holds, what is free), or to both at once."""
    described = []
    for number, zone in enumerate(zones):
        resources = []
        for name, amount in zone.items():
            total, free = amount if isinstance(amount, tuple) else (amount, amount)
            each = {"capacity": f"{total:g}", "allocatable": f"{total:g}", "available": f"{free:g}"}
            resources.append({"name": name, **each})
        described.append({"name": f"node-{number}", "type": "Node", "resources": resources})
    return msgspec.convert(
        {
            "metadata": {"name": node},
            "attributes": [
                {"name": "topologyManagerPolicy", "value": policy},
                {"name": "topologyManagerScope", "value": scope},
            ],
            "zones": described,
        },
        NodeResourceTopology,
    )


def topology_of(node: str, described: Mapping[str, Any]) -> NodeResourceTopology:
    """A node's zones as a policy's test lists them."""
    zones = [
        {name: (float(total), float(free)) for name, (total, free) in zone.items()}
        for zone in described["zones"]
    ]
    more = {key: str(described[key]) for key in ("policy", "scope") if key in described}
    return topology(node, *zones, **more)


def guaranteed(
    name: str,
    on: str = "",
    *containers: Mapping[str, Any],
    lies: Iterable[tuple[str, Mapping[str, Any]]] = (),
    workload: str = "train",
) -> Pod:
    """A Guaranteed pod of a Deployment; each container asks for 1 CPU and 1Gi more than is said.

    lies: zone and amounts, as the placement annotation tells them.
    """
    _, owner = deployment(workload)
    told = [{"zone": zone, "amount": dict(amount)} for zone, amount in lies]
    notes = (
        {"kai.scheduler/numa-placement-observed": msgspec.json.encode(told).decode()}
        if told
        else {}
    )
    described = [
        {
            "name": f"c{number}",
            "resources": {
                side: {"cpu": "1", "memory": "1Gi", **{k: str(v) for k, v in asked.items()}}
                for side in ("requests", "limits")
            },
        }
        for number, asked in enumerate(containers)
    ]
    return pod(
        name,
        on,
        owner=owner,
        labels={"app": workload},
        annotations=notes,
        containers=described,
    )


def sizes(*amounts: float) -> Sequence[dict[str, float]]:
    """Zones with so many GPUs each."""
    return [{GPU: amount} for amount in amounts]
