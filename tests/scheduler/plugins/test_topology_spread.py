from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Service
from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import controller, node, pod, snapshot

ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}


def constraint(key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
        **more,
    }


def three_nodes() -> list[Any]:
    return [node("a", zone="1"), node("b", zone="2"), node("c", zone="2"), node("bare")]


def feasible(constraints: list[dict[str, Any]], pods: list[Any], **newcomer: Any) -> str:
    nodes = three_nodes()
    newcomer = {"labels": WEB, **newcomer}
    first = pod("new", topologySpreadConstraints=constraints, **newcomer)
    model = SchedulerModel(snapshot(nodes, [first, *pods]))
    fits = model.feasible(0).tolist()
    return "".join(node.metadata.name for node, fit in zip(nodes, fits, strict=True) if fit)


def test_a_full_zone_is_closed_and_a_node_without_the_key_never_opens() -> None:
    assert feasible([constraint()], [pod("p", "a", labels=WEB)]) == "bc"
    assert feasible([constraint()], []) == "abc"
    assert feasible([constraint(maxSkew=2)], [pod("p", "a", labels=WEB)]) == "abc"


def test_terminating_pods_and_other_namespaces_are_not_counted() -> None:
    leaving = pod("p", "a", labels=WEB)
    leaving.metadata.deletionTimestamp = leaving.metadata.creationTimestamp
    assert feasible([constraint()], [leaving]) == "abc"
    assert feasible([constraint()], [pod("p", "a", labels=WEB, namespace="other")]) == "abc"


def test_a_pod_that_does_not_match_itself_adds_nothing() -> None:
    labels = {"app": "other"}
    assert feasible([constraint()], [pod("p", "a", labels=WEB)], labels=labels) == "abc"
    two = [pod("p", "a", labels=WEB), pod("q", "a", labels=WEB)]
    assert feasible([constraint()], two, labels=labels) == "bc"


def test_too_few_domains_count_as_an_empty_one() -> None:
    one_each = [pod("p", "a", labels=WEB), pod("q", "b", labels=WEB)]
    assert feasible([constraint()], one_each) == "abc"
    assert feasible([constraint(minDomains=2)], one_each) == "abc"
    assert feasible([constraint(minDomains=3)], one_each) == ""


def test_nodes_that_the_selector_excludes_do_not_count_unless_ignored() -> None:
    pods = [pod("p", "a", labels=WEB), pod("q", "a", labels=WEB)]
    in_one = {"nodeSelector": {ZONE: "1"}}
    assert feasible([constraint()], pods, **in_one) == "a"
    assert feasible([constraint(nodeAffinityPolicy="Ignore")], pods, **in_one) == ""


def test_tainted_nodes_count_unless_honored() -> None:
    tainted = node("t", zone="3", taints=[{"key": "k", "effect": "NoSchedule"}])
    nodes = [node("a", zone="1"), node("b", zone="2"), tainted]
    pods = [pod("p", "a", labels=WEB), pod("q", "b", labels=WEB)]
    for policy, expected in (("Ignore", [False] * 3), ("Honor", [True, True, False])):
        newcomer = pod(
            "new", labels=WEB, topologySpreadConstraints=[constraint(nodeTaintsPolicy=policy)]
        )
        model = SchedulerModel(snapshot(nodes, [newcomer, *pods]))
        assert model.feasible(0).tolist() == expected


def test_match_label_keys_narrow_the_selector_to_the_own_values() -> None:
    old = [pod("p", "a", labels={**WEB, "hash": "1"})]
    keyed = constraint(matchLabelKeys=["hash"])
    assert feasible([keyed], old, labels={**WEB, "hash": "2"}) == "abc"
    assert feasible([keyed], old, labels={**WEB, "hash": "1"}) == "bc"


@pytest.mark.parametrize(("version", "expected"), [("v1.36.3", True), ("v1.38.0", False)])
def test_an_empty_selector_counts_all_pods_since_138(version: Any, expected: Any) -> None:
    spread = [constraint(labelSelector={})]
    newcomer = pod("new", labels=WEB, topologySpreadConstraints=spread)
    made = snapshot([node("a", zone="1"), node("b", zone="2")], [newcomer, pod("p", "a")])
    made = replace(made, cluster=Cluster(uid="1", version=version))
    assert SchedulerModel(made).feasible(0).tolist() == [expected, True]


def winners(
    nodes: list[Any], pods: list[Any], controllers: Any = (), services: Any = ()
) -> list[str]:
    made = snapshot(nodes, pods, controllers=controllers, services=list(services))
    landing = SchedulerModel(made).landing(0)
    return sorted(nodes[index].metadata.name for index in landing.nodes.tolist())


def test_a_soft_constraint_prefers_the_emptier_domain() -> None:
    soft = [constraint(whenUnsatisfiable="ScheduleAnyway")]
    newcomer = pod("new", labels=WEB, topologySpreadConstraints=soft)
    busy = [pod(f"p{number}", "a", labels=WEB, requests={"cpu": "0"}) for number in range(3)]
    assert winners(three_nodes()[:3], [newcomer, *busy]) == ["b", "c"]


def test_nodes_without_the_key_of_a_soft_constraint_score_nothing() -> None:
    soft = [constraint(whenUnsatisfiable="ScheduleAnyway")]
    newcomer = pod("new", labels=WEB, topologySpreadConstraints=soft)
    assert winners([node("bare"), node("a", zone="1")], [newcomer]) == ["a"]


def test_pods_of_one_owner_are_spread_by_default() -> None:
    owner = controller("ReplicaSet", "web")
    newcomer = pod("new", labels=WEB, owner=owner, requests={"cpu": "0"})
    sibling = pod("p", "a", labels=WEB, owner=owner, requests={"cpu": "0"})
    nodes = [node("a"), node("b")]
    assert winners(nodes, [newcomer, sibling], [owner]) == ["b"]
    assert winners(nodes, [newcomer, sibling]) == ["a", "b"]


def test_pods_of_one_service_are_spread_by_default() -> None:
    service = msgspec.convert(
        {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": WEB}}, Service
    )
    newcomer = pod("new", labels=WEB, requests={"cpu": "0"})
    sibling = pod("p", "a", labels=WEB, requests={"cpu": "0"})
    assert winners([node("a"), node("b")], [newcomer, sibling], services=[service]) == ["b"]


def test_jobs_are_not_spread_by_default() -> None:
    job = controller("Job", "web")
    newcomer = pod("new", labels=WEB, owner=job, requests={"cpu": "0"})
    sibling = pod("p", "a", labels=WEB, owner=job, requests={"cpu": "0"})
    assert winners([node("a"), node("b")], [newcomer, sibling], [job]) == ["a", "b"]
