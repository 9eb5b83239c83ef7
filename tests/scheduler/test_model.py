from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import NOW, controller, node, pod, snapshot


def owned(kind: str, on: str, **spec: Any) -> Any:
    return pod(f"{kind}-{on}", on, owner=controller(kind, "o"), **spec)


def twins(kind: str) -> Any:
    """A pod on `a` that leaves no room beside it there, and a fuller node `b`."""
    nodes = [node("a", allocatable={"cpu": "2"}), node("b", allocatable={"cpu": "8"})]
    mine = owned(kind, "a", requests={"cpu": "1500m"})
    return snapshot(nodes, [mine, pod("busy", "b", requests={"cpu": "6", "memory": "24Gi"})])


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_a_replacement_is_scheduled_beside_the_old_pod(kind: Any) -> None:
    landing = SchedulerModel(twins(kind)).landing(0)
    assert landing.nodes.tolist() == [1]
    assert landing.returns == 0.0
    assert landing.rejections == {"NodeResourcesFit": 1}


@pytest.mark.parametrize("kind", ["StatefulSet", "Job"])
def test_a_replacement_made_later_sees_its_place_free(kind: Any) -> None:
    model = SchedulerModel(twins(kind))
    assert model.feasible(0).tolist() == [True, True]
    assert model.landing(0).returns == 1.0


def test_an_owner_of_unknown_kind_is_refused_where_the_state_matters() -> None:
    made = twins("CloneSet")
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert refusal.code == "FEA005"
    assert SchedulerModel(made).feasible(0).tolist() == [False, True]


def test_an_owner_of_unknown_kind_is_predicted_if_its_state_is_no_matter() -> None:
    nodes = [node("a", unschedulable=True), node("b")]
    made = snapshot(nodes, [owned("CloneSet", "a")])
    assert SchedulerModel(made).landing(0).nodes.tolist() == [1]


def test_a_kind_of_another_group_is_not_the_native_one() -> None:
    made = twins("StatefulSet")
    made.pods[0].metadata.ownerReferences[0].apiVersion = "apps.kruise.io/v1beta1"
    assert SchedulerModel(made).landing(0).refusal is not None
    made.pods[0].metadata.ownerReferences[0].apiVersion = "apps/v1"
    assert SchedulerModel(made).landing(0).refusal is None


def test_a_replacement_without_room_waits_for_the_old_pod_and_comes_back() -> None:
    nodes = [node("a", allocatable={"cpu": "2"}), node("b", allocatable={"cpu": "1"})]
    made = snapshot(nodes, [owned("ReplicaSet", "a", requests={"cpu": "1500m"})])
    model = SchedulerModel(made)
    landing = model.landing(0)
    assert landing.nodes.tolist() == [0]
    assert (landing.returns, landing.unschedulable) == (1.0, 0.0)
    assert model.feasible(0).tolist() == [True, False]


def test_a_pod_that_fits_nowhere_is_unschedulable() -> None:
    made = snapshot([node("a")], [pod("p", requests={"cpu": "99"})])
    landing = SchedulerModel(made).landing(0)
    assert landing.unschedulable == 1.0
    assert len(landing.nodes) == len(landing.probabilities) == 0
    assert landing.rejections == {"NodeResourcesFit": 1}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"schedulerName": "volcano"}, "ELG018"),
        ({"schedulingGates": [{"name": "g"}]}, "FEA005"),
        ({"resourceClaims": [{"name": "g"}]}, "FEA005"),
    ],
)
def test_what_is_not_modelled_is_refused(spec: Any, code: Any) -> None:
    model = SchedulerModel(snapshot([node("a")], [pod("p", "a", **spec)]))
    landing = model.landing(0)
    assert landing.refusal is not None
    assert landing.refusal.code == code
    assert len(landing.nodes) == 0
    assert not model.feasible(0).any()


def test_a_scheduler_that_is_declared_is_modelled() -> None:
    made = snapshot([node("a")], [owned("ReplicaSet", "a", schedulerName="mine")])
    profile = {"mine": replace(default_profile("v1.36.3"), name="mine")}
    assert SchedulerModel(made, profile).landing(0).refusal is None


@pytest.mark.parametrize("version", ["", "v1.20.0"])
def test_a_server_whose_scheduler_is_not_modelled_gives_no_landing(version: Any) -> None:
    made = snapshot([node("a")], [owned("ReplicaSet", "a")])
    made = replace(made, cluster=Cluster(uid="1", version=version))
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert refusal.code == "FEA005"


def test_each_node_is_counted_at_the_first_filter_that_rejects_it() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nodes = [
        node("cordoned", unschedulable=True, taints=[taint]),
        node("tainted", taints=[taint], allocatable={"cpu": "0"}),
        node("small", allocatable={"cpu": "0"}),
        node("good"),
    ]
    landing = SchedulerModel(snapshot(nodes, [owned("ReplicaSet", "good")])).landing(0)
    assert landing.rejections == {
        "NodeUnschedulable": 1,
        "TaintToleration": 1,
        "NodeResourcesFit": 1,
    }


def test_labels_that_binding_stamped_are_not_the_replacements() -> None:
    zone = "topology.kubernetes.io/zone"
    rule = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {zone: "1"}},
    }
    repelling = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    nodes = [node("a", zone="1"), node("b", zone="1")]
    mine = owned("ReplicaSet", "a", labels={zone: "1"})
    made = snapshot(nodes, [mine, pod("q", "b", affinity=repelling)])
    assert SchedulerModel(made).feasible(0).tolist() == [True, True]


def test_a_committed_move_changes_where_the_next_one_lands() -> None:
    nodes = [node("a"), node("b"), node("c")]
    big = {"cpu": "4"}
    pods = [owned("ReplicaSet", "a", requests=big), pod("q", "a", requests=big)]
    model = SchedulerModel(snapshot(nodes, pods))
    assert model.landing(0).nodes.tolist() == [1, 2]
    model.commit(Shift(1, 0, 2))
    assert model.landing(0).nodes.tolist() == [1]
    model.commit(Shift(1, 2, 0))
    assert model.landing(0).nodes.tolist() == [1, 2]


def test_above_a_hundred_nodes_the_window_decides_who_can_win() -> None:
    best = 40
    room = {number: {"cpu": "64", "memory": "256Gi"} for number in (best,)}
    nodes = [node(f"n{number:03}", allocatable=room.get(number)) for number in range(250)]
    landing = SchedulerModel(snapshot(nodes, [pod("p", requests={"cpu": "1"})])).landing(0)
    assert landing.nodes[0] == best
    assert landing.probabilities[0] == pytest.approx(120 / 250)
    assert landing.probabilities.sum() == pytest.approx(1.0)


def test_a_pod_that_names_its_nodes_is_scanned_over_these_alone() -> None:
    nodes = [node(f"n{number:03}") for number in range(250)]
    chosen = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{number:03}"]}]}
        for number in (3, 200)
    ]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": chosen}
        }
    }
    landing = SchedulerModel(snapshot(nodes, [pod("p", affinity=affinity)])).landing(0)
    assert np.sort(landing.nodes).tolist() == [3, 200]


def test_nodes_that_a_pod_does_not_name_are_rejected_before_filters() -> None:
    taint = [{"key": "dedicated", "effect": "NoSchedule"}]
    nodes = [node("a", taints=taint), node("b", taints=taint), node("c"), node("d")]
    named = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in "bc"
    ]
    named[1]["matchExpressions"] = [{"key": "disk", "operator": "Exists"}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": named}}
    made = snapshot(nodes, [pod("new", "", affinity={"nodeAffinity": required})])
    model = SchedulerModel(made)
    assert model.landing(0).rejections == {"NodeAffinity": 3, "TaintToleration": 1}
    filters = {verdict.name: verdict.first.tolist() for verdict in model.verdicts(0).filters}
    assert filters["NodeAffinity"] == [True, False, True, True]
    assert filters["TaintToleration"] == [False, True, False, False]


def resized_pair() -> Any:
    """A pod that was resized from 1 to 3 CPUs on `a`, whose newer sibling shows 1 again."""
    nodes = [node("a", allocatable={"cpu": "4"}), node("b", allocatable={"cpu": "4"})]
    owner = controller("StatefulSet", "o", template={"spec": {"containers": [asks("1")]}})
    owner.status.updateRevision = "r"
    of_it: Any = {"owner": owner, "labels": {"controller-revision-hash": "r"}}
    mine = pod("o-0", "a", containers=[asks("3")], **of_it)
    mine.metadata.generation = 2
    newer = pod("o-1", "b", containers=[asks("1")], **of_it)
    newer.metadata.creationTimestamp = NOW - timedelta(hours=1)
    new = pod("new", "", requests={"cpu": "2"})
    return snapshot(nodes, [mine, new, newer], controllers=[owner])


def asks(cpu: str) -> Any:
    return {"name": "main", "resources": {"requests": {"cpu": cpu}}}


def test_a_resized_pod_takes_elsewhere_what_its_newer_sibling_has() -> None:
    model = SchedulerModel(resized_pair())
    assert model.feasible(1).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.feasible(1).tolist() == [True, True]
    model.commit(Shift(0, 1, 0))
    assert model.feasible(1).tolist() == [False, True]


def test_a_resized_pod_that_comes_back_takes_what_its_newer_sibling_has() -> None:
    model = SchedulerModel(resized_pair())
    model.commit(Shift(0, 0, 0))
    assert model.feasible(1).tolist() == [True, True]
    model.commit(Shift(0, 0, 0))
    assert model.feasible(1).tolist() == [False, True]
