"""A full_cluster cluster with Pending pods, for tests of explanations."""

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from tests.cluster import budget, deployment, node, pod, snapshot

TAINT = {"key": "gpu", "value": "only", "effect": "NoSchedule"}


def full_cluster() -> Snapshot:
    """Three replicas of web on n0-n2 beside a bare pod each; `big` fits only where web leaves.

    `small` takes a web pod and nothing bigger. A tainted and a cordoned node take nobody.
    """
    (web, web_set), (big, big_set) = deployment("web"), deployment("big", replicas=2)
    nodes = [node(f"n{number}", zone="ab"[number % 2]) for number in range(3)]
    nodes += [
        node("tainted", taints=[TAINT]),
        node("cordoned", unschedulable=True),
        node("small", zone="a", allocatable={"cpu": "2"}),
    ]
    pods = []
    for number in range(3):
        on = f"n{number}"
        label = {"app": "web"}
        pods.append(pod(f"web-{number}", on, owner=web_set, labels=label, requests={"cpu": "2"}))
        pods.append(pod(f"solo-{number}", on, requests={"cpu": "5"}))
    for number in range(2):
        label = {"app": "big"}
        pods.append(pod(f"big-{number}", owner=big_set, labels=label, requests={"cpu": "3"}))
    pods += [
        pod("fussy", nodeSelector={"disk": "ssd"}),
        pod("easy"),
        pod("gated", schedulingGates=[{"name": "later"}]),
    ]
    return snapshot(nodes, pods, controllers=[web, web_set, big, big_set])


def budgeted(allowed: int) -> Snapshot:
    """The same, with a PodDisruptionBudget over web."""
    made = full_cluster()
    made.budgets.append(budget("web-pdb", "web", allowed=allowed))
    return made


def working_copy(made: Snapshot, *policies: Policy, limits: Limits | None = None) -> WorkingCopy:
    """A working copy of it."""
    return WorkingCopy(made, policies, limits or Limits(), History())


def index(made: Snapshot, name: str) -> int:
    """The index of the pod of that name."""
    return next(n for n, pod in enumerate(made.pods) if pod.metadata.name == name)
