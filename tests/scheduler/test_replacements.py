"""What a replacement is, and who else is in the way: changed pods, nominated pods, preemption."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.kube.controllers import Controller
from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import NOW, controller, node, pod, snapshot


def owner(cpu: str = "1", kind: str = "ReplicaSet", **spec: Any) -> Controller:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return controller(kind, "o", template={"spec": {"containers": [container], **spec}})


def changed(name: str, on: str, by: Controller, cpu: str, generation: int = 2) -> Any:
    made = pod(name, on, owner=by, requests={"cpu": cpu})
    made.metadata.generation = generation
    return made


def two() -> list[Any]:
    return [node("a"), node("b", allocatable={"cpu": "4"})]


def where(by: Controller, *pods: Any) -> Any:
    return SchedulerModel(snapshot(two(), pods, controllers=[by])).feasible(0).tolist()


def test_a_pod_that_was_resized_is_replaced_by_what_its_template_asks_for() -> None:
    by = owner("3")
    assert where(by, changed("p", "a", by, "5")) == [True, True]
    # As admission made it, it is made again; beside the old pod there is no room, so it waits.
    assert where(by, changed("p", "a", by, "5", generation=1)) == [True, False]
    large = owner("7")
    assert where(large, changed("p", "a", large, "100m")) == [True, False]


def test_an_admitted_sibling_outweighs_the_template() -> None:
    top = controller("Deployment", "top")
    by = controller("ReplicaSet", "o", owner=top, template=owner("5").spec.template)
    young = changed("young", "b", by, "3", generation=1)
    young.metadata.creationTimestamp = NOW - timedelta(hours=1)
    old = changed("old", "b", by, "100m", generation=1)
    alone = changed("p", "a", by, "6")
    assert where(by, alone) == [True, False]
    assert where(by, alone, old, young) == [True, False]
    young.node = old.node = "a"
    assert where(by, alone, old, young) == [False, True]
    young.metadata.creationTimestamp = alone.metadata.creationTimestamp
    assert where(by, alone, old) == [True, False], "which of both was set later does not show"


def test_a_pod_that_comes_to_a_node_takes_what_its_replacement_asks_for() -> None:
    top = controller("Deployment", "top")
    by = controller("ReplicaSet", "o", owner=top, template=owner("1").spec.template)
    pods = [changed(f"p{n}", "a", by, str(n), generation=1) for n in (1, 2, 3)]
    for number, pod_object in enumerate(pods):
        pod_object.metadata.creationTimestamp = NOW - timedelta(days=9 - number)
    made = snapshot(two(), pods, controllers=[by])
    model = SchedulerModel(made)
    assert model.feasible(0).tolist() == [False, True]
    model.commit(Shift(0, 0, 1))
    assert model.occupancy.requested[0].tolist() == [5000, 3000]
    assert model.feasible(1).tolist() == [True, False]
    model.commit(Shift(0, 1, 0))
    assert model.occupancy.requested[0].tolist() == [6000, 0]


def test_a_template_with_gates_is_refused() -> None:
    by = owner(schedulingGates=[{"name": "wait"}])
    made = snapshot(two(), [pod("p", "a", owner=by)], controllers=[by])
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert "gates" in refusal.message


def nominated(name: str, on: str, *, priority: int = 0, **spec: Any) -> Any:
    made = pod(name, priority=priority, requests={"cpu": "3"}, **spec)
    made.status.nominatedNodeName = on
    return made


@pytest.mark.parametrize(("priority", "expected"), [(0, False), (5, False), (-1, True)])
def test_nominated_pods_of_the_same_priority_or_more_take_their_room(
    priority: int, *, expected: bool
) -> None:
    made = snapshot(
        two(), [pod("p", requests={"cpu": "3"}), nominated("q", "b", priority=priority)]
    )
    model = SchedulerModel(made)
    assert model.feasible(0).tolist() == [True, expected]
    assert model.landing(0).rejections == ({} if expected else {"NodeResourcesFit": 1})


def test_an_unbound_pod_goes_where_it_is_nominated_if_it_fits() -> None:
    made = snapshot(two(), [nominated("p", "b")])
    assert SchedulerModel(made).landing(0).nodes.tolist() == [1]
    made = snapshot([node("a"), node("b", unschedulable=True)], [nominated("p", "b")])
    assert SchedulerModel(made).landing(0).nodes.tolist() == [0]


def test_a_pending_pod_that_is_placed_is_nominated_no_longer() -> None:
    made = snapshot(two(), [pod("p", requests={"cpu": "3"}), nominated("q", "b")])
    model = SchedulerModel(made)
    model.commit(Shift(1, -1, 0))
    assert model.feasible(0).tolist() == [True, True]
    model.commit(Shift(1, 0, -1))
    assert model.feasible(0).tolist() == [True, False]


@every(
    [
        ({"priority": 10}, {"priority": 0}, "FEA009"),
        ({"priority": 10, "preemptionPolicy": "Never"}, {"priority": 0}, None),
        ({"priority": 0}, {"priority": 0}, None),
        ({"priority": 10, "nodeSelector": {"no": "node"}}, {"priority": 0}, None),
        ({"priority": 10, "requests": {"cpu": "7950m"}}, {"priority": 0}, None),
    ]
)
def test_what_could_preempt_is_refused(spec: Any, victim: Any, code: Any) -> None:
    other = pod("other", "a", **{"requests": {"cpu": "7"}, **victim})
    fixed = pod("fixed", "a", priority=100)
    made = snapshot([node("a")], [pod("p", **{"requests": {"cpu": "7500m"}, **spec}), other, fixed])
    landing = SchedulerModel(made).landing(0)
    if code is None:
        assert landing.refusal is None
        assert landing.unschedulable == 1.0
    else:
        assert landing.refusal is not None
        assert landing.refusal.code == code


def test_a_replacement_beside_its_old_pod_may_preempt_too() -> None:
    by = owner("5")
    mine = pod("p", "a", owner=by, requests={"cpu": "5"}, priority=10)
    low = pod("low", "a", requests={"cpu": "3"})
    alone = snapshot([node("a")], [mine], controllers=[by])
    assert SchedulerModel(alone).landing(0).returns == 1.0
    made = snapshot([node("a", allocatable={"cpu": "10"})], [mine, low], controllers=[by])
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert refusal.code == "FEA009"


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
        (
            {
                "containers": [
                    {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
                ]
            },
            "RestartAllContainersOnContainerExits",
        ),
    ],
)
def test_young_features_need_a_kubelet_that_declares_them(spec: Any, feature: Any) -> None:
    nodes = two()
    nodes[1].status.declaredFeatures = [feature]
    made = snapshot(nodes, [pod("p", **spec)])
    model = SchedulerModel(made)
    assert model.feasible(0).tolist() == [False, True]
    assert model.landing(0).rejections == {"NodeDeclaredFeatures": 1}
    older = replace(made, cluster=Cluster(uid="1", version="v1.35.2"))
    assert SchedulerModel(older).feasible(0).tolist() == [True, True]
