from typing import Any

import pytest

from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import node, pod, snapshot

NO_SCHEDULE = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
NO_EXECUTE = {"key": "gpu", "value": "yes", "effect": "NoExecute"}


def names(nodes: list[Any], newcomer: Any, *others: Any) -> list[str]:
    """The nodes that are feasible for the newcomer."""
    model = SchedulerModel(snapshot(nodes, [newcomer, *others]))
    return [
        node.metadata.name
        for node, fits in zip(nodes, model.feasible(0).tolist(), strict=True)
        if fits
    ]


@every(
    [
        ({}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "yes", "operator": "Equal", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Gt", "value": "0"}, False),
        ({"key": "gpu", "operator": "Exists", "tolerationSeconds": 0}, True),
    ]
)
def test_a_toleration_covers_a_taint(toleration: Any, passes: Any) -> None:
    nodes = [node("free"), node("tainted", taints=[NO_SCHEDULE])]
    newcomer = pod("p", tolerations=[toleration] if toleration else [])
    assert names(nodes, newcomer) == (["free", "tainted"] if passes else ["free"])


def test_every_hard_taint_must_be_tolerated() -> None:
    nodes = [node("both", taints=[NO_SCHEDULE, NO_EXECUTE])]
    half = [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert names(nodes, pod("p", tolerations=half)) == []
    assert names(nodes, pod("p", tolerations=[{"key": "gpu", "operator": "Exists"}])) == ["both"]


def test_a_soft_taint_rejects_nobody_but_is_disliked() -> None:
    soft = {"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}
    nodes = [node("soft", taints=[soft]), node("free")]
    assert names(nodes, pod("p")) == ["soft", "free"]
    landing = SchedulerModel(snapshot(nodes, [pod("p")])).landing(0)
    assert landing.nodes.tolist() == [1]


def test_a_cordoned_node_takes_only_who_tolerates_that() -> None:
    nodes = [node("open"), node("cordoned", unschedulable=True)]
    cordon = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert names(nodes, pod("p")) == ["open"]
    assert names(nodes, pod("p", tolerations=[cordon])) == ["open", "cordoned"]


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def expressions(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def fields(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@every(
    [
        ([expressions("tier", "In", "3", "9")], "ac"),
        ([expressions("tier", "NotIn", "3")], "bcd"),
        ([expressions("tier", "Exists")], "abc"),
        ([expressions("tier", "DoesNotExist")], "d"),
        ([expressions("tier", "Gt", "3")], "bc"),
        ([expressions("tier", "Lt", "7")], "a"),
        ([expressions("tier", "Gt", "many")], ""),
        ([expressions("tier", "Gt", "1", "2")], ""),
        ([expressions("tier", "In")], ""),
        ([expressions("missing", "In", "x")], ""),
        ([expressions("tier", "In", "3"), expressions("tier", "In", "7")], "ab"),
        ([{**expressions("tier", "Exists"), **fields("In", "b")}], "b"),
        ([fields("In", "a"), fields("In", "d")], "ad"),
        ([fields("NotIn", "a")], "bcd"),
        ([fields("In", "nowhere")], ""),
        ([fields("In", "a", "b")], ""),
        ([{}], ""),
        ([{}, fields("In", "c")], "c"),
        ([], ""),
    ]
)
def test_required_node_affinity(terms: Any, expected: Any) -> None:
    nodes = [
        node(name, labels={"tier": tier} if tier else {})
        for name, tier in (("a", "3"), ("b", "7"), ("c", "9"), ("d", ""))
    ]
    assert names(nodes, pod("p", affinity=required(*terms))) == list(expected)


def test_a_node_selector_and_an_affinity_must_both_hold() -> None:
    nodes = [node("a", labels={"x": "1", "y": "1"}), node("b", labels={"x": "1"}), node("c")]
    newcomer = pod("p", nodeSelector={"x": "1"}, affinity=required(expressions("y", "Exists")))
    assert names(nodes, newcomer) == ["a"]
    assert names(nodes, pod("p", nodeSelector={"x": "1"})) == ["a", "b"]


def test_preferred_affinity_adds_up_its_weights() -> None:
    nodes = [node("a", labels={"x": "1"}), node("b", labels={"x": "1", "y": "1"}), node("c")]
    preferred = [
        {"weight": 1, "preference": expressions("x", "Exists")},
        {"weight": 9, "preference": expressions("y", "Exists")},
        {"weight": 100, "preference": {}},
    ]
    soft = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    landing = SchedulerModel(snapshot(nodes, [pod("p", affinity=soft)])).landing(0)
    assert landing.nodes.tolist() == [1]


def listening(*ports: dict[str, Any], sidecar: bool = False) -> dict[str, Any]:
    opened = {"name": "x", "image": "x", "ports": list(ports)}
    if not sidecar:
        return {"containers": [opened]}
    return {
        "containers": [{"name": "main", "image": "x"}],
        "initContainers": [{**opened, "restartPolicy": "Always"}],
    }


@pytest.mark.parametrize(
    ("taken", "wanted", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"containerPort": 80}, {"hostPort": 80}, False),
    ],
)
@pytest.mark.parametrize("sidecar", [False, True])
def test_host_ports(taken: Any, wanted: Any, clash: Any, sidecar: Any) -> None:
    holder = pod("q", "a", **listening(taken, sidecar=sidecar))
    newcomer = pod("p", **listening(wanted))
    assert names([node("a"), node("b")], newcomer, holder) == (["b"] if clash else ["a", "b"])
