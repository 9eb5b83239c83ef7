"""Two workloads with budgets, and moves that spend them."""

from typing import Any

import msgspec

from rescheduler.kube.controllers import PodDisruptionBudget, ResourceQuota
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.policies.limits import Limits
from tests.cluster import NOW, controller, deployment, node, pod, snapshot

WIDE = {
    "movesPerCycle": 100,
    "movesPerNode": 100,
    "movesPerNamespace": 100,
    "movesPerWorkload": 100,
    "movesPerHour": 100,
    "movesPerDay": 100,
}


def cluster(*budgets: PodDisruptionBudget, kind: str = "", quota: Any = None) -> Snapshot:
    """Workloads `web` and `api` of three pods each, one of each on n1 to n3."""
    pods, controllers = [], []
    for app in ("web", "api"):
        made = deployment(app)
        owner = controller(kind, app) if kind else made[1]
        controllers += [owner] if kind else list(made)
        pods += [
            pod(f"{app}-{i}", f"n{i}", owner=owner, labels={"app": app}, requests={"cpu": "1"})
            for i in (1, 2, 3)
        ]
    quotas = [msgspec.convert(quota, ResourceQuota)] if quota else []
    nodes = [node(f"n{i}") for i in (1, 2, 3)]
    return snapshot(nodes, pods, controllers=controllers, budgets=budgets, quotas=quotas)


def spent(made: Snapshot, limits: dict[str, Any], *pods: int, past: int = 0) -> Budgets:
    """The budgets after moves of these pods, and so many others within the hour."""
    moves = [
        PastMove(
            plan="", podUid=f"{i}", namespace="", pod="", workload="", source="", at=NOW,
            state="ready",
        )
        for i in range(past)
    ]  # fmt: skip
    budgets = Budgets(made, Limits.model_validate(WIDE | limits), History(moves))
    for pod_object in pods:
        assert budgets.refusal(pod_object) is None
        budgets.spend(pod_object)
    return budgets


def code(budgets: Budgets, pod: int) -> str:
    refusal = budgets.refusal(pod)
    return refusal.code if refusal else ""
