"""Explanations say what the planner and the scheduler model say, pod by pod and node by node."""

from datetime import timedelta
from typing import Any

import pytest

from rescheduler.model.errors import NotFound
from rescheduler.model.explanation import Header, PodExplanation
from rescheduler.model.history import History
from rescheduler.model.plan import ClusterRef
from rescheduler.model.reasons import CATALOG
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.explain.checks import checks
from rescheduler.planning.explain.lookup import find_node, find_pod
from rescheduler.planning.explain.node import explain_node
from rescheduler.planning.explain.pod import explain_pod
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.reporting.explain.words import TITLES
from tests.cluster import NOW, node, pod, snapshot
from tests.planning.room import crowded as room
from tests.planning.room import index, working_copy
from tests.runtime.crowded import crowded, spread

HEADER = Header(cluster=ClusterRef(uid="c"), taken=NOW)


def explained(made: Snapshot, name: str, *policies: Policy, **limits: Any) -> PodExplanation:
    copy = working_copy(made, *policies, limits=Limits.model_validate(limits))
    return explain_pod(copy, index(made, name), HEADER)


def codes(told: PodExplanation, result: str) -> list[str]:
    return [check.code for check in told.eligibility if check.result == result]


def test_a_pod_that_moves_is_told_with_its_batch_its_gain_and_its_landing() -> None:
    made = crowded()
    told = explained(made, "web-0", spread())
    (move,) = plan(made, policy_set([spread()]), History(), mode="Audit").moves
    assert move.pod.name == "web-0"
    assert (told.verdict.fate, told.verdict.batch) == ("moves", move.batch)
    assert told.verdict.gain == pytest.approx(move.gain)
    assert told.verdict.disruption == pytest.approx(move.disruption)
    assert [share.node for share in told.landing] == [share.node for share in move.landing]
    assert sum(s.probability for s in told.landing) + told.unschedulable == pytest.approx(1)
    assert told.policies[0].gain == pytest.approx(move.gains["zones"])
    assert codes(told, "failed") == []
    assert told.state == "overlap"


def test_a_pod_that_stays_is_told_the_planners_own_reason() -> None:
    made = crowded()
    refused = plan(made, policy_set([spread()]), History(), mode="Audit").refused
    for refusal in refused:
        told = explained(made, refusal.pod.name, spread())
        assert (told.verdict.fate, told.verdict.code) == ("stays", refusal.code)
        assert told.verdict.message == refusal.message


def test_a_pod_that_no_policy_minds_is_no_candidate() -> None:
    told = explained(crowded(moved=2), "web-0", spread())
    assert (told.verdict.fate, told.verdict.code) == ("stays", "")
    assert "no candidate" in told.verdict.message


def test_a_guard_that_holds_is_told() -> None:
    made = crowded()
    for number in range(5):
        broken = node(f"broken-{number}")
        broken.status.conditions = []
        made.nodes.append(broken)
    told = explained(made, "web-0", spread())
    assert (told.verdict.fate, told.verdict.code) == ("held", "GRD002")
    assert told.landing, "where it would land is told all the same"


def test_without_policies_there_is_no_verdict_but_the_schedulers_view() -> None:
    told = explained(crowded(), "web-0")
    assert told.verdict.fate == "unknown"
    assert told.policies == []
    assert told.landing
    assert told.scores[0].total == sum(told.scores[0].points.values())


def test_the_best_nodes_are_shown_and_the_pods_own() -> None:
    told = explained(room(), "web-0")
    assert [score.node for score in told.scores] == ["small"], "its own is full with it still there"
    assert told.scores[0].probability == 1.0
    told = explained(room(), "solo-0")
    assert (told.state, told.returns, told.scores[0].node) == ("gone", 1.0, "n0")


def test_filters_count_alone_and_first_with_an_example_and_the_schedulers_words() -> None:
    told = explained(room(), "big-0")
    by_name = {each.plugin: each for each in told.filters}
    fit = by_name["NodeResourcesFit"]
    assert (fit.rejects, fit.first, fit.example) == (4, 4, "n0")
    assert fit.reasons == {"Insufficient cpu": 4}
    assert by_name["TaintToleration"].example == "tainted"
    assert (told.feasible, told.nodes, told.unschedulable) == (0, 6, 1.0)
    assert told.event == (
        "0/6 nodes are available: 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 4 Insufficient cpu."
    )
    assert told.verdict.message.startswith("it is Pending")


def test_a_pod_of_another_scheduler_is_refused_and_nothing_is_guessed() -> None:
    made = snapshot(crowded().nodes, [pod("p", "n1", schedulerName="volcano")])
    told = explained(made, "p")
    assert told.refusal is not None
    assert told.refusal.code == "ELG018"
    assert (told.landing, told.filters, told.scores) == ([], [], [])


def test_every_check_is_asked_and_the_first_that_fails_is_the_planners() -> None:
    made = crowded()
    bad = pod("bad", "n1", phase="Failed", annotations={"rescheduler.io/opt-out": "true"})
    alone = snapshot(made.nodes, [bad])
    told = explained(alone, "bad")
    assert codes(told, "failed") == ["ELG001", "ELG004", "ELG011"]
    assert {"ELG006", "ELG007", "ELG021"} <= set(codes(told, "not asked"))
    assert "ELG020" in codes(told, "passed")
    refusal = Eligibility(alone, Limits(), History()).refusal(0)
    assert refusal is not None
    assert refusal.code in codes(told, "failed")


def test_checks_agree_with_the_verdict_on_eligibility() -> None:
    for made in (crowded(), room()):
        copy = working_copy(made)
        for number in range(len(made.pods)):
            refusal = copy.eligibility.refusal(number) or copy.budgets.permanent(number)
            failed = [each.code for each in checks(copy, number) if each.result == "failed"]
            assert (refusal is None) == (not [c for c in failed if c[:3] in ("ELG", "DAT")])
            if refusal is not None:
                assert refusal.code in failed


def test_every_check_has_a_title_and_a_meaning() -> None:
    asked = {check.code for check in checks(working_copy(crowded()), 0)}
    assert asked == set(TITLES)
    assert asked <= set(CATALOG)


def test_a_node_tells_its_pods_by_what_moving_them_could_save() -> None:
    made = crowded()
    told = explain_node(working_copy(made, spread()), 0, HEADER)
    assert (told.node, told.zone, told.ready, told.problem) == ("n1", "a", True, None)
    assert len(told.pods) == 4
    assert [one.verdict.fate for one in told.pods] == ["moves", "stays", "stays", "stays"]
    assert told.pods[0].relief > 0
    cpu = next(room for room in told.room if room.resource == "cpu")
    assert (cpu.requested, cpu.allocatable) == (0.4, 8.0)
    assert told.policies[0].findings[0].code == "SPR001"


def test_an_empty_node_and_a_young_one() -> None:
    made = crowded()
    made.nodes[1].metadata.creationTimestamp = NOW - timedelta(seconds=5)
    told = explain_node(working_copy(made), 1, HEADER)
    assert told.pods == []
    assert told.problem is not None
    assert told.problem.code == "ELG020"


@pytest.mark.parametrize(
    ("said", "name"), [("default/web-0", "web-0"), ("web-0", "web-0"), ("gated", "gated")]
)
def test_pods_are_found_by_their_names(said: str, name: str) -> None:
    made = room()
    assert made.pods[find_pod(made, said)].metadata.name == name


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("default/wbe-0", "there is no pod default/wbe-0", "default/web-0"),
        ("defualt/web-0", "there is no pod defualt/web-0", "default/web-0 is meant"),
        ("default/web", "there is no pod default/web", "web-0, default/web-1 or default/web-2"),
        ("sloo-1", "there is no pod sloo-1", "solo-1"),
        ("qqqqqqqqqq", "there is no pod qqqqqqqqqq", "another cluster is meant"),
    ],
)
def test_unknown_pods_are_answered_with_what_is_near(said: str, message: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        find_pod(room(), said)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_name_in_several_namespaces_is_not_guessed() -> None:
    twice = snapshot(room().nodes, [pod("p", "n1"), pod("p", "n1", namespace="other")])
    with pytest.raises(NotFound, match="2 pods are called p") as caught:
        find_pod(twice, "p")
    assert "default/p or other/p" in caught.value.hint


def test_unknown_nodes_are_answered_with_what_is_near() -> None:
    assert find_node(room(), "n1") == 1
    with pytest.raises(NotFound, match="there is no node smal") as caught:
        find_node(room(), "smal")
    assert "small is meant" in caught.value.hint
