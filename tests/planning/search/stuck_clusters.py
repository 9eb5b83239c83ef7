"""Clusters in which no single move gains."""

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.limits import Limits
from tests.cluster import budget, deployment, node, pod, snapshot
from tests.planning.search import chains as chained


def stuck(pairs: int) -> Snapshot:
    """So many pods that must be where another one is, which nobody has room for."""
    nodes, pods, owners, budgets = [], [], [], []
    for number in range(pairs):
        nodes += [
            node(f"slow-{number}", allocatable={"cpu": "4"}),
            node(f"fast-{number}", allocatable={"cpu": "4"}, labels={"disk": f"ssd-{number}"}),
        ]
        for name, on, cpu in (("ssd", "slow", "4"), ("hdd", "fast", "3")):
            made = deployment(f"{name}-{number}", replicas=1)
            owners += list(made)
            selector = {"disk": f"ssd-{number}"} if name == "ssd" else {}
            pods.append(
                pod(f"{name}-{number}-0", f"{on}-{number}", owner=made[1],
                    labels={"app": f"{name}-{number}"}, requests={"cpu": cpu},
                    nodeSelector=selector)
            )  # fmt: skip
            budgets.append(budget(f"{name}-{number}", f"{name}-{number}", allowed=2, healthy=2))
    nodes.append(node("hub", allocatable={"cpu": "3"}))
    return snapshot(nodes, pods, controllers=owners, budgets=budgets)


CHAINS = Limits.model_validate(chained.FREE | chained.STEERED)
