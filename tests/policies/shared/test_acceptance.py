"""Which nodes would accept a pod."""

from typing import Any

from rescheduler.policies.shared.acceptance import Acceptance
from tests.cases import every
from tests.cluster import node, pod, snapshot


def accepted(**spec: Any) -> list[str]:
    nodes = [
        node("plain", labels={"disk": "ssd", "size": "8"}),
        node("other", labels={"disk": "hdd"}),
        node("cordoned", labels={"disk": "ssd"}, unschedulable=True),
        node("gpu", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
        node("going", taints=[{"key": "gone", "effect": "NoExecute"}]),
        node("shy", taints=[{"key": "busy", "effect": "PreferNoSchedule"}]),
        node("broken", labels={"disk": "ssd"}),
    ]
    nodes[-1].status.conditions = []
    made = snapshot(nodes, [pod("p", "plain", **spec)])
    mask = Acceptance(made).nodes(made.pods[0].spec)
    return [node.metadata.name for node, yes in zip(nodes, mask, strict=True) if yes]


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def wanted(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


SSD = {"matchExpressions": [wanted("disk", "In", "ssd")]}
BIG = {"matchExpressions": [wanted("size", "Gt", "4")]}
OTHER = {"matchFields": [wanted("metadata.name", "In", "other")]}


@every(
    [
        ({}, ["plain", "other", "shy"]),
        ({"nodeSelector": {"disk": "ssd"}}, ["plain"]),
        ({"affinity": required(SSD)}, ["plain"]),
        ({"affinity": required(BIG)}, ["plain"]),
        ({"affinity": required(SSD, OTHER)}, ["plain", "other"]),
        ({"affinity": required({**SSD, **OTHER})}, []),
        ({"affinity": required({})}, []),
        ({"affinity": {"nodeAffinity": {}}}, ["plain", "other", "shy"]),
    ]
)
def test_selection(spec: dict[str, Any], nodes: list[str]) -> None:
    assert accepted(**spec) == nodes


@every(
    [
        ({"operator": "Exists"}, "gpu", True),
        ({"operator": "Exists"}, "going", True),
        ({"key": "gpu", "operator": "Exists"}, "gpu", True),
        ({"key": "gpu", "value": "yes"}, "gpu", True),
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, "gpu", True),
        ({"key": "gpu", "operator": "Equal", "value": "no"}, "gpu", False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, "gpu", False),
        ({"key": "gpu", "operator": "Exists"}, "going", False),
        ({"key": "gone", "operator": "Equal", "value": ""}, "going", True),
        ({"operator": "Exists"}, "cordoned", False),
        ({"operator": "Exists"}, "broken", False),
    ]
)
def test_toleration(toleration: dict[str, str], node_name: str, yes: bool) -> None:
    assert (node_name in accepted(tolerations=[toleration])) is yes


def test_pods_of_one_shape_are_judged_once() -> None:
    made = snapshot([node("n")], [pod("a", "n"), pod("b", "n", requests={"cpu": "2"})])
    acceptance = Acceptance(made)
    first, second = (acceptance.nodes(pod.spec) for pod in made.pods)
    assert first is second
