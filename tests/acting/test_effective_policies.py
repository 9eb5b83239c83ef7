"""Without the right to delete Workloads a cycle leaves the gangs of Kueue alone, and says so."""

from typing import Any

import pytest

from rescheduler.acting.effective_policies import drop_denied_restarts
from rescheduler.acting.run import DONE
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.stage import Process, Stage, warm
from tests.runtime.skewed import enforced, skewed, spread


def policies(**limits: Any) -> PolicySet:
    chosen = {"minReplicas": 1, "gangs": "Whole", "kueue": "Restart", **limits}
    return policy_set([spread()], Limits.model_validate(chosen), ())


def test_with_the_right_nothing_changes() -> None:
    asked = policies()
    assert drop_denied_restarts(asked, Process(warm(Stage()), "one").actor()) == (asked, [])


@pytest.mark.parametrize("limits", [{"kueue": "Leave"}, {"kueue": "Leave", "gangs": "Surplus"}])
def test_where_nothing_is_to_be_stopped_nothing_is_asked(limits: dict[str, str]) -> None:
    process = Process(warm(Stage()), "one")
    asked = policies(**limits)
    assert drop_denied_restarts(asked, process.actor()) == (asked, [])
    assert process.sent == []


@pytest.mark.parametrize("why", ["no right", "no answer"])
def test_without_it_gangs_of_kueue_are_left_alone_and_it_is_said(why: str) -> None:
    stage = warm(Stage())
    process = Process(stage, "one")
    stage.world.kueue.may = why != "no right"
    if why == "no answer":
        process.before = lambda _n, _m, path: 500 if "selfsubject" in path else None
    changed, (note,) = drop_denied_restarts(policies(), process.actor())
    assert (changed.limits.kueue, changed.limits.gangs) == ("Leave", "Whole")
    assert changed.policies == policies().policies
    assert note.code == "ACT022"
    assert "kueue-restart" in note.message


def test_the_cycle_says_it_and_moves_what_else_it_may() -> None:
    stage = warm(Stage())
    stage.world.kueue.may = False
    outcome = enforced(stage, policies, lambda *_: skewed())
    assert "ACT022" in {note.code for note in outcome.plan.notes}
    assert outcome.plan.limits["kueue"] == "Leave", "what was planned with"
    assert outcome.plan.moves


def test_a_missing_right_is_a_fault_though_nothing_else_was_to_be_done() -> None:
    stage = warm(Stage())
    stage.world.kueue.may = False
    outcome = enforced(stage, policies, lambda *_: skewed(moved=2))
    assert outcome.verdict.code == DONE
    assert exit_code(outcome) == 1, "as where steering is not set up"
