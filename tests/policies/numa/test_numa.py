"""Numa, in policy tests."""

from typing import Any

import numpy as np
import pytest

from rescheduler.kube.annotations import NUMA_OBSERVED
from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from tests.cluster import reading
from tests.policies.numa.zones import SPLIT, bound, cluster, numa, two_zones
from tests.policies.numa_drawing import GPU, guaranteed


def planned(before: Snapshot, *policies: Any) -> Plan:
    return plan(before, policy_set(list(policies), Limits()), History(), mode="Enforce")


def trio(**kinds: Any) -> list[Pod]:
    """Three pods of a Deployment that each want 2 GPUs; p0 is split over the zones of n1."""
    return [
        guaranteed("p0", "n1", {GPU: 2}, lies=kinds.get("lies", SPLIT)),
        *(guaranteed(f"p{number}", "n3", {GPU: 2}) for number in (1, 2)),
    ]


def full(*free: float, policy: str = "single-numa-node") -> NodeResourceTopology:
    return two_zones("n3", *free, policy=policy)


def test_a_split_pod_moves_to_a_node_with_a_zone_that_holds_it() -> None:
    before = cluster(
        two_zones("n1", 3, 3),
        two_zones("n2", 4, 4, policy="single-numa-node"),
        full(2, 2),
        pods=trio(),
    )
    term = bound(before)
    assert term.cost() == 1.0
    assert term.candidates().tolist() == [0]
    [finding] = term.findings()
    assert finding.code == "NUM001"
    assert "it lies in node-0, node-1 (by its annotation)" in finding.message
    assert "1 of 2 could hold it" in finding.message
    np.testing.assert_allclose(term.deltas(0, np.array([0, 1, 2], np.int32)), [0, -1, -1])
    made = planned(before, numa())
    assert [(m.pod.name, m.source) for m in made.moves] == [("p0", "n1")]


def test_without_an_annotation_only_what_is_certain_counts() -> None:
    alone = cluster(two_zones("n1", 3, 3), pods=[guaranteed("p0", "n1", {GPU: 2})])
    assert bound(alone).cost() == 1.0
    [finding] = bound(alone).findings()
    assert "it lies in at least 2 NUMA zones (by what each has allocated)" in finding.message
    # Each zone has given away enough for one of the two: either may be whole.
    pair = [guaranteed(f"p{number}", "n1", {GPU: 2}) for number in (0, 1)]
    both = bound(cluster(two_zones("n1", 2, 2), pods=pair))
    assert both.cost() == 0.0
    assert "the zones of 2 of 2 pods are neither given" in both.warnings()[0].message


def test_a_zone_that_one_move_fills_does_not_serve_another() -> None:
    pods = [guaranteed(f"p{number}", "n1", {GPU: 3}, lies=SPLIT) for number in (0, 1)]
    before = cluster(two_zones("n1", 1, 1), two_zones("n2", 3, 0), pods=pods)
    for zone, allocatable in zip(before.topologies[1].zones or (), "30", strict=True):
        (zone.resources or [])[0].allocatable = allocatable
    term = bound(before)
    n2 = np.array([1], np.int32)
    assert term.deltas(1, n2) == [-1.0]
    term.commit(Shift(0, 0, 1))
    assert term.deltas(1, n2) == [0.0]
    assert term.cost() == 1.0


def test_nothing_is_gained_where_zones_are_not_known_or_not_aligned() -> None:
    before = cluster(
        two_zones("n1", 3, 3),
        two_zones("n2", 4, 4, policy="none"),
        full(2, 2),
        pods=trio(),
        beside=["n9"],
    )
    term = bound(before)
    np.testing.assert_allclose(term.deltas(0, np.array([1, 3], np.int32)), [0, 0])
    assert term.unknown_nodes().tolist() == [False, True, False, True]
    assert any("n9" in warning.message for warning in term.warnings())


def test_a_landing_that_a_kubelet_refuses_is_refused_for_any_policy() -> None:
    # p0 leaves by the will of Spread alone, and n2 has no zone with two GPUs free.
    pods = [
        *(guaranteed(f"p{number}", "n1", {GPU: 2}) for number in range(3)),
        *(guaranteed(f"h{number}", "n2", {GPU: 3}, workload="other") for number in range(2)),
    ]
    zones = [two_zones("n1", 0, 2), two_zones("n2", 1, 1, policy="single-numa-node")]
    before = cluster(*zones, pods=pods)
    apart = Spread(name="s", match=Match(all=True), topologyKey="kubernetes.io/hostname")
    refused = [r for r in planned(before, apart).refused if r.pod.name.startswith("p")]
    assert len(refused) == 3
    assert {refusal.code for refusal in refused} == {"FEA007"}
    assert "kubelet would refuse it" in refused[0].message


def test_without_topology_it_is_not_evaluated() -> None:
    problem = numa().compile(cluster(pods=[], beside=["n9"]))
    assert isinstance(problem, Problem)
    assert problem.code == "NUM004"


def test_a_crowded_zone_is_charged_by_the_memory_of_the_pod() -> None:
    policy = numa(crowded="80%")
    [request] = policy.requests()
    values = reading("node.numa.memory", [0.9, 0.3], max_age=request.max_age)
    pods = [guaranteed("p0", "n1", {"memory": "32000000000"})]
    before = cluster(two_zones("n1", 4, 4), two_zones("n2", 4, 4), pods=pods, readings=[values])
    term = bound(before, policy)
    assert term.cost() == pytest.approx(0.5 * 0.5)
    [finding] = term.findings()
    assert finding.code == "NUM002"
    assert term.deltas(0, np.array([1], np.int32)) == pytest.approx([-0.25])


def test_an_annotation_that_cannot_be_read_is_reported() -> None:
    pods = [guaranteed("p0", "n1", {GPU: 2}, lies=[("node-7", {GPU: "2"})])]
    before = cluster(two_zones("n1", 2, 4), pods=pods)
    assert any("cannot be read" in warning.message for warning in bound(before).warnings())


def test_an_annotation_that_nests_too_deeply_is_reported() -> None:
    pod = guaranteed("p0", "n1", {GPU: 2})
    deep = '[{"zone": "node-0", "other": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}]"
    pod.metadata.annotations = {NUMA_OBSERVED: deep}
    before = cluster(two_zones("n1", 2, 4), pods=[pod])
    assert any("cannot be read" in warning.message for warning in bound(before).warnings())
