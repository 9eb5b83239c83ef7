"""What the affinity of one tenant's pods can do to the pods of another: nothing but count."""

from collections.abc import Sequence
from typing import Any

import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Match, Policy, Warns
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.shared.own_partners import MOST_TERMS
from tests.cluster import controller, node, pod, snapshot

HOST = "kubernetes.io/hostname"
ABOUT = {
    "topologyKey": HOST,
    "namespaceSelector": {},
    "labelSelector": {"matchLabels": {"app": "web"}},
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APART = {"podAntiAffinity": {REQUIRED: [ABOUT]}}
NEAR = {"podAffinity": {REQUIRED: [ABOUT]}}
WISH = {"podAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": ABOUT}]}}

ALL = Match(all=True)
CONFORMITY = Conformity(
    name="conformity", mode="Enforce", match=ALL, podAntiAffinity=True, podAffinity=True
)
LOCALITY = Locality(name="near", mode="Enforce", match=ALL, podAffinity=True)


def cluster(of_tenant: Sequence[Pod]) -> Snapshot:
    """Three pods of `web` on three of five nodes, and what the tenant has made."""
    web = controller("ReplicaSet", "web", replicas=3)
    pods = [pod(f"web-{n}", f"n{n}", owner=web, labels={"app": "web"}) for n in (1, 2, 3)]
    return snapshot([node(f"n{n}") for n in range(1, 6)], [*pods, *of_tenant], controllers=[web])


def moved(policy: Policy, made: Snapshot) -> list[str]:
    policies = PolicySet((policy,), Limits(), {policy.name: "", "limits": ""}, {})
    return [move.pod.name for move in plan(made, policies, History(), mode="Enforce").moves]


@pytest.mark.parametrize(
    ("policy", "affinity", "on"),
    [
        (CONFORMITY, APART, "n1"),
        (LOCALITY, NEAR, "n5"),
        (LOCALITY, WISH, "n5"),
    ],
)
def test_a_pod_moves_for_no_term_of_another_namespace(
    policy: Policy, affinity: dict[str, Any], on: str
) -> None:
    # Nobody owns these pods, so that they cannot be moved themselves; a tenant binds them by name.
    theirs = [pod(f"made-{n}", on, namespace="tenant", affinity=affinity) for n in range(5)]
    assert moved(policy, cluster(theirs)) == []
    ours = [pod(f"made-{n}", on, affinity=affinity) for n in range(5)]
    assert moved(policy, cluster(ours)) != []


@pytest.mark.parametrize(("policy", "code"), [(CONFORMITY, "CNF009"), (LOCALITY, "LOC006")])
def test_more_terms_about_the_pods_of_a_namespace_than_are_followed(
    policy: Policy, code: str
) -> None:
    # Each about all pods of the tenant but one, and no two alike.
    theirs = [
        pod(
            f"made-{n}", "n1", namespace="tenant", labels={"app": f"a{n}"}, affinity=about_others(n)
        )
        for n in range(MOST_TERMS + 2)
    ]
    ours = pod("alone", "n1", affinity=NEAR)
    term = policy.compile(cluster([*theirs, ours]))
    assert not isinstance(term, Problem)
    assert term.cost() == 0
    assert isinstance(term, Warns)
    (told,) = term.warnings()
    assert told.code == code
    assert "namespace tenant (" in told.message
    fewer = policy.compile(cluster([*theirs[: MOST_TERMS // 2], ours]))
    assert isinstance(fewer, Warns)
    assert fewer.warnings() == ()


def about_others(number: int) -> dict[str, Any]:
    others = {"key": "app", "operator": "NotIn", "values": [f"a{number}"]}
    term = {"topologyKey": HOST, "labelSelector": {"matchExpressions": [others]}}
    return {"podAffinity": {REQUIRED: [term]}}
