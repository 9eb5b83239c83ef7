"""Clusters of GPU nodes that one workload each makes hot or leaves cool."""

from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from tests.picture import picture

STEERED = {"steering": {"by": "AdmissionPolicy"}}
WIDE = {
    "movesPerCycle": 50,
    "movesPerNode": 10,
    "movesPerNamespace": 50,
    "movesPerWorkload": 5,
    "movesPerHour": 50,
}
"""Limits that limit no cycle of these clusters."""


def relief(**fields: Any) -> Utilization:
    spec = {
        "name": "hot",
        "match": {"all": True},
        "nodes": {"all": True},
        "targets": {"gpu": {"high": "50%", "low": "40%"}},
        "wholeDevices": "Count",
    }
    return Utilization.model_validate(spec | fields)


def limits(**fields: Any) -> Limits:
    return Limits.model_validate(WIDE | fields)


def gpu_cluster(
    hot: int, cool: int, policy: Policy, pods: int = 5, reported: float = 1.0, **more: Any
) -> Snapshot:
    """Nodes of 8 GPUs, the hot ones first, each with its own workload app1, app2 and so on.

    reported: which share of the nodes' load the metrics of the pods report.
    """
    loads = [0.62] * hot + [0.1] * cool
    numbers = range(1, len(loads) + 1)
    return picture(
        "\n".join(
            f"zone {'abc'[n % 3]} | n{n} gpu 8 | {' '.join([f'app{n}'] * pods)}" for n in numbers
        ),
        requests={f"app{n}": {"cpu": "1", "nvidia.com/gpu": "1"} for n in numbers},
        readings={
            "node.gpu": {f"n{n}": load for n, load in zip(numbers, loads, strict=True)},
            "pod.gpu": {
                f"app{n}": reported * load * 8 / pods
                for n, load in zip(numbers, loads, strict=True)
            },
        },
        policies=[policy],
        **more,
    )
