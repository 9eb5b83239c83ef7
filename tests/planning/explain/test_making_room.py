"""The single move that makes room for a Pending pod, and why there is none."""

from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.explanation import Header, PendingPod
from rescheduler.model.moves.move import Shift
from rescheduler.model.moves.plan import ClusterRef
from rescheduler.planning.explain.pending import SHOWN, explain_pending, make_room
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.planning.full_cluster import budgeted, full_cluster, index, working_copy

HEADER = Header(cluster=ClusterRef(uid="c"), taken=NOW)


def reported(made: Snapshot) -> dict[str, PendingPod]:
    return {one.pod.name: one for one in explain_pending(working_copy(made), HEADER).pods}


def test_each_move_really_makes_room() -> None:
    made = full_cluster()
    found = make_room(working_copy(made), index(made, "big-0"))
    assert [move.pod.name for move in found.moves] == ["web-0", "web-1", "web-2"]
    for move in found.moves:
        model = SchedulerModel(made)
        pending, moved = index(made, "big-0"), index(made, move.pod.name)
        assert not model.feasible(pending).any()
        target = made.node_index[move.landing[0].node]
        model.commit(Shift(moved, int(made.pod_node[moved]), target))
        assert model.feasible(pending)[made.node_index[move.fits]]
        assert move.returns == 0.0


def test_the_working_copy_is_as_before() -> None:
    made = full_cluster()
    copy = working_copy(made)
    before = copy.scheduler.occupancy.requested.copy()
    make_room(copy, index(made, "big-0"))
    assert (copy.scheduler.occupancy.requested == before).all()


def test_the_least_disruptive_comes_first() -> None:
    made = full_cluster()
    made.pods[index(made, "web-0")].spec.priority = 2**24
    found = make_room(working_copy(made), index(made, "big-0"))
    assert [move.pod.name for move in found.moves] == ["web-1", "web-2", "web-0"]
    costs = [move.disruption for move in found.moves]
    assert costs == sorted(costs)
    assert len(found.moves) <= SHOWN


def test_a_pod_under_a_spent_budget_is_not_asked_to_move() -> None:
    made = budgeted(0)
    found = make_room(working_copy(made), index(made, "big-0"))
    assert found.moves == []
    assert found.skipped["BUD002"] == 3
    one = reported(made)["big-0"]
    assert one.none is not None
    assert "3 BUD002" in one.none.message


def test_without_room_elsewhere_no_move_helps() -> None:
    made = full_cluster()
    smaller = [node for node in made.nodes if node.metadata.name != "small"]
    one = reported(snapshot(smaller, made.pods, controllers=made.controllers))["big-0"]
    assert one.moves == []
    assert one.none is not None
    assert one.none.code == "FEA001"


def test_pending_pods_are_reported_once_for_all_that_are_alike() -> None:
    found = reported(full_cluster())
    assert sorted(found) == ["big-0", "easy", "fussy", "gated"]
    assert found["big-0"].alike == 2
    assert [(r.reason, r.count) for r in found["big-0"].reasons] == [
        ("Insufficient cpu", 4),
        ("node(s) had untolerated taint(s)", 1),
        ("node(s) were unschedulable", 1),
    ]


def test_each_pending_pod_has_its_own_finding() -> None:
    found = reported(full_cluster())
    fussy = found["fussy"].none
    assert fussy is not None
    assert "whatever is moved" in fussy.message
    assert found["easy"].feasible == 4
    assert found["easy"].none is None
    gated = found["gated"].refusal
    assert gated is not None
    assert gated.code == "FEA005"


@pytest.mark.parametrize("kind", ["port", "anti"])
def test_room_is_more_than_resources(kind: str) -> None:
    """A port that is taken, or a pod that is disliked, goes away with one move as well."""
    (holder, holder_set) = deployment("holder", replicas=1)
    nodes = [node("a"), node("b")]
    port = {"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "holder"}},
    }
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec: dict[str, Any] = {"containers": [port]} if kind == "port" else {}
    pods = [pod("holder-0", "a", owner=holder_set, labels={"app": "holder"}, **spec)]
    wants = {"nodeSelector": {"kubernetes.io/hostname": "a"}}
    more: dict[str, Any] = {**wants, **(spec if kind == "port" else {"affinity": anti})}
    made = snapshot(nodes, [*pods, pod("late", **more)], controllers=[holder, holder_set])
    copy = working_copy(made, limits=Limits(minReplicas=1))
    found = make_room(copy, len(made.pods) - 1)
    assert [(move.pod.name, move.fits) for move in found.moves] == [("holder-0", "a")]
