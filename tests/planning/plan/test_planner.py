"""The plan as a whole: what it carries, what it depends on, and what it does not."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Undecodable
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Change, Cost, Mode, Plan, PolicyResult
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.views import score
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_from_document, policy_set
from rescheduler.policies.spread.policy import Spread
from rescheduler.reporting.move_reasons import reason_text
from tests.cluster import NOW
from tests.planning.scenarios import SWIFT, coming_back, gpu_below, hot_gpus
from tests.planning.world import World


def planned(world: World, mode: Mode = "Audit", **more: Any) -> Plan:
    policies = policy_set(world.policies, world.limits)
    return plan(world.snapshot, policies, world.history, mode=mode, **more)


def audited(world: World, *policies: Policy) -> World:
    """The world with further policies, in mode Audit."""
    world.policies += [policy.model_copy(update={"mode": "Audit"}) for policy in policies]
    world.measure()
    return world


def test_the_plan_carries_what_its_readers_need() -> None:
    world = hot_gpus()
    world.snapshot.undecodable.append(Undecodable("Pod", "team", "odd", "labels is a list"))
    world.snapshot.unread.append("resourcequotas")
    made = planned(world, tool="rescheduler 1", recorded=True)
    assert made.created == made.taken == NOW
    assert made.expires == NOW + timedelta(minutes=30)
    assert (made.mode, made.tool, made.recorded) == ("Audit", "rescheduler 1", True)
    assert made.id == made.digest[: len(made.id)]
    assert made.id
    assert made.score.before is not None
    assert made.score.after is not None
    assert made.score.before < made.score.after <= 100
    assert [note.code for note in made.notes] == ["DAT001", "DAT002"]
    assert [(reading.name, reading.coverage) for reading in made.readings] == [
        ("node.gpu", 1.0),
        ("pod.gpu", 1.0),
    ]
    (policy,) = made.policies
    assert policy_from_document(policy.document) == world.policies[0]
    assert policy.scope == 60
    assert sum(finding.cost for finding in policy.findings) == pytest.approx(policy.cost.before)
    assert made.limits["movesPerCycle"] == 8


def test_every_move_and_every_candidate_is_reported() -> None:
    made = planned(hot_gpus())
    assert made.totals.candidates == 40
    assert sum(made.totals.refused.values()) == 40 - len(made.moves)
    reported = [refusal.pod.uid for refusal in made.refused] + [move.pod.uid for move in made.moves]
    assert len(set(reported)) == len(reported) == 40
    assert {refusal.code for refusal in made.refused} <= CATALOG.keys()
    assert made.totals.disruption == pytest.approx(sum(move.disruption for move in made.moves))
    for move in made.moves:
        assert sum(share.probability for share in move.landing) == pytest.approx(1.0)
        assert move.gain == pytest.approx(move.gains["hot-gpu"])
        assert move.usage == {"pod.gpu": 0.95}
        assert move.owner.kind == "Deployment"
        assert move.owner.controllerKind == "ReplicaSet"
        assert move.budget is not None
        assert move.budget.allowed == 1
        (reason,) = move.reasons
        assert reason.code == "UTL001"
        assert "node.gpu is 95.0%, target 50%" in reason.finding


def test_the_listing_of_refusals_is_capped_and_the_count_is_not() -> None:
    made = planned(hot_gpus(limits=SWIFT.model_copy(update={"movesPerCycle": 0})))
    assert made.totals.refused == {"PAC001": 40}
    world = hot_gpus(limits=SWIFT.model_copy(update={"movesPerCycle": 0, "maxHotShare": 1.0}))
    world.policies = [gpu_below("5%")]
    world.measure()
    many = planned(world)
    assert many.totals.refused["PAC001"] == 95
    assert len(many.refused) == 50


def test_nodes_are_shown_before_and_after() -> None:
    made = planned(hot_gpus())
    sources = Counter(move.source for move in made.moves)
    views = {node.name: node for node in made.nodes}
    assert len(views) == 60
    for name in ("n1", "n2", "n3", "n4", "n5"):
        view = views[name]
        assert view.pods.before == 8
        assert view.pods.after == 8 - sources[name]
        load = view.load["node.gpu"]
        assert load.before == pytest.approx(0.95)
        assert load.after == pytest.approx(0.95 - sources[name] * 0.95 / 8)
    assert sum(node.pods.after or 0 for node in made.nodes) == 95


def test_mode_and_tool_change_nothing_but_themselves() -> None:
    one = planned(hot_gpus(), "Audit", tool="a")
    other = planned(hot_gpus(), "Enforce", tool="b")
    assert one.digest == other.digest
    assert msgspec.structs.replace(one, mode="Enforce", tool="b") == other


@pytest.mark.parametrize(
    "change",
    [
        lambda w: setattr(w, "limits", w.limits.model_copy(update={"margin": 0.06})),
        lambda w: setattr(w, "policies", [gpu_below("51%")]),
        lambda w: setattr(w, "snapshot", replace(w.snapshot, taken=NOW + timedelta(seconds=1))),
        lambda w: w.use.update({"train-0": 0.5}),
    ],
)
def test_what_decides_changes_the_digest(change: Callable[[World], None]) -> None:
    world = hot_gpus()
    change(world)
    world.measure()
    assert planned(world).digest != planned(hot_gpus()).digest


def test_the_seed_breaks_ties_and_nothing_else() -> None:
    one, other = planned(hot_gpus(), seed=1), planned(hot_gpus(), seed=2)
    assert {m.pod.uid for m in one.moves} != {m.pod.uid for m in other.moves}
    assert one.policies[0].cost.after == pytest.approx(other.policies[0].cost.after)
    assert planned(hot_gpus(), seed=1) == one


def test_an_audit_policy_shows_moves_that_are_marked() -> None:
    world = audited(hot_gpus())
    world.policies = [policy.model_copy(update={"mode": "Audit"}) for policy in world.policies]
    made = planned(world)
    assert len(made.moves) == 8
    assert {move.mode for move in made.moves} == {"Audit"}
    assert made.policies[0].cost.after < made.policies[0].cost.before


def test_audit_policies_do_not_change_what_is_enforced() -> None:
    zones = Spread.model_validate({"name": "zones", "match": {"all": True}})
    alone, beside = planned(hot_gpus()), planned(audited(hot_gpus(), zones))
    enforced = [move for move in beside.moves if move.mode == "Enforce"]
    assert [move.pod for move in enforced] == [move.pod for move in alone.moves]
    assert [move.gain for move in enforced] == [move.gain for move in alone.moves]
    further = [move for move in beside.moves if move.mode == "Audit"]
    assert all(move.gains["zones"] > 0 for move in further)
    assert [move.batch for move in beside.moves] == sorted(move.batch for move in beside.moves)


def test_a_policy_without_its_readings_has_no_say_and_says_so() -> None:
    world = hot_gpus()
    reading = world.snapshot.readings.entries[0]
    reading.values[:30] = np.nan
    made = planned(world)
    assert made.moves == []
    assert made.policies[0].problem is not None
    assert made.policies[0].problem.code.startswith("RDG")
    assert made.score.before is None


def test_a_score_does_not_leave_out_a_policy_that_could_not_be_evaluated() -> None:
    heard = PolicyResult(
        name="a", kind="Spread", mode="Enforce", weight=1.0, cost=Cost(before=1.0, after=0.0),
        worst=4.0,
    )  # fmt: skip
    silent = msgspec.structs.replace(
        heard, name="b", cost=Cost(before=0.0, after=0.0), worst=0.0,
        problem=Problem(code="RDG009", message="no series"),
    )  # fmt: skip
    unweighted = msgspec.structs.replace(silent, weight=0.0)
    assert score([heard]) == Change(before=75.0, after=100.0)
    assert score([heard, unweighted]) == Change(before=75.0, after=100.0)
    for results in ([heard, silent], [silent], [unweighted], []):
        assert score(results) == Change(before=None, after=None)


def test_a_reading_that_was_not_recorded_is_reported() -> None:
    world = hot_gpus()
    world.policies = [gpu_below(window="10m")]
    made = planned(world)
    assert made.moves == []
    assert {reading.problem.code for reading in made.readings if reading.problem} == {"RDG007"}


def test_recent_moves_are_not_acted_on_twice() -> None:
    """The windowed reading still shows the load of pods that left a minute ago."""
    world = hot_gpus()
    stale = world.snapshot.readings
    names = {controller.metadata.name: controller for controller in world.snapshot.controllers}
    for number in range(4):
        pod = next(p for p in world.snapshot.pods if p.metadata.name == f"train-{number}-0")
        pod.node = "n10"
        world.history.moves.append(
            PastMove(
                plan="p",
                podUid="gone",
                namespace="default",
                pod="gone",
                workload=names[f"train-{number}"].metadata.uid,
                source="n1",
                landedOn="n10",
                at=NOW - timedelta(seconds=1),
                settled=NOW - timedelta(seconds=1),
                state="ready",
                usage={"pod.gpu": 0.95},
            )
        )
    world.snapshot = replace(world.snapshot, pods=list(world.snapshot.pods), readings=stale)
    made = planned(world)
    assert "n1" not in {move.source for move in made.moves}
    load = next(node for node in made.nodes if node.name == "n1").load["node.gpu"]
    assert load.before == pytest.approx(0.475, abs=0.01)


def test_a_weight_stands_beside_the_gain_that_it_multiplies() -> None:
    world = hot_gpus()
    (policy,) = world.policies
    (plain,) = planned(world).moves[0].reasons
    assert reason_text(plain).endswith(f"({policy.name} +1.10)")
    world.policies = [policy.model_copy(update={"weight": 2.5})]
    move = planned(world).moves[0]
    assert reason_text(move.reasons[0]).endswith(
        f"({policy.name} +1.10 \N{MULTIPLICATION SIGN} weight 2.5)"
    )
    assert move.gain == pytest.approx(2.5 * move.gains[policy.name])


def test_no_move_undoes_one_of_the_last_day() -> None:
    world = hot_gpus()
    world.limits = world.limits.model_copy(update={"movesPerDay": 500})
    first = planned(world).moves[0]
    tops = {controller.metadata.uid for controller in world.snapshot.controllers}
    for workload in tops:
        for share in first.landing:
            world.history.moves.append(
                PastMove(
                    plan="p", podUid="x", namespace="d", pod="x", workload=workload,
                    source=share.node, landedOn=first.source, state="ready",
                    at=NOW - timedelta(hours=20), settled=NOW - timedelta(hours=20),
                )
            )  # fmt: skip
    made = planned(world)
    assert first.source not in {move.source for move in made.moves if move.batch == 1}
    copy = WorkingCopy(world.snapshot, world.policies, world.limits, world.history)
    refusal = Evaluator(copy).evaluate((world.snapshot.pod_index[first.pod.uid],)).refusal
    assert refusal is not None
    assert refusal.code == "MRG003"


def test_a_come_back_costs_nothing() -> None:
    made = planned(coming_back())
    assert made.totals.refused == {"FEA002": 35}
    assert made.score.before == made.score.after


def test_a_policy_moves_no_pod_above_its_own_priority() -> None:
    world = hot_gpus()
    for pod in world.snapshot.pods:
        pod.spec.priority = 10
    (policy,) = world.policies
    world.policies = [policy.model_copy(update={"maxPriority": 9})]
    assert world.plan().totals.candidates == 0
    world.policies = [policy.model_copy(update={"maxPriority": 10})]
    assert world.plan().moves


def test_no_move_is_justified_by_a_policy_that_may_not_move_the_pod() -> None:
    world = hot_gpus()
    hot = world.plan().moves[0].pod.uid
    for pod in world.snapshot.pods:
        pod.spec.priority = 10
    (policy,) = world.policies
    barred = policy.model_copy(update={"maxPriority": 9})
    copy = WorkingCopy(world.snapshot, [barred], world.limits, world.history)
    refusal = Evaluator(copy).evaluate((world.snapshot.pod_index[hot],)).refusal
    assert refusal is not None
    assert refusal.code == "FEA003"
