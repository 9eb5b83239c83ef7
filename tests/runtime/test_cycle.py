"""A cycle is one path: Audit ends before acting, and what is wrong decides the exit code."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting import run as acting
from rescheduler.kube.objects import Taint
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan, Result, plan_in
from rescheduler.model.moves.taint_value import TaintValue, taint_value
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.parts import parts_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from tests.cases import every
from tests.fakes.stage import START, Process, Stage, warm
from tests.runtime.cycles import enforcing, populate
from tests.runtime.skewed import hot, parts, skewed, spread


def test_an_audit_cycle_never_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any) -> Outcome:
        raise AssertionError("Audit acted")

    monkeypatch.setattr(acting, "act", forbidden)
    plan = run_cycle(parts())
    assert isinstance(plan, Plan)
    assert (plan.mode, len(plan.moves)) == ("Audit", 1)
    assert exit_code(plan) == 0
    assert exit_code(plan, proposed=True) == 4


@pytest.mark.parametrize(
    ("effort", "why"), [(Effort(), "complete"), (Effort(expired=lambda: True), "time")]
)
def test_a_plan_is_made_within_the_time_that_the_cycle_has_for_it(effort: Effort, why: str) -> None:
    plan = run_cycle(replace(parts(), effort=lambda: effort))
    assert isinstance(plan, Plan)
    assert plan.search is not None
    assert plan.search.stopped == why
    assert len(plan.moves) == (why == "complete")


def test_the_time_of_a_plan_begins_with_its_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("rescheduler.runtime.parts.time.monotonic", lambda: now)
    monkeypatch.setattr("rescheduler.runtime.parts.observer", lambda *_: skewed)
    settings = Settings(search_time=timedelta(seconds=5), search_steps=7)
    made = parts_of(settings, None, policies=lambda: policy_set([]))
    now = 2000.0
    effort = made.effort()
    assert (effort.steps, effort.expired()) == (7, False)
    now = 2004.9
    assert not effort.expired()
    now = 2005.0
    assert effort.expired()
    assert not made.effort().expired(), "the next cycle has its own"


def tainted() -> Snapshot:
    """The skewed cluster, where a taint of ours has stayed on a node as a state was lost."""
    made = skewed()
    value = taint_value(TaintValue(3, START))
    made.nodes[0].spec.taints = [Taint(key=SOFT_TAINT.key, value=value, effect=SOFT_TAINT.effect)]
    return made


def test_a_taint_that_nothing_takes_off_is_noted_once_for_somebody() -> None:
    stage = warm(Stage())
    stage.world.load(tainted())
    stage.world.may_taint = False
    outcome = run_cycle(enforcing(stage, Process(stage, "one"), observe=tainted))
    assert isinstance(outcome, Outcome)
    assert [note.code for note in outcome.plan.notes] == ["STR010", "STR014"]
    assert [move.result for move in outcome.moves] == ["evicted"]
    assert exit_code(outcome) == 1


def test_a_taint_of_ours_that_was_left_is_taken_off_before_the_plan() -> None:
    stage = warm(Stage())
    stage.world.load(tainted())
    process = Process(stage, "one")
    outcome = run_cycle(enforcing(stage, process, observe=tainted))
    assert isinstance(outcome, Outcome)
    assert ([note.code for note in outcome.plan.notes], exit_code(outcome)) == (["STR010"], 0)
    assert "taints" not in stage.world.objects["nodes", "", "n1"]["spec"]


def test_an_enforcing_cycle_evicts_what_audit_proposes() -> None:
    stage = warm(Stage())
    populate(stage)
    process = Process(stage, "one")
    outcome = run_cycle(enforcing(stage, process))
    audit = run_cycle(replace(enforcing(warm(Stage()), process), actor=None))
    assert isinstance(outcome, Outcome)
    assert isinstance(audit, Plan)
    assert [move.pod.uid for move in outcome.moves] == [move.pod.uid for move in audit.moves]
    assert outcome.plan.digest == audit.digest
    assert stage.world.accepted == [move.pod.uid for move in outcome.moves]
    assert not process.lease.held, "the lock is given back"


def test_where_another_holds_the_lock_nothing_is_tried_nor_fails() -> None:
    stage = warm(Stage())
    populate(stage)
    other = Process(stage, "other")
    other.lease.acquire()

    class Alive(Process):
        def _wait(self, seconds: float) -> bool:
            other.lease.renew()
            return super()._wait(seconds)

    outcome = run_cycle(enforcing(stage, Alive(stage, "late")))
    assert isinstance(outcome, Outcome)
    assert outcome.verdict.code == "GRD005"
    assert "other" in outcome.verdict.message
    assert [move.result for move in outcome.moves] == ["skipped"]
    assert stage.world.accepted == []
    assert exit_code(outcome) == 0


def test_with_a_damaged_ledger_a_cycle_reports_only_and_fails() -> None:
    stage = warm(Stage())
    populate(stage)
    run_cycle(enforcing(stage, Process(stage, "one")))
    evicted = list(stage.world.accepted)
    stored = stage.world.objects[("configmaps", "rescheduler", "rescheduler-state")]
    stored["binaryData"]["state"] = "AAAA"
    process = Process(stage, "two")
    outcome = run_cycle(enforcing(stage, process))
    assert isinstance(outcome, Outcome)
    assert outcome.verdict.code == "GRD004"
    assert "budgets" in outcome.verdict.message, "it tells how to go on"
    assert {move.result for move in outcome.moves} == {"skipped"}
    assert exit_code(outcome) == 1
    assert stage.world.accepted == evicted
    assert not process.lease.held


@pytest.mark.parametrize("wall", [31.0, -31.0, 3 * 86400.0])
def test_clocks_that_differ_hold_a_cycle_before_open_moves_are_judged(wall: float) -> None:
    stage = warm(Stage())
    populate(stage)
    outcome = run_cycle(enforcing(stage, Process(stage, "one", wall=wall)))
    assert isinstance(outcome, Outcome)
    assert outcome.verdict.code == "GRD007"
    assert exit_code(outcome) != 0
    assert stage.world.accepted == []


def test_a_stop_before_acting_leaves_every_pod_alone() -> None:
    stage = warm(Stage())
    populate(stage)
    outcome = run_cycle(enforcing(stage, Process(stage, "one", stopped="SIGTERM was received")))
    assert stage.world.accepted == []
    assert exit_code(outcome) == 3


def test_a_pod_that_the_fresh_snapshot_shows_elsewhere_is_not_evicted() -> None:
    stage = warm(Stage())
    populate(stage)
    observations = iter([skewed(), skewed(moved=2)])
    outcome = run_cycle(enforcing(stage, Process(stage, "one"), observe=lambda: next(observations)))
    assert stage.world.accepted == []
    assert isinstance(outcome, Outcome)
    assert [move.result for move in outcome.moves] == ["refused"]
    assert exit_code(outcome) == 3


def test_notes_about_the_history_are_in_the_plan() -> None:
    note = Problem(code="DAT002", message="the state could not be read")
    assert note in plan_in(run_cycle(parts(recall=lambda: (History(), [note])))).notes


def test_missing_steering_is_reported_in_audit_with_exit_code_1() -> None:
    missing = Problem(code="STR001", message="nothing is steered")
    told = replace(parts(), unsteered=lambda _policies: [missing])
    report = run_cycle(told)
    assert isinstance(report, Plan)
    assert missing in report.notes
    assert exit_code(report) == 1
    assert exit_code(run_cycle(parts())) == 0


def test_a_policy_without_a_say_makes_the_exit_code_1() -> None:
    plan = run_cycle(parts(policies=lambda: policy_set([hot(), spread()])))
    assert exit_code(plan, proposed=True) == 1


@every(
    [
        (["ACT001"], 0),
        (["ACT001", "ACT012"], 0),
        (["ACT001", "ACT011"], 3),
        (["ACT001", "ACT004"], 3),
        (["ACT009"], 3),
    ]
)
def test_the_exit_code_of_an_outcome(results: list[str], code: int) -> None:
    plan = run_cycle(parts())
    assert isinstance(plan, Plan)
    kinds: dict[str, Result] = {"ACT004": "refused", "ACT009": "unknown"}
    moves = [
        MoveResult.from_move(
            plan.moves[0], kinds.get(result, "evicted"), Problem(code=result, message="")
        )
        for result in results
    ]
    outcome = Outcome(
        started=plan.taken,
        finished=plan.taken,
        verdict=Problem(code="ACT013", message="done"),
        moves=tuple(moves),
        plan=structs.replace(plan, moves=plan.moves * len(moves)),
    )
    assert exit_code(outcome) == code


def test_a_deadline_is_a_reason_to_stop() -> None:
    stop = Stop()
    assert stop.reason_within(timedelta(hours=1))() == ""
    assert "deadline" in stop.reason_within(timedelta(0))()
    stop.request("SIGTERM was received")
    stop.request("later")
    assert stop.reason_within(timedelta(hours=1))() == "SIGTERM was received"
    assert stop.wait(60)
