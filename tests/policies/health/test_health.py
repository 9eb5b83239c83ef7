"""Health, in policy tests."""

from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.health.policy import Health, Signs
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from tests.picture import picture, proposed, workloads

FOUR = """
    zone a | n1 gpu 8 | train train web
    zone a | n2 gpu 8 | train web
    zone a | n3 gpu 8 | -
    zone a | n4 gpu 8 | -
"""
GPU = {"train": {"nvidia.com/gpu": "1"}}
ONE_BROKEN = {"n1": 79, "n2": 0, "n3": 0, "n4": 0}


def health(action: str = "Drain", **spec: Any) -> Health:
    given: dict[str, Any] = {"nodes": {"all": True}, "match": {"all": True}, "signs": {"xid": True}}
    return Health(name="h", **{**given, "action": action, **spec})


def four(policy: Health, xid: dict[str, Any] | None = None, **more: Any) -> Snapshot:
    readings = {"node.gpu.xid": ONE_BROKEN if xid is None else xid, **more}
    return picture(FOUR, requests=GPU, readings=readings, policies=[policy])


def bound(before: Snapshot, policy: Health) -> HealthTerm:
    made = policy.compile(before)
    assert isinstance(made, HealthTerm), made
    return made


def test_a_broken_node_is_drained_of_those_that_use_what_broke() -> None:
    policy = health()
    before = four(policy)
    term = bound(before, policy)
    assert term.cost() == 2
    assert workloads(before, term.candidates()) == ["train"]
    assert term.hot_nodes().tolist() == [0]
    [finding] = term.findings()
    assert (finding.code, finding.subject) == ("HLT001", "node n1")
    assert finding.message == "a GPU reported XID 79 within the window; 2 pods suffer"
    [move] = proposed(before, policy)
    assert (move.workload, move.source) == ("train", "n1")
    assert move.destination != "n1"


def test_by_default_it_is_reported_and_nothing_more() -> None:
    policy = health("Report")
    before = four(policy)
    term = bound(before, policy)
    assert term.cost() == 2
    assert term.candidates().tolist() == []
    np.testing.assert_array_equal(term.deltas(0, np.arange(4, dtype=np.int32)), 0)
    assert term.hot_nodes().tolist() == []
    assert "left there (action: Report)" in next(iter(term.findings())).message
    assert proposed(before, policy) == []
    assert (
        Health(name="h", nodes=NodeMatch(all=True), match=Match(all=True), signs=Signs(xid=True))
        == policy
    )


def test_what_lands_on_a_broken_node_is_charged_whatever_the_action() -> None:
    for action in ("Report", "Drain"):
        policy = health(action)
        term = bound(four(policy), policy)
        [train_on_n2] = [3]
        assert term.deltas(train_on_n2, np.array([0, 2], np.int32)).tolist() == [1, 0]
        term.commit(Shift(train_on_n2, 1, 0))
        assert term.cost() == 3
        assert train_on_n2 in term.candidates()


def test_a_network_concerns_every_pod_and_has_a_limit() -> None:
    policy = health(signs={"drops": "2%"})
    drops = {"n1": "3%", "n2": "2%", "n3": 0, "n4": 0}
    before = four(policy, **{"node.network.drops": drops})
    term = bound(before, policy)
    assert term.cost() == 3
    assert "its network drops 3.00% of the packets" in next(iter(term.findings())).message


def test_a_node_without_a_value_is_neither_broken_nor_counted_on() -> None:
    policy = health(minCoverage="70%")
    before = four(policy, {**ONE_BROKEN, "n3": None})
    term = bound(before, policy)
    assert term.unknown_nodes().tolist() == [False, False, True, False]
    [warning] = term.warnings()
    assert warning.message.startswith("node.gpu.xid is not known of n3")
    assert all(move.destination != "n3" for move in proposed(before, policy))


@pytest.mark.parametrize(
    ("xid", "code"), [({"n1": None, "n2": 0, "n3": 0, "n4": 0}, "RDG003"), ({}, "RDG007")]
)
def test_without_enough_values_it_is_not_evaluated(xid: dict[str, Any], code: str) -> None:
    policy = health()
    before = four(policy, xid)
    if not xid:
        before = picture(FOUR, requests=GPU)
    problem = policy.compile(before)
    assert isinstance(problem, Problem)
    assert problem.code == code


def test_too_many_broken_nodes_hold_the_cycle() -> None:
    policy = health()
    assert proposed(four(policy, {"n1": 79, "n2": 79, "n3": 0, "n4": 0}), policy) == []


def test_a_report_does_not_add_to_the_gain_of_others() -> None:
    policy = health("Report")
    before = four(policy)
    apart = Spread(name="s", match=Match(all=True), topologyKey="kubernetes.io/hostname")
    assert proposed(before, policy, apart) == proposed(before, apart)


def test_where_every_node_is_broken_a_pod_gains_nothing_on_another() -> None:
    for action, most in (("Report", -1), ("Drain", 0)):
        policy = health(action)
        before = four(policy, dict.fromkeys(ONE_BROKEN, 79))
        term = bound(before, policy)
        for pod in range(len(before.pods)):
            others = np.delete(np.arange(4, dtype=np.int32), before.pod_node[pod])
            assert (-term.deltas(pod, others) <= term.bounds(np.array([pod], np.int32))).all()
        assert term.bounds(np.array([0], np.int32)).tolist() == [most]
