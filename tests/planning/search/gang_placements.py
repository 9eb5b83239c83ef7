"""Clusters in which a gang waits for room."""

from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.match import Match
from tests.cluster import budget, controller, deployment, node, pod, snapshot

GPU = "nvidia.com/gpu"
ROOM = Fragmentation(
    name="room",
    match=Match(namespaces=["default"]),
    resources=[],
    room=Match(namespaces=["ml"]),
)
FREE: dict[str, Any] = {
    "movesPerNamespace": 20, "movesPerCycle": 20, "movesPerHour": 20, "movesPerNode": 9,
    "movesPerWorkload": 9, "minReplicas": 1, "coolDown": "0s", "gainShare": 0,
}  # fmt: skip


def world(
    held: list[int],
    spare: list[int],
    *,
    gang: int = 2,
    pod_gpus: int = 8,
    stuck: frozenset[int] = frozenset(),
) -> Snapshot:
    """Nodes of 8 GPUs with so many small pods, others with so many GPUs free; a gang that waits.

    The scheduler prefers the spare nodes, which have more CPU and memory left. stuck: nodes of
    whose pods a budget lets none go.
    """
    nodes = [
        node(f"n{number}", allocatable={"cpu": "16", "memory": "64Gi", GPU: "8"})
        for number in range(len(held))
    ]
    nodes += [
        node(f"s{number}", allocatable={"cpu": "128", "memory": "512Gi", GPU: str(free)})
        for number, free in enumerate(spare)
    ]
    owners, pods, budgets = [], [], []
    for number, count in enumerate(held):
        for index in range(count):
            name = f"small-{number}-{index}"
            made = deployment(name, replicas=1)
            owners += list(made)
            asks = {"cpu": "1", GPU: "1"}
            pods.append(
                pod(f"{name}-0", f"n{number}", owner=made[1], requests=asks, labels={"app": name})
            )
            allowed = 0 if number in stuck else 1
            budgets.append(budget(name, name, allowed=allowed, healthy=2))
    owner = controller("Job", "llama", namespace="ml")
    asks = {"cpu": "1", GPU: str(pod_gpus)}
    pods += [pod(f"llama-{i}", namespace="ml", owner=owner, requests=asks) for i in range(gang)]
    return snapshot(nodes, pods, controllers=[*owners, owner], budgets=budgets)
