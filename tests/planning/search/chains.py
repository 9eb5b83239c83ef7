"""Full clusters in which one pod must leave before another can come."""

from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import budget, deployment, node, pod, snapshot

RULES = Conformity.model_validate(
    {"name": "rules", "match": {"all": True}, "nodeAffinity": {"required": True}, "mode": "Enforce"}
)
FREE = {"movesPerNamespace": 9, "movesPerCycle": 9, "movesPerHour": 9, "movesPerNode": 9,
        "movesPerWorkload": 9, "gainShare": 0, "minReplicas": 1, "coolDown": "0s"}  # fmt: skip
STEERED = {"steering": {"by": "AdmissionPolicy", "strength": "Require"}}


def full(*, room: str = "0", third: bool = False, allowed: int = 2) -> Snapshot:
    """`ssd` must be on `fast`, which `hdd` fills; nobody has room for `ssd` anywhere.

    room: CPUs that are free on `hub`. third: whether another pod of 2 CPUs is there, which fits on
    `far`: `hdd` then has to wait for it.
    """
    made = {name: deployment(name, replicas=1) for name in ("ssd", "hdd", "web")}
    nodes = [
        node("slow", allocatable={"cpu": "4"}),
        node("fast", allocatable={"cpu": "4"}, labels={"disk": "ssd"}),
        node("hub", allocatable={"cpu": "4" if third else room}),
        node("far", allocatable={"cpu": "2" if third else "100m"}),
    ]
    places = [("ssd", "slow", "4"), ("hdd", "fast", "3")] + [("web", "hub", "2")] * third
    pods = [
        pod(f"{name}-0", on, owner=made[name][1], labels={"app": name}, requests={"cpu": cpu},
            nodeSelector={"disk": "ssd"} if name == "ssd" else {})
        for name, on, cpu in places
    ]  # fmt: skip
    return snapshot(
        nodes,
        pods,
        controllers=[controller for pair in made.values() for controller in pair],
        budgets=[budget(name, name, allowed=allowed, healthy=2) for name in made],
    )


def planned(made: Snapshot, history: History | None = None, **limits: Any) -> Plan:
    chosen = Limits.model_validate(FREE | STEERED | limits)
    return plan(made, policy_set([RULES], chosen), history or History(), mode="Enforce")
