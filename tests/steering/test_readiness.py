"""What steers is asked for before anything is evicted; without it cycles go on without steering."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.acting.effective_policies import drop_missing_steering
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.runtime.cycle import Parts, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.stage import START, Process, Stage, warm
from tests.runtime.skewed import parts, skewed
from tests.steering.readiness import WHAT, missing, policies, ready

ADMISSION = SteeringFields(by="AdmissionPolicy", strength="Prefer")


@pytest.mark.parametrize("what", WHAT)
def test_what_is_missing_is_said_and_nothing_is_steered(what: str) -> None:
    process = missing(warm(Stage()), what)
    changed, (note,) = drop_missing_steering(policies(None, ADMISSION), process.actor().steering)
    assert note.code == ("STR002" if what in ("policy", "fresh parameter") else "STR001")
    assert "AdmissionPolicy" in note.message
    (policy,) = changed.policies
    assert policy.steering is not None
    assert (policy.steering.by, policy.onlyIfSteered) == ("None", False)


def test_what_requires_steering_counts_on_it() -> None:
    process = missing(warm(Stage()), "policy")
    strict = ADMISSION.model_copy(update={"strength": "Require"})
    changed, _ = drop_missing_steering(policies(strict), process.actor().steering)
    (policy,) = changed.policies
    assert policy.steering is not None
    assert (policy.steering.by, policy.onlyIfSteered) == ("None", True)


@pytest.mark.parametrize("fault", ["no right", "no answer", "none"])
def test_taints_need_the_right_to_patch_nodes_and_no_table(fault: str) -> None:
    stage = warm(Stage())
    stage.world.may_taint = fault != "no right"
    process = Process(stage, "one")
    if fault == "no answer":
        process.before = lambda *_: 503
    given = policies(None, SteeringFields(by="SoftTaint"))
    changed, notes = drop_missing_steering(given, process.actor().steering)
    assert [note.code for note in notes] == ([] if fault == "none" else ["STR001"])
    assert (changed == given) is (fault == "none")
    if fault == "no right":
        assert "may not patch nodes" in notes[0].message


def test_what_is_there_changes_nothing() -> None:
    stage = warm(Stage())
    ready(stage)
    given = policies(ADMISSION)
    assert drop_missing_steering(given, Process(stage, "one").actor().steering) == (given, [])


def test_who_does_not_steer_is_not_asked() -> None:
    process = missing(warm(Stage()), "right")
    given = policies(None)
    assert drop_missing_steering(given, process.actor().steering) == (given, [])
    assert process.sent == []


@pytest.mark.parametrize("what", WHAT)
def test_a_cycle_without_it_says_so_and_does_not_pass_for_a_success(what: str) -> None:
    stage = warm(Stage())
    process = missing(stage, what)
    stage.world.load(skewed())

    def fresh(*_: Any) -> Any:
        return replace(skewed(), taken=START)

    made: Parts = replace(
        parts(observe=fresh),
        policies=lambda: policies(ADMISSION),
        actor=lambda _: replace(process.actor(), observe=fresh),
    )
    outcome = run_cycle(made)
    assert isinstance(outcome, Outcome)
    code = "STR002" if what in ("policy", "fresh parameter") else "STR001"
    assert [note.code for note in outcome.plan.notes] == [code]
    assert all(move.steered is None for move in outcome.plan.moves)
    assert [move.result for move in outcome.moves] == ["evicted"]
    assert exit_code(outcome) == 1
