"""FEA007: no pod is moved to where a kubelet refuses it, or may refuse it for all that is known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from rescheduler.policytest.topologies import topology
from tests.cluster import deployment, node, pod, snapshot
from tests.policies.numa_drawing import GPU, guaranteed

TWO_GPUS = {GPU: 2}
ZONE = {GPU: (4.0, 4.0), "cpu": (16.0, 16.0), "memory": (64e9, 64e9)}


def late(policy: str) -> NodeResourceTopology:
    """Its zones are all free, and a pod of n2 holds two GPUs."""
    return topology("n2", ZONE, ZONE, policy=policy)


def many(policy: str) -> NodeResourceTopology:
    """More zones than anybody tries all sets of."""
    return topology("n2", *[ZONE] * 13, policy=policy)


def garbled(policy: str) -> NodeResourceTopology:
    """A zone with an amount that is no quantity."""
    made = topology("n2", ZONE, ZONE, policy=policy)
    _, zone = made.zones or []
    (zone.resources or [])[0].available = "two"
    return made


def cluster(
    there: NodeResourceTopology, *, plain: bool = False, asked: Mapping[str, Any] = TWO_GPUS
) -> Snapshot:
    """Three pods on n1, which ask for that if they are not plain, and one of others on n2."""
    room = {GPU: "8", "cpu": "32", "memory": "128Gi"}
    _, owner = deployment("train", replicas=3)
    pods = [
        pod(name, "n1", owner=owner, labels={"app": "train"})
        if plain
        else guaranteed(name, "n1", asked)
        for name in ("p0", "p1", "p2")
    ]
    used = 4.0 if plain else 1.0
    here = topology("n1", {**ZONE, GPU: (4.0, used)}, {**ZONE, GPU: (4.0, used)}, policy="none")
    return snapshot(
        [node(name, allocatable=room) for name in ("n1", "n2")],
        [*pods, guaranteed("other", "n2", {GPU: 2}, workload="other")],
        controllers=[*deployment("train", replicas=3), *deployment("other")],
        topologies=[here, there],
    )


def planned(before: Snapshot) -> Plan:
    apart = Spread(name="s", match=Match(all=True), topologyKey="kubernetes.io/hostname")
    return plan(before, policy_set([apart], Limits()), History(), mode="Enforce")


def refusals(before: Snapshot) -> list[str]:
    """Why the three pods stay, each in its own words; all of them do."""
    made = planned(before)
    assert not made.moves
    refused = [refusal for refusal in made.refused if refusal.pod.name.startswith("p")]
    assert [refusal.code for refusal in refused] == ["FEA007"] * 3
    return [refusal.message for refusal in refused]


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
@pytest.mark.parametrize(
    ("there", "why"),
    [
        (late, "its zones report 0 nvidia.com/gpu in use, and its pods ask for 2"),
        (many, "it has more than 12 NUMA zones"),
        (garbled, "'two' is not a Kubernetes quantity"),
    ],
)
def test_a_strict_kubelet_of_unknown_zones_gets_no_pod_that_wants_one(
    policy: str, there: Any, why: str
) -> None:
    for message in refusals(cluster(there(policy))):
        assert "(100%) on n2" in message
        assert f"NodeResourceTopology cannot be relied on ({why}" in message
        assert f"kubelet's policy is {policy}" in message


@pytest.mark.parametrize("asked", [{GPU: 2}, {"cpu": 2}])
def test_an_object_without_zones_reports_nothing_that_a_pod_could_rely_on(asked: Any) -> None:
    there = topology("n2", policy="restricted")
    for message in refusals(replace(cluster(there, asked=asked), topologies=[there])):
        assert "NodeResourceTopology cannot be relied on (it has 0 NUMA zones" in message


def test_a_policy_that_nobody_knows_may_refuse() -> None:
    for message in refusals(cluster(late("prefer-socket"))):
        assert "kubelet's policy is prefer-socket" in message


@pytest.mark.parametrize("there", [late, many, garbled])
def test_pods_that_want_nothing_of_zones_go_there_all_the_same(there: Any) -> None:
    assert planned(cluster(there("restricted"), plain=True)).moves


@pytest.mark.parametrize("policy", ["none", "best-effort", ""])
@pytest.mark.parametrize("there", [late, many, garbled])
def test_a_kubelet_that_refuses_nothing_is_no_obstacle(policy: str, there: Any) -> None:
    assert planned(cluster(there(policy))).moves


@pytest.mark.parametrize(("plain", "held"), [(False, True), (True, False)])
def test_unread_zones_hold_the_pods_that_a_kubelet_may_refuse(plain: bool, held: bool) -> None:
    kind = "NodeResourceTopology"
    before = replace(
        cluster(late("none"), plain=plain),
        topologies=[],
        unread=[kind],
        served={kind: "it answered 500: conversion webhook failed"},
    )
    made = planned(before)
    assert ("FEA007" in made.totals.refused) is held
    assert bool(made.moves) is not held
    if held:
        assert "it answered 500: conversion webhook failed" in made.refused[0].message
