"""Clusters with NUMA zones, for tests of what evaluates them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rescheduler.kube.objects import Pod
from tests.cluster import deployment, pod

GPU = "nvidia.com/gpu"
NIC = "example.com/vf"


def guaranteed(
    name: str,
    on: str = "",
    *containers: Mapping[str, Any],
    lies: Iterable[tuple[str, Mapping[str, Any]]] = (),
    workload: str = "train",
) -> Pod:
    """A Guaranteed pod of a Deployment; each container asks for 1 CPU and 1Gi more than that.

    lies: zone and amounts, as the placement annotation has them.
    """
    _, owner = deployment(workload)
    observed_zones = [{"zone": zone, "amount": dict(amount)} for zone, amount in lies]
    notes = (
        {"kai.scheduler/numa-placement-observed": msgspec.json.encode(observed_zones).decode()}
        if observed_zones
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
