"""Conformity, in policy tests."""

from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.kube.objects import ContainerState, ContainerStateWaiting, ContainerStatus
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.conformity.term import ConformityTerm
from rescheduler.policies.match import Match
from tests.cases import every
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.picture import move, picture, proposed, workloads

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
EVERY_RULE: dict[str, Any] = {
    "nodeTaints": {"effects": ["NoSchedule", "NoExecute", "PreferNoSchedule"]},
    "nodeAffinity": {"preferred": True},
    "podAntiAffinity": True,
    "podAffinity": True,
    "restarts": {"atLeast": 10},
    "lifetime": {"above": "7d"},
}


def conformity(**rules: Any) -> Conformity:
    return Conformity(name="c", match=Match(all=True), **rules)


def bound(before: Snapshot, **rules: Any) -> ConformityTerm:
    return conformity(**rules).compile(before)


def about(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def wanting(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def codes(term: ConformityTerm) -> dict[str, float]:
    return {finding.code: finding.cost for finding in term.findings()}


def test_a_fresh_cluster_breaks_no_rule() -> None:
    assert bound(picture("zone a | n1 | web web\nzone b | n2 | web"), **EVERY_RULE).cost() == 0


TAINTED = [node("n1", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}]), node("n2")]


@every(
    [
        ({}, 1),
        ({"only": ["team"]}, 1),
        ({"only": ["team=x"]}, 1),
        ({"only": ["team=y"]}, 0),
        ({"only": ["other"]}, 0),
        ({"ignore": ["team"]}, 0),
        ({"ignore": ["te/"]}, 1),
        ({"effects": ["NoExecute"]}, 0),
    ]
)
def test_which_taints_count_can_be_said(rule: dict[str, Any], cost: int) -> None:
    term = bound(snapshot(TAINTED, [pod("p", "n1")]), nodeTaints=rule)
    assert term.cost() == cost


def test_a_toleration_is_enough() -> None:
    tolerant = pod("p", "n1", tolerations=[{"key": "team", "operator": "Exists"}])
    assert bound(snapshot(TAINTED, [tolerant]), nodeTaints={}).cost() == 0


@every(
    [
        ({}, 0),
        ({"ignore": []}, 0),
        ({"ignore": ["team"]}, 0),
        ({"only": ["node.kubernetes.io/"]}, 1),
        ({"only": ["node.kubernetes.io/memory-pressure"]}, 1),
        ({"only": ["node.kubernetes.io/"], "ignore": ["node.kubernetes.io/memory-pressure"]}, 0),
        ({"only": ["node.kubernetes.io/disk-pressure"]}, 0),
    ]
)
def test_a_taint_that_kubernetes_sets_counts_only_where_it_is_named(
    rule: dict[str, Any], cost: int
) -> None:
    """A list of what else to ignore is no reason to move pods off a node that was cordoned."""
    taint = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    before = snapshot([node("n1", taints=[taint]), node("n2")], [pod("p", "n1")])
    assert bound(before, nodeTaints=rule).cost() == cost


def test_a_disliked_taint_costs_at_most_half_where_it_can_be_avoided() -> None:
    shy = [{"key": "busy", "effect": "PreferNoSchedule"}]
    rule = {"effects": ["PreferNoSchedule"]}
    before = snapshot([node("n1", taints=shy), node("n2")], [pod("p", "n1")])
    assert bound(before, nodeTaints=rule).cost() == 0.5
    everywhere = snapshot([node("n1", taints=shy), node("n2", taints=shy)], [pod("p", "n1")])
    assert bound(everywhere, nodeTaints=rule).cost() == 0


def test_the_taint_by_which_we_steer_breaks_no_rule() -> None:
    ours = msgspec.to_builtins(SOFT_TAINT)
    rule = {"effects": ["PreferNoSchedule"]}
    before = snapshot([node("n1", taints=[ours]), node("n2")], [pod("p", "n1")])
    assert bound(before, nodeTaints=rule).cost() == 0
    assert bound(before, nodeTaints={**rule, "only": [SOFT_TAINT.key]}).cost() == 0.5


def test_only_the_part_of_a_preference_that_could_be_had_is_charged() -> None:
    preferred = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": weight,
                    "preference": {
                        "matchExpressions": [{"key": key, "operator": "Exists", "values": []}]
                    },
                }
                for key, weight in (("fast", 60), ("near", 40))
            ]
        }
    }
    nodes = [node("n1", labels={"near": ""}), node("n2", labels={"near": "", "fast": ""})]
    before = snapshot(nodes, [pod("p", "n1", affinity=preferred)])
    assert bound(before, nodeAffinity={"preferred": True}).cost() == pytest.approx(0.5 * 60 / 100)
    cordoned = [nodes[0], node("n2", labels={"near": "", "fast": ""}, unschedulable=True)]
    without = snapshot(cordoned, [pod("p", "n1", affinity=preferred)])
    assert bound(without, nodeAffinity={"preferred": True}).cost() == 0


def test_a_node_selector_counts_as_affinity() -> None:
    before = picture("disk hdd | n1 | db", specs={"db": {"nodeSelector": {"disk": "ssd"}}})
    assert codes(bound(before, nodeAffinity={})) == {"CNF002": 1}


def test_either_side_of_a_broken_anti_affinity_may_go() -> None:
    before = picture(
        """
        zone a | n1 | shy loud
        zone b | n2 | -
        """,
        specs={"shy": wanting("podAntiAffinity", about("loud"))},
    )
    term = bound(before, podAntiAffinity=True)
    assert term.cost() == 1
    assert workloads(before, term.candidates()) == ["loud", "shy"]
    nodes = np.array([0, 1], dtype=np.int32)
    assert term.deltas(0, nodes).tolist() == [0, -1]
    assert term.deltas(1, nodes).tolist() == [0, -1]
    [finding] = term.findings()
    assert finding.subject == "Deployment default/shy"
    assert finding.pods == (0, 1)


def test_who_is_shunned_does_not_move_to_who_shuns_it() -> None:
    before = picture(
        """
        zone a | n1 | shy
        zone b | n2 | loud
        """,
        specs={"shy": wanting("podAntiAffinity", about("loud"))},
    )
    term = bound(before, podAntiAffinity=True)
    assert term.deltas(1, np.array([0], dtype=np.int32)).tolist() == [1]


def test_anti_affinity_to_other_namespaces_by_name_and_by_label() -> None:
    label = {"kubernetes.io/metadata.name": "far"}
    for more, cost in (
        ({}, 0),
        ({"namespaces": ["far"]}, 1),
        ({"namespaceSelector": {"matchLabels": label}}, 1),
        ({"namespaceSelector": {"matchLabels": {"no": "such"}}}, 0),
        ({"namespaceSelector": {}}, 1),
    ):
        shy = pod("shy", "n1", **wanting("podAntiAffinity", about("loud", **more)))
        loud = pod("loud", "n1", namespace="far", labels={"app": "loud"})
        before = snapshot([node("n1", zone="a")], [shy, loud])
        assert bound(before, podAntiAffinity=True).cost() == cost, more


def test_three_of_a_kind_on_one_node_need_two_moves() -> None:
    before = picture(
        """
        zone a | n1 | db db db
        zone b | n2 | -
        zone c | n3 | -
        """,
        specs={"db": wanting("podAntiAffinity", about("db", "kubernetes.io/hostname"))},
    )
    term = bound(before, podAntiAffinity=True)
    assert term.cost() == 3
    term.commit(Shift(0, 0, 1))
    assert term.cost() == 2
    term.commit(Shift(1, 0, 2))
    assert term.cost() == 0
    assert len(term.candidates()) == 0


def test_affinity_to_pods_that_went_away_is_broken() -> None:
    before = picture(
        """
        zone a | n1 | web
        zone b | n2 | cache
        """,
        specs={"web": wanting("podAffinity", about("cache"))},
    )
    term = bound(before, podAffinity=True)
    assert codes(term) == {"CNF005": 1}
    assert term.deltas(0, np.array([0, 1], dtype=np.int32)).tolist() == [0, -1]
    # The cache may as well come to the web.
    assert term.deltas(1, np.array([0, 1], dtype=np.int32)).tolist() == [-1, 0]


def test_the_first_of_its_kind_needs_no_other() -> None:
    alone = wanting("podAffinity", about("web"))
    assert bound(picture("zone a | n1 | web", specs={"web": alone}), podAffinity=True).cost() == 0
    apart = picture("zone a | n1 | web\nzone b | n2 | web", specs={"web": alone})
    assert bound(apart, podAffinity=True).cost() == 2


def worn(restarts: int = 0, days: float = 1, waiting: str = "") -> Snapshot:
    """Two equal pods on n1, the first of which was restarted so often or is so old."""
    owners = deployment("web")
    pods = [
        pod(f"web-{number}", "n1", owner=owners[1], labels={"app": "web"}) for number in range(3)
    ]
    state = ContainerState(waiting=ContainerStateWaiting(reason=waiting)) if waiting else None
    pods[0].status.containerStatuses = [
        ContainerStatus(name="main", restartCount=restarts, state=state)
    ]
    pods[0].metadata.creationTimestamp = NOW - timedelta(days=days)
    return snapshot([node("n1"), node("n2")], pods, controllers=owners)


def test_a_pod_that_restarts_too_often_goes_to_another_node() -> None:
    assert bound(worn(restarts=9), restarts={"atLeast": 10}).cost() == 0
    before = worn(restarts=10)
    term = bound(before, restarts={"atLeast": 10})
    assert codes(term) == {"CNF006": 1}
    assert term.deltas(0, np.array([0, 1], dtype=np.int32)).tolist() == [0, -1]
    assert proposed(before, conformity(restarts={"atLeast": 10})) == [move("web", "n1", "n2")]


def test_restarts_of_init_containers_count_when_asked() -> None:
    before = worn(restarts=5)
    before.pods[0].status.initContainerStatuses = [ContainerStatus(name="init", restartCount=5)]
    assert bound(before, restarts={"atLeast": 10}).cost() == 0
    assert bound(before, restarts={"atLeast": 10, "initContainers": True}).cost() == 1


def test_a_pod_that_is_too_old_is_made_anew_elsewhere() -> None:
    before = worn(days=8)
    assert codes(bound(before, lifetime={"above": "7d"})) == {"CNF007": 1}
    assert bound(before, lifetime={"above": "8d"}).cost() == 0
    before.pods[0].metadata.creationTimestamp = None
    assert bound(before, lifetime={"above": "7d"}).cost() == 0


@pytest.mark.parametrize(
    ("states", "cost"), [(["CrashLoopBackOff"], 1), (["Running"], 1), (["ImagePullBackOff"], 0)]
)
def test_only_pods_in_the_given_states_are_worn(states: list[str], cost: int) -> None:
    before = worn(days=8, waiting="CrashLoopBackOff")
    assert bound(before, lifetime={"above": "7d", "states": states}).cost() == cost


def test_an_old_pod_that_could_only_come_back_stays() -> None:
    owners = deployment("web", replicas=2)
    pods = [pod(f"web-{number}", "n1", owner=owners[1]) for number in range(2)]
    pods[0].metadata.creationTimestamp = NOW - timedelta(days=8)
    before = snapshot([node("n1")], pods, controllers=owners)
    assert proposed(before, conformity(lifetime={"above": "7d"})) == []


def test_a_pod_that_breaks_two_rules_costs_one() -> None:
    before = worn(restarts=20, days=8)
    term = bound(before, restarts={"atLeast": 10}, lifetime={"above": "7d"})
    assert term.cost() == 1
    assert term.worst() == 3


def test_pods_of_daemon_sets_and_pods_being_deleted_are_not_judged() -> None:
    before = picture("zone a | n1 tainted | (web) web")
    assert bound(before, nodeTaints={}).cost() == 1
    for controller in before.controllers:
        if controller.kind == "Deployment":
            controller.kind = "DaemonSet"
    daemons = picture("zone a | n1 tainted | web")
    for controller in daemons.controllers:
        if controller.kind == "Deployment":
            controller.kind = "DaemonSet"
    assert bound(daemons, nodeTaints={}).scope() == 0


def test_a_policy_must_have_a_rule() -> None:
    with pytest.raises(ValueError, match="at least one rule"):
        conformity()


def test_a_rule_broken_on_hosts_and_in_zones_has_two_findings() -> None:
    """The identity of a finding must differ, or one inherits the other's age."""
    both = wanting("podAntiAffinity", about("web", HOST), about("web", ZONE))
    term = bound(
        picture("zone a | n1 | web web\nzone a | n2 | web", specs={"web": both}),
        podAntiAffinity=True,
    )
    found = [(finding.code, finding.subject, finding.aspect) for finding in term.findings()]
    assert len(found) == len(set(found)) == 2


def test_only_pods_on_the_nodes_that_are_given_are_evaluated() -> None:
    rules = {"lifetime": {"above": "1s"}}
    worker = {"labels": {"matchLabels": {"pool": "worker"}}}
    before = snapshot(
        [node("a", labels={"pool": "worker"}), node("b")], [pod("p", on="a"), pod("q", on="b")]
    )
    for nodes, subjects in ((None, 2), (worker, 1), ({"all": True}, 2)):
        policy = Conformity.model_validate(
            {"name": "c", "match": {"all": True}, "nodes": nodes, **rules}
        )
        term = policy.compile(before)
        assert term.scope() == subjects
        assert term.cost() == subjects
