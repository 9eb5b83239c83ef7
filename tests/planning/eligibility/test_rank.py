"""Pods that no limit gives free: a critical priority, and a namespace that opted out."""

import pytest

from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import refusal
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import deployment, node, pod, snapshot

BOLD = Limits(maxPriority=2_100_000_000)


@every(
    [
        (2_000_000_000, "", "ELG009"),
        (2_000_001_000, "", "ELG009"),
        (1_000_000_000, "system-cluster-critical", "ELG009"),
        (1_000_000_000, "important", None),
    ]
)
def test_a_critical_priority_is_seen_by_number_and_by_name(
    priority: int, name: str, code: str | None
) -> None:
    top, made = deployment("web", replicas=1)
    pod_object = pod("web-1", "n1", owner=made, labels={"app": "web"})
    pod_object.spec.priority, pod_object.spec.priorityClassName = priority, name
    around = snapshot([node("n1")], [pod_object], controllers=[top, made])
    found = refusal(around, 0, BOLD.model_copy(update={"minReplicas": 1}), History())
    assert (found.code if found else None) == code


@pytest.mark.parametrize(("value", "code"), [("true", "ELG011"), ("false", None)])
def test_a_namespace_opts_out_for_its_pods(value: str, code: str | None) -> None:
    top, made = deployment("web", replicas=1)
    pod_object = pod("web-1", "n1", owner=made, labels={"app": "web"})
    around = snapshot([node("n1")], [pod_object], controllers=[top, made])
    around.namespaces[0].metadata.annotations = {"rescheduler.io/opt-out": value}
    found = refusal(around, 0, Limits(minReplicas=1), History())
    assert (found.code if found else None) == code
