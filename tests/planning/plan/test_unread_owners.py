"""A plan tells of the pods that are left alone for an owner which is not read."""

from typing import Any

import pytest

from rescheduler.kube.objects import OwnerReference
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import controller, node, pod, snapshot


def cluster(*owners: tuple[str, str, int], namespace: str = "default") -> Snapshot:
    """Controllers with as many pods, each run by an object of that API group and kind."""
    pods, controllers = [], []
    for number, (group, kind, count) in enumerate(owners):
        made = controller("ReplicaSet", f"app{number}", replicas=count, namespace=namespace)
        if kind:
            above = OwnerReference(
                kind=kind, apiVersion=f"{group}/v1", name="x", uid=f"x{number}", controller=True
            )
            made.metadata.ownerReferences = [above]
        controllers.append(made)
        owner = OwnerReference(
            kind="ReplicaSet", name=f"app{number}", uid=made.metadata.uid, controller=True
        )
        for n in range(count):
            pod_object = pod(f"app{number}-{n}", "n1", namespace=namespace)
            pod_object.metadata.ownerReferences = [owner]
            pods.append(pod_object)
    return snapshot([node("n1")], pods, controllers=controllers)


def told(before: Snapshot, **limits: Any) -> list[str]:
    made = plan(before, policy_set([], Limits.model_validate(limits)), History(), mode="Enforce")
    return [note.message for note in made.notes if note.code == "ELG036"]


ROLLOUT, NOTEBOOK = ("argoproj.io", "Rollout"), ("kubeflow.org", "Notebook")


def test_a_plan_counts_the_pods_by_the_kind_that_is_not_read() -> None:
    before = cluster((*NOTEBOOK, 1), (*ROLLOUT, 1200), (*ROLLOUT, 40), ("", "", 3))
    (text,) = told(before)
    assert text == (
        "1,240 pods are run by Rollout.argoproj.io, 1 by Notebook.kubeflow.org, "
        "which are not read (otherOwners)"
    )
    (text,) = told(before, otherOwners=["Rollout.argoproj.io"])
    assert text == "1 pod is run by Notebook.kubeflow.org, which is not read (otherOwners)"
    assert told(before, otherOwners="Allow") == []


def test_many_kinds_are_not_all_named() -> None:
    (text,) = told(cluster(*(("a.io", f"K{n}", 9 - n) for n in range(7))))
    assert text.startswith("9 pods are run by K0.a.io, 8 by K1.a.io, ")
    assert text.endswith("5 by K4.a.io, 7 by 2 more kinds, which are not read (otherOwners)")


@pytest.mark.parametrize("limits", [{}, {"protectedNamespaces": ["db"]}])
def test_pods_that_are_left_alone_anyway_are_not_counted(limits: dict[str, Any]) -> None:
    assert bool(told(cluster((*ROLLOUT, 2), namespace="db"), **limits)) == (not limits)
