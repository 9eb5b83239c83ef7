"""Pods are moved for a policy that waits only where its findings are known to have held."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.kube.objects import Node, Taint
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory, Observation
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.planning.plan.result import Outline
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.runtime.skewed import skewed

MINUTE = timedelta(minutes=1)
LIMITS = Limits(movesPerNode=9, movesPerWorkload=9, movesPerNamespace=9, movesPerCycle=9)


def zones(stable: timedelta | None = 10 * MINUTE, **fields: Any) -> Spread:
    given = {"name": "zones", "match": {"all": True}, "maxSkew": 1, **fields}
    return Spread.model_validate({**given, "stableFor": stable})


def planned(
    snapshot: Snapshot, *policies: Policy, finding_history: FindingHistory | None = None
) -> tuple[Plan, tuple[Observation, ...]]:
    outline = Outline(mode="Enforce", seed=0, tool="", recorded=False)
    made = policy_set(list(policies), LIMITS)
    return plan_and_observations(
        snapshot, made, History(), finding_history or FindingHistory(), outline
    )


def found_before(snapshot: Snapshot, *policies: Policy, ago: timedelta) -> FindingHistory:
    """What one cycle with the same findings so long before has left."""
    _, observations = planned(snapshot, *policies)
    return FindingHistory().remember(observations, snapshot.taken - ago)


def test_a_new_finding_is_shown_and_moves_nothing() -> None:
    plan, observations = planned(skewed(), zones())
    assert plan.moves == []
    assert plan.policies[0].cost.before == 2
    assert plan.policies[0].findings
    assert plan.totals.refused == {"STB001": 4}
    assert "not known to hold before" in plan.refused[0].message
    assert "stableFor is 10m" in plan.refused[0].message
    assert len(observations[0].findings) == 1


@pytest.mark.parametrize(("minutes", "moves"), [(9.9, 0), (10, 1), (100, 1)])
def test_pods_move_as_soon_as_the_findings_have_held_for_long_enough(
    minutes: float, moves: int
) -> None:
    cluster = skewed()
    before = found_before(cluster, zones(), ago=minutes * MINUTE)
    plan, _ = planned(cluster, zones(), finding_history=before)
    assert (len(plan.moves) > 0) == (moves > 0)
    if not moves:
        assert "known to hold since 2" in plan.refused[0].message
        assert "it may act from" in plan.refused[0].message


def test_what_waits_does_not_change_what_it_does_then() -> None:
    cluster = skewed()
    plain, observations = planned(cluster, zones(stable=None))
    assert observations == (), "who does not wait remembers nothing"
    before = found_before(cluster, zones(), ago=10 * MINUTE)
    waited, _ = planned(cluster, zones(), finding_history=before)
    assert [(m.pod.uid, m.source, m.gain) for m in waited.moves] == [
        (m.pod.uid, m.source, m.gain) for m in plain.moves
    ]


def test_another_policy_without_a_wait_acts_for_itself() -> None:
    cluster = skewed()
    other = zones(stable=None, name="other")
    plan, _ = planned(cluster, zones(), other)
    assert plan.moves
    assert {code for move in plan.moves for code in move.gains} == {"zones", "other"}


def test_a_gain_of_which_too_much_is_of_new_findings_is_none() -> None:
    """The other policy alone would not pass the margin."""
    cluster = skewed()
    faint = zones(stable=None, name="faint", weight=0.01)
    plan, _ = planned(cluster, zones(), faint)
    assert plan.moves == []
    assert plan.totals.refused == {"STB001": 4}
    alone, _ = planned(cluster, faint)
    assert set(alone.totals.refused) == {"MRG001"}


def test_what_a_policy_gains_that_may_not_move_the_pod_lets_no_other_act() -> None:
    """Judged alone, as before an eviction, where nobody asks first whose candidate it is."""
    barred = zones(stable=None, name="barred", maxPriority=-1)
    copy = WorkingCopy(skewed(), [zones(), barred], LIMITS, History())
    refusal = Evaluator(copy).evaluate((0,)).refusal
    assert refusal is not None
    assert refusal.code == "STB001"


def test_who_watches_first_and_enforces_then_does_not_wait_again() -> None:
    cluster = skewed()
    before = found_before(cluster, zones(mode="Audit", weight=0.5), ago=10 * MINUTE)
    assert planned(cluster, zones(), finding_history=before)[0].moves
    other = found_before(cluster, zones(maxSkew=2), ago=10 * MINUTE)
    assert not planned(cluster, zones(), finding_history=other)[0].moves, "it means something else"


def test_an_audit_policy_that_waits_shows_no_move_either() -> None:
    plan, observations = planned(skewed(), zones(mode="Audit"))
    assert plan.moves == []
    assert plan.totals.refused == {"STB001": 4}
    assert len(observations) == 1


def test_a_finding_that_went_away_in_one_cycle_starts_anew() -> None:
    cluster, policy = skewed(), zones()
    finding_history = found_before(cluster, policy, ago=30 * MINUTE)
    _, calm = planned(skewed(moved=2), policy)
    finding_history = finding_history.remember(calm, cluster.taken - 5 * MINUTE)
    plan, _ = planned(cluster, policy, finding_history=finding_history)
    assert plan.moves == []


def test_each_pod_of_a_rule_waits_for_itself() -> None:
    cluster = skewed()
    tainted = replace(cluster, nodes=[tainting(cluster.nodes[0]), *cluster.nodes[1:]])
    policy = Conformity.model_validate(
        {"name": "rules", "match": {"all": True}, "nodeTaints": {}, "stableFor": 10 * MINUTE}
    )
    before = found_before(replace(tainted, pods=tainted.pods[:2]), policy, ago=20 * MINUTE)
    plan, observations = planned(tainted, policy, finding_history=before)
    assert len(observations[0].findings) == 4
    assert {refusal.pod.name for refusal in plan.refused if refusal.code == "STB001"} == {
        "web-2",
        "web-3",
    }


def tainting(node: Node) -> Node:
    taint = Taint(key="old", value="", effect="NoSchedule")
    return structs.replace(node, spec=structs.replace(node.spec, taints=[taint]))


def test_where_not_all_can_be_remembered_the_rest_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rescheduler.model.finding_history.MOST_FINDINGS", 0)
    plan, _ = planned(skewed(), zones())
    assert plan.totals.refused == {"STB002": 4}
    assert "not all are remembered" in plan.refused[0].message


def test_the_recheck_asks_for_it_too() -> None:
    cluster = skewed()
    before = found_before(cluster, zones(), ago=10 * MINUTE)
    plan, _ = planned(cluster, zones(), finding_history=before)

    def rechecked(finding_history: FindingHistory) -> Any:
        copy = WorkingCopy(
            cluster, [zones()], LIMITS, History(), plan=plan.id, finding_history=finding_history
        )
        return Recheck(copy).check(plan.moves[0])

    assert rechecked(before).pod.uid == plan.moves[0].pod.uid
    assert rechecked(FindingHistory()).code == "STB001"
