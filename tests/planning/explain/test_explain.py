"""Explanations say what the planner and the scheduler model say, pod by pod and node by node."""

from datetime import timedelta
from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import NotFound
from rescheduler.model.explanation import Header, PodExplanation
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import ClusterRef
from rescheduler.model.reasons import CATALOG
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.explain.lookup import find_node, find_pod
from rescheduler.planning.explain.node import explain_node
from rescheduler.planning.explain.pod import checks, explain_pod
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.reporting.explain.explanation_words import TITLES
from tests.cases import every
from tests.cluster import NOW, node, pod, snapshot
from tests.planning.full_cluster import full_cluster, index, working_copy
from tests.planning.gang_worlds import FREE, in_one_rack
from tests.planning.scattered_gang import scattered
from tests.runtime.skewed import skewed, spread

HEADER = Header(cluster=ClusterRef(uid="c"), taken=NOW)


def explained(made: Snapshot, name: str, *policies: Policy, **limits: Any) -> PodExplanation:
    copy = working_copy(made, *policies, limits=Limits.model_validate(limits))
    return explain_pod(copy, index(made, name), HEADER)


def codes(reported: PodExplanation, result: str) -> list[str]:
    return [check.code for check in reported.eligibility if check.result == result]


def test_a_moving_pod_is_reported_with_its_batch_gain_and_landing() -> None:
    made = skewed()
    reported = explained(made, "web-0", spread())
    (move,) = plan(made, policy_set([spread()]), History(), mode="Audit").moves
    assert move.pod.name == "web-0"
    assert (reported.verdict.outcome, reported.verdict.batch) == ("moves", move.batch)
    assert reported.verdict.gain == pytest.approx(move.gain)
    assert reported.verdict.disruption == pytest.approx(move.disruption)
    assert [share.node for share in reported.landing] == [share.node for share in move.landing]
    assert sum(s.probability for s in reported.landing) + reported.unschedulable == pytest.approx(1)
    assert reported.policies[0].gain == pytest.approx(move.gains["zones"])
    assert codes(reported, "failed") == []
    assert reported.state == "overlap"


def test_a_pod_that_stays_is_reported_with_the_planners_own_reason() -> None:
    made = skewed()
    refused = plan(made, policy_set([spread()]), History(), mode="Audit").refused
    assert len(refused) == 3
    for refusal in refused:
        reported = explained(made, refusal.pod.name, spread())
        assert (reported.verdict.outcome, reported.verdict.code) == ("stays", refusal.code)
        assert reported.verdict.message == refusal.message


def test_a_pod_that_no_policy_minds_is_no_candidate() -> None:
    reported = explained(skewed(moved=2), "web-0", spread())
    assert (reported.verdict.outcome, reported.verdict.code) == ("stays", "")
    assert "no candidate" in reported.verdict.message


def test_a_guard_that_holds_is_reported() -> None:
    made = skewed()
    for number in range(5):
        broken = node(f"broken-{number}")
        broken.status.conditions = []
        made.nodes.append(broken)
    reported = explained(made, "web-0", spread())
    assert (reported.verdict.outcome, reported.verdict.code) == ("held", "GRD002")
    assert reported.landing, "where it would land is reported all the same"


def test_without_policies_there_is_no_verdict_but_the_schedulers_view() -> None:
    reported = explained(skewed(), "web-0")
    assert reported.verdict.outcome == "unknown"
    assert reported.policies == []
    assert reported.landing
    assert reported.scores[0].total == sum(reported.scores[0].points.values())


def test_the_best_nodes_are_shown_and_the_pods_own() -> None:
    reported = explained(full_cluster(), "web-0")
    assert [score.node for score in reported.scores] == ["small"], (
        "its own is full with it still there"
    )
    assert reported.scores[0].probability == 1.0
    reported = explained(full_cluster(), "solo-0")
    assert (reported.state, reported.returns, reported.scores[0].node) == ("gone", 1.0, "n0")


def test_filters_are_counted_with_an_example_and_the_schedulers_words() -> None:
    reported = explained(full_cluster(), "big-0")
    by_name = {result.plugin: result for result in reported.filters}
    fit = by_name["NodeResourcesFit"]
    assert (fit.rejects, fit.first, fit.example) == (4, 4, "n0")
    assert fit.reasons == {"Insufficient cpu": 4}
    assert by_name["TaintToleration"].example == "tainted"
    assert (reported.feasible, reported.nodes, reported.unschedulable) == (0, 6, 1.0)
    assert reported.event == (
        "0/6 nodes are available: 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 4 Insufficient cpu."
    )
    assert reported.verdict.message.startswith("it is Pending")


def test_a_pod_of_another_scheduler_is_refused_and_nothing_is_guessed() -> None:
    made = snapshot(skewed().nodes, [pod("p", "n1", schedulerName="volcano")])
    reported = explained(made, "p")
    assert reported.refusal is not None
    assert reported.refusal.code == "ELG018"
    assert (reported.landing, reported.filters, reported.scores) == ([], [], [])


def test_every_check_is_asked_and_the_first_that_fails_is_the_planners() -> None:
    made = skewed()
    bad = pod("bad", "n1", phase="Failed", annotations={"rescheduler.io/opt-out": "true"})
    alone = snapshot(made.nodes, [bad])
    reported = explained(alone, "bad")
    assert codes(reported, "failed") == ["ELG001", "ELG004", "ELG011"]
    assert {"ELG006", "ELG007", "ELG021"} <= set(codes(reported, "not checked"))
    assert "ELG020" in codes(reported, "passed")
    refusal = Eligibility(alone, Limits(), History()).refusal(0)
    assert refusal is not None
    assert refusal.code in codes(reported, "failed")


def test_checks_agree_with_the_verdict_on_eligibility() -> None:
    for made in (skewed(), full_cluster()):
        copy = working_copy(made)
        for number in range(len(made.pods)):
            refusal = copy.eligibility.refusal(number) or copy.budgets.permanent(number)
            failed = [check.code for check in checks(copy, number) if check.result == "failed"]
            assert (refusal is None) == (not [c for c in failed if c[:3] in ("ELG", "DAT")])
            if refusal is not None:
                assert refusal.code in failed


def test_every_check_has_a_title_and_a_meaning() -> None:
    asked = {check.code for check in checks(working_copy(skewed()), 0)}
    for how in ("Surplus", "Whole"):
        limits = Limits.model_validate({"gangs": how})
        asked |= {check.code for check in checks(working_copy(scattered(), limits=limits), 0)}
    assert asked == {*TITLES, *(row.code for row in Limits.move_limits)}
    assert asked <= set(CATALOG)


def test_a_member_of_a_gang_is_reported_with_its_gang() -> None:
    reported = explained(scattered(), "ring-0")
    assert reported.gang is not None
    assert (reported.gang.name, reported.gang.minimum) == ("default/ring", 3)
    assert (reported.gang.members, reported.gang.ready, reported.gang.kueue) == (3, 3, False)
    assert "ELG016" in codes(reported, "failed")
    assert explained(skewed(), skewed().pods[0].metadata.name).gang is None


def test_a_gang_that_may_move_as_a_whole_has_no_failed_check() -> None:
    free = {**FREE, "gangs": "Whole"}
    reported = explained(scattered(), "ring-0", in_one_rack(), **free)
    assert codes(reported, "failed") == []
    assert reported.verdict.outcome == "moves"
    assert reported.verdict.disruption is not None
    limited = explained(scattered(), "ring-0", in_one_rack(), **{**free, "movesPerNode": 1})
    assert codes(limited, "failed") == ["ELG030"]
    surplus = explained(scattered(), "ring-0", in_one_rack(), **{**free, "gangs": "Surplus"})
    assert codes(surplus, "failed") == ["ELG027"]


def test_a_node_reports_its_pods_by_what_moving_them_could_save() -> None:
    made = skewed()
    reported = explain_node(working_copy(made, spread()), 0, HEADER)
    assert (reported.node, reported.zone, reported.ready, reported.problem) == (
        "n1",
        "a",
        True,
        None,
    )
    assert len(reported.pods) == 4
    assert [one.verdict.outcome for one in reported.pods] == ["moves", "stays", "stays", "stays"]
    assert reported.pods[0].relief > 0
    cpu = next(room for room in reported.room if room.resource == "cpu")
    assert (cpu.requested, cpu.allocatable) == (0.4, 8.0)
    assert reported.policies[0].findings[0].code == "SPR001"


def test_an_empty_node_and_a_young_one() -> None:
    made = skewed()
    made.nodes[1].metadata.creationTimestamp = NOW - timedelta(seconds=5)
    reported = explain_node(working_copy(made), 1, HEADER)
    assert reported.pods == []
    assert reported.problem is not None
    assert reported.problem.code == "ELG020"


@pytest.mark.parametrize(
    ("said", "name"), [("default/web-0", "web-0"), ("web-0", "web-0"), ("gated", "gated")]
)
def test_pods_are_found_by_their_names(said: str, name: str) -> None:
    made = full_cluster()
    assert made.pods[find_pod(made, said)].metadata.name == name


@every(
    [
        ("default/wbe-0", "there is no pod default/wbe-0", "default/web-0"),
        ("defualt/web-0", "there is no pod defualt/web-0", "default/web-0 is meant"),
        ("default/web", "there is no pod default/web", "web-0, default/web-1 or default/web-2"),
        ("sloo-1", "there is no pod sloo-1", "solo-1"),
        ("qqqqqqqqqq", "there is no pod qqqqqqqqqq", "another cluster is meant; here are 11 pods."),
        ("default/qqqq", "there is no pod default/qqqq", "here are 11 pods in namespace default."),
        ("zzzz/qqqq", "there is no pod zzzz/qqqq", "namespace zzzz has no pod here."),
    ]
)
def test_unknown_pods_are_answered_with_what_is_near(said: str, message: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        find_pod(full_cluster(), said)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_name_in_several_namespaces_is_not_guessed() -> None:
    twice = snapshot(full_cluster().nodes, [pod("p", "n1"), pod("p", "n1", namespace="other")])
    with pytest.raises(NotFound, match="2 pods are called p") as caught:
        find_pod(twice, "p")
    assert "default/p or other/p" in caught.value.hint


def test_unknown_nodes_are_answered_with_what_is_near() -> None:
    assert find_node(full_cluster(), "n1") == 1
    with pytest.raises(NotFound, match="there is no node smal") as caught:
        find_node(full_cluster(), "smal")
    assert "small is meant" in caught.value.hint
