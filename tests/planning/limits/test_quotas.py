"""ResourceQuotas: whether they admit the replacement, beside the old pod or after it."""

from datetime import timedelta
from typing import Any

import msgspec

from rescheduler.kube.controllers import PodTemplate, ResourceQuota, ResourceQuotaSpec
from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.quota_scopes import counts
from rescheduler.model.cluster.next_pods import REVISION
from rescheduler.model.moves.history import History
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import NOW, like
from tests.planning.limits.budgets import cluster, code, spent
from tests.planning.limits.quotas import QUOTA


def test_a_quota_needs_room_for_the_replacement_beside_the_old_pod() -> None:
    budgets = spent(cluster(quota=QUOTA), {}, 0)
    refusal = budgets.refusal(1)
    assert refusal is not None
    assert refusal.code == "BUD004"
    assert "0.5 left of requests.cpu" in refusal.message
    budgets.release(0)
    assert code(budgets, 1) == ""


def test_a_stateful_set_waits_so_the_quota_has_room() -> None:
    assert code(spent(cluster(quota=QUOTA, kind="StatefulSet"), {}, 0, 1), 2) == ""


@every(
    [
        (
            "StatefulSet",
            {"requests.cpu": "6"},
            {"requests.cpu": "6500m"},
            "allows 6 of requests.cpu",
        ),
        ("StatefulSet", {"requests.cpu": "6500m"}, {"requests.cpu": "6500m"}, ""),
        ("StatefulSet", {"pods": "2"}, {"pods": "3"}, "allows 2 of pods"),
        ("StatefulSet", {"requests.nvidia.com/gpu": "0"}, {"requests.nvidia.com/gpu": "1"}, ""),
        ("StatefulSet", {"limits.memory": "1Gi"}, {}, "wants limits of memory"),
        ("Deployment", {"requests.memory": "1Ti"}, {}, "wants requests of memory"),
        ("Deployment", {"memory": "1Ti"}, {}, "container main has none"),
        ("Deployment", {"cpu": "100"}, {"cpu": "1"}, ""),
        ("Deployment", {"requests.storage": "1Ti"}, {}, ""),
    ]
)
def test_a_lowered_or_later_quota_does_not_admit_the_replacement(
    kind: str, hard: dict[str, str], used: dict[str, str], said: str
) -> None:
    quota = QUOTA | {"status": {"hard": hard, "used": used}}
    refusal = Budgets(cluster(quota=quota, kind=kind), Limits(), History()).refusal(0)
    assert (refusal.code if refusal else "") == ("BUD004" if said else "")
    assert said in (refusal.message if refusal else "")


PRIORITY = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}


@every(
    [
        ({}, True),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["NotBestEffort", "Terminating"]}, False),
        ({"scopes": ["NotBestEffort"]}, True),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopes": ["PriorityClass"]}, False),
        ({"scopeSelector": {"matchExpressions": [PRIORITY]}}, False),
        ({"scopeSelector": {"matchExpressions": [PRIORITY | {"operator": "NotIn"}]}}, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, True),
    ]
)
def test_a_quota_counts_the_pods_in_its_scopes_alone(spec: dict[str, Any], held: bool) -> None:
    """A full one of high priority says nothing of others; a scope not evaluated counts all."""
    hard = {"limits.memory": "1Gi", "requests.cpu": "6500m"}
    quota = QUOTA | {"spec": spec, "status": {"hard": hard, "used": {"requests.cpu": "6500m"}}}
    found = code(Budgets(cluster(quota=quota), Limits(), History()), 0)
    assert found == ("BUD004" if held else "")


@every(
    [
        ({}, {"NotTerminating", "BestEffort"}),
        ({"activeDeadlineSeconds": 60}, {"Terminating", "BestEffort"}),
        ({"resources": {"requests": {"cpu": "1"}}}, {"NotTerminating", "NotBestEffort"}),
        ({"priorityClassName": "high"}, {"NotTerminating", "BestEffort", "PriorityClass"}),
    ]
)
def test_a_pod_is_in_these_scopes(pod: dict[str, Any], scopes: set[str]) -> None:
    spec = msgspec.convert(pod, PodSpec)
    every = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass")
    quotas = {scope: ResourceQuota(spec=ResourceQuotaSpec(scopes=[scope])) for scope in every}
    assert {name for name, quota in quotas.items() if counts(quota, spec)} == scopes


def test_a_quota_that_cannot_be_read_refuses() -> None:
    odd = QUOTA | {"status": {"hard": {"requests.cpu": "many"}}}
    assert code(Budgets(cluster(quota=odd), Limits(), History()), 0) == "BUD004"


@every(
    [
        ("StatefulSet", "6", "4600m", "needs 1.5 more than the pod has"),
        ("StatefulSet", "6", "4500m", ""),
        ("Deployment", "6", "4500m", "1.5 left of requests.cpu, and the replacement needs 2"),
        ("Deployment", "6500m", "4500m", ""),
    ]
)
def test_a_quota_counts_what_the_replacement_asks_for(
    kind: str, hard: str, used: str, said: str
) -> None:
    """The newest pod has 2 CPUs, as an autoscaler's webhook sets them now; the others 0.5."""
    status = {"hard": {"requests.cpu": hard}, "used": {"requests.cpu": used}}
    before = cluster(quota=QUOTA | {"status": status}, kind=kind if kind == "StatefulSet" else "")
    for owner in before.controllers:
        owner.spec.template = PodTemplate(spec=before.pods[0].spec)
        owner.status.updateRevision = "r"
    for number, pod in enumerate(before.pods[:3]):
        pod.metadata.labels = {**(pod.metadata.labels or {}), REVISION: "r"}
        pod.spec = like(pod, "", "", {"cpu": "2" if number == 2 else "500m"}).spec
    before.pods[2].metadata.creationTimestamp = NOW - timedelta(hours=1)
    refusal = Budgets(before, Limits(), History()).refusal(0)
    assert (refusal.code if refusal else "") == ("BUD004" if said else "")
    assert said in (refusal.message if refusal else "")
