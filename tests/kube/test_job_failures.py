"""Which podFailurePolicy of a Job ignores an eviction, by the rules of Kubernetes."""

from typing import Any

import pytest

from rescheduler.kube.job_failures import ignores_eviction
from rescheduler.kube.objects import Condition
from tests.cluster import pod


def exits(action: str, operator: str, *codes: int, container: str = "") -> dict[str, Any]:
    named = {"containerName": container} if container else {}
    return {"action": action, "onExitCodes": {**named, "operator": operator, "values": list(codes)}}


def on(action: str, kind: str = "DisruptionTarget", status: str | None = "True") -> dict[str, Any]:
    pattern = {"type": kind} | ({} if status is None else {"status": status})
    return {"action": action, "onPodConditions": [pattern]}


IGNORED = [
    [on("Ignore")],
    [on("Ignore", status=None)],
    [exits("FailJob", "In", 42), on("Ignore")],  # Kubernetes' own example
    [exits("Count", "In", 1, 2), on("FailJob", "ConfigIssue"), on("Ignore")],
    [exits("Ignore", "In", 137, 143), on("FailJob")],
    [exits("Ignore", "NotIn", 42)],
    [exits("FailJob", "NotIn", 137, 143), on("Ignore")],
    [exits("Ignore", "In", 137, 143, container="main")],
    [on("FailJob", "Ready"), on("Initialized", "False"), on("Ignore")],
    [on("FailJob", status="False"), on("Ignore")],
    [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "ConfigIssue"}, {"type": "DisruptionTarget"}],
        }
    ],
]
COUNTED = [
    [],
    [on("Ignore", status="False")],
    [on("Ignore", status="Unknown")],
    [on("Ignore", "ConfigIssue")],
    [on("Count"), on("Ignore")],
    [on("FailIndex"), on("Ignore")],
    [exits("FailJob", "In", 143), on("Ignore")],
    [exits("FailJob", "NotIn", 42), on("Ignore")],
    [exits("Ignore", "In", 143)],
    [on("FailJob", "Ready", "False"), on("Ignore")],
    [on("FailJob", "ContainersReady", "False"), on("Ignore")],
    [on("FailJob", "PodScheduled"), on("Ignore")],
    [on("FailJob", "Initialized"), on("Ignore")],
    [on("FailJob", "PodReadyToStartContainers", "False"), on("Ignore")],
    [on("FailJob", "PodReadyToStartContainers"), on("Ignore")],
    [on("Ignore", "PodReadyToStartContainers", "False")],
    [{"action": "FailJob", "onSomethingNew": {}}, on("Ignore")],
    [{"action": "Ignore", "onSomethingNew": {}}],
]


@pytest.mark.parametrize("rules", IGNORED)
def test_the_first_rule_that_matches_ignores_the_eviction(rules: list[dict[str, Any]]) -> None:
    assert ignores_eviction({"rules": rules}, pod("a", "n1"))


@pytest.mark.parametrize("rules", COUNTED)
def test_another_eviction_counts_as_a_failure(rules: list[dict[str, Any]]) -> None:
    assert not ignores_eviction({"rules": rules}, pod("a", "n1"))


def test_without_a_policy_every_pod_that_fails_counts() -> None:
    assert not ignores_eviction(None, pod("a", "n1"))


def test_a_condition_that_the_pod_has_already_decides() -> None:
    rules = {"rules": [on("FailJob", "acme.test/Broken"), on("Ignore")]}
    broken, fine = pod("a", "n1"), pod("b", "n1")
    for pod_object, status in ((broken, "True"), (fine, "False")):
        pod_object.status.conditions = [Condition(type="acme.test/Broken", status=status)]
    assert not ignores_eviction(rules, broken)
    assert ignores_eviction(rules, fine)


def test_of_several_containers_one_may_end_well() -> None:
    several = pod("a", "n1", containers=[{"name": "main"}, {"name": "proxy"}])
    rules = {"rules": [exits("Ignore", "In", 137, 143, container="proxy")]}
    assert not ignores_eviction(rules, several)
    named = {"rules": [exits("FailJob", "In", 143, container="proxy"), on("Ignore")]}
    assert not ignores_eviction(named, several)
