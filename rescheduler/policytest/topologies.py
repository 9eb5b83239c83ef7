"""NUMA zones of a node, as a policy test lists them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology


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
            quantities = {
                "capacity": f"{total:g}",
                "allocatable": f"{total:g}",
                "available": f"{free:g}",
            }
            resources.append({"name": name, **quantities})
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
    """A node's zones as a policy test lists them.

    Raises:
        ValueError: they are not a list of zones with what each resource holds and has free.
    """
    try:
        zones = [
            {name: (float(total), float(free)) for name, (total, free) in zone.items()}
            for zone in described["zones"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"node {node}: `zones` must list each zone as `resource: [holds, free]`"
        ) from error
    more = {key: str(described[key]) for key in ("policy", "scope") if key in described}
    return topology(node, *zones, **more)
