"""A policy all of whose pods are left alone for ever is told, and no other."""

from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.never_moved import never_moved
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.registry import KINDS
from tests.cluster import controller, deployment, node, pod, snapshot


def cluster() -> Snapshot:
    top, web = deployment("web")
    agent = controller("DaemonSet", "agent")
    pods = [
        pod("web", "n1", owner=web, labels={"app": "web"}),
        pod("agent", "n1", owner=agent, labels={"app": "agent"}),
        pod("bare", "n1", labels={"app": "bare"}),
    ]
    return snapshot([node("n1")], pods, controllers=[top, web, agent])


def spread(**match: Any) -> Any:
    return KINDS["Spread"].model_validate({"kind": "Spread", "name": "s", "match": match})


def said(policy: Any, limits: Limits | None = None) -> list[str]:
    before = cluster()
    eligibility = Eligibility(before, limits or Limits(), History())
    return list(never_moved(policy, before, eligibility))


@pytest.mark.parametrize(
    ("match", "limits", "reason"),
    [
        ({"labels": {"matchLabels": {"app": "agent"}}}, {}, "A DaemonSet pod belongs to its node"),
        ({"ownerKinds": ["Pod"]}, {}, "The pod has no controller that would replace it (ELG001)"),
        ({"all": True}, {"protectedNamespaces": ["default"]}, "The namespace is protected"),
    ],
)
def test_it_is_told(match: Any, limits: Any, reason: str) -> None:
    [text] = said(spread(**match), Limits.model_validate(limits))
    assert text.startswith("match: no pod that it selects may be moved")
    assert reason in text


def test_one_pod_that_may_be_moved_is_enough() -> None:
    assert said(spread(all=True)) == []
    assert said(spread(namespaces=["elsewhere"])) == []


def test_what_only_reports_needs_no_pod_that_may_be_moved() -> None:
    idle = KINDS["IdleGPUs"].model_validate(
        {"kind": "IdleGPUs", "name": "i", "match": {"ownerKinds": ["Pod"]}}
    )
    assert said(idle) == []


def test_the_plan_says_it_too() -> None:
    made = plan(cluster(), policy_set([spread(ownerKinds=["Pod"])]), History(), mode="Enforce")
    selection = made.policies[0].selection
    assert selection is not None
    assert any("may be moved" in message for message in selection.inert)


def test_a_bound_of_its_own_above_that_of_the_limits_has_no_effect() -> None:
    policy = spread(all=True).model_copy(update={"maxPriority": 1000})
    text = "maxPriority has no effect: the Limits move no pod above 100"
    assert text in list(policy.conflicts(Limits(maxPriority=100)))
    assert list(policy.conflicts(Limits(maxPriority=5000))) == []
