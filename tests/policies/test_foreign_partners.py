"""What the affinity of one tenant's pods can do to the pods of another: nothing but count."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.match import Match
from rescheduler.policies.shared.own_partners import MOST_TERMS
from rescheduler.policies.terms import Warns
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


WIDE = {"movesPerCycle": 9, "movesPerNode": 9, "movesPerHour": 9, "gainShare": 0}


def moved(policy: Policy, made: Snapshot, **given: object) -> list[str]:
    limits = Limits.model_validate(given)
    policies = PolicySet((policy,), limits, {policy.name: "", "limits": ""}, {})
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


@pytest.mark.parametrize(
    ("policy", "affinity"), [(CONFORMITY, APART), (CONFORMITY, NEAR), (LOCALITY, WISH)]
)
def test_partners_of_another_namespace_are_followed_where_they_go(
    policy: Policy, affinity: dict[str, Any]
) -> None:
    theirs = pod("made", "n1", namespace="tenant", affinity=affinity)
    before, nodes = cluster([theirs]), np.arange(5, dtype=np.int32)
    for away in (3, 4):
        shift = Shift(0, 0, away)
        term = policy.compile(before)
        assert not isinstance(term, Problem)
        assert not term.deltas(shift.pod, nodes).any()
        term.deltas(3, nodes)
        term.commit(shift)
        gone = msgspec.structs.replace(before.pods[0], node=f"n{away + 1}")
        after = policy.compile(replace(before, pods=[gone, *before.pods[1:]]))
        assert not isinstance(after, Problem)
        assert term.cost() == after.cost()
        assert term.deltas(3, nodes).tolist() == after.deltas(3, nodes).tolist()
        term.commit(shift.shift_back())
        assert term.cost() == policy.compile(before).cost()  # type: ignore[union-attr]


def test_two_that_must_be_apart_are_parted_once() -> None:
    """Each asks for it, and is of another namespace than the other."""
    pods, owners = list[Pod](), list[Controller]()
    for name, other, namespace in (("a", "b", "default"), ("b", "a", "tenant")):
        term = {**ABOUT, "labelSelector": {"matchLabels": {"app": other}}}
        owner = controller("ReplicaSet", name, namespace=namespace, replicas=3)
        owners.append(owner)
        for on, affinity in (
            ("n1", {"podAntiAffinity": {REQUIRED: [term]}}),
            (name, {}),
            (name, {}),
        ):
            made = pod(
                f"{name}-{len(pods)}", on, owner=owner, labels={"app": name}, affinity=affinity
            )
            made.metadata.namespace = namespace
            pods.append(made)
    nodes = [node(name) for name in ("a", "b", "n1", "n2", "n3")]
    assert len(moved(CONFORMITY, snapshot(nodes, pods, controllers=owners), **WIDE)) == 1


def test_a_finding_of_terms_that_come_to_the_same_is_known_by_all_of_them() -> None:
    front = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"tier": "front"}}}
    web = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
    pods = [pod("web-1", "n1", labels={"app": "web", "tier": "front"})]
    pods.append(pod("web-2", "n2", labels={"app": "web", "tier": "front"}))
    holders = [
        pod(f"made-{n}", f"n{3 + n}", affinity={"podAffinity": {REQUIRED: [term]}})
        for n, term in enumerate((front, web))
    ]

    def aspects(*holders: Pod) -> list[str]:
        made = snapshot([node(f"n{n}") for n in range(1, 6)], [*pods, *holders])
        term = LOCALITY.compile(made)
        assert not isinstance(term, Problem)
        return [finding.aspect for finding in term.findings()]

    (one,) = aspects(*holders)
    assert aspects(*reversed(holders)) == [one]
    (alone,) = aspects(holders[0])
    assert alone != one
