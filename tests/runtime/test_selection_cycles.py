"""A run shows first what a policy selects that is new, has changed or selects far more (F63)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rescheduler.model.errors import LockLost
from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.moves.selection import Selection, SelectionResult
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.cycle import Parts, carry_out, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.fakes.stage import START, Process, Stage
from tests.fakes.truth import STATE, stored_state
from tests.runtime.cycles import populate
from tests.runtime.measuring_cycles import enforcing
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import spread

SETTLED = spread().model_copy(update={"maxSkew": 5})
"""What the first run has; it finds nothing."""


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    populate(made)
    return made


class Runs:
    """Runs of one process after the other, the first with a policy that finds nothing."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.warned: list[Problem] = []
        self.number = 0
        assert exit_code(self(SETTLED)) == 0

    def parts(self, *policies: Policy, minutes: float = 0, limits: Limits | None = None) -> Parts:
        self.number += 1
        made = policy_set(list(policies), limits)
        taken = START + timedelta(minutes=minutes)
        there = enforcing(Process(self.stage, f"p{self.number}"), self.warned, taken)
        return replace(there, policies=lambda: made)

    def __call__(
        self, *policies: Policy, minutes: float = 0, limits: Limits | None = None
    ) -> Report:
        return run_cycle(self.parts(*policies, minutes=minutes, limits=limits))


def selection(report: Report, name: str = "zones") -> SelectionResult:
    (policy,) = [result for result in plan_in(report).policies if result.name == name]
    assert policy.selection is not None
    return policy.selection


def modes(report: Report) -> list[str]:
    return [move.mode for move in plan_in(report).moves]


def first_run(stage: Stage, minutes: float = 0) -> Report:
    """A run of an installation of which nothing is stored yet, or that is so old."""
    taken = START + timedelta(minutes=minutes)
    return run_cycle(enforcing(Process(stage, f"at {minutes}"), [], taken))


def installed() -> Stage:
    """A stage on which nothing has run."""
    made = Stage()
    populate(made)
    del made.world.objects[STATE]
    return made


def test_the_policies_of_the_first_run_are_shown_first() -> None:
    stage = installed()
    outcome = first_run(stage)
    assert stage.world.accepted == []
    assert modes(outcome) == ["Audit"]
    assert exit_code(outcome) == 3
    problem = selection(outcome).problem
    assert problem is not None
    assert "Policy zones is new: seen at 12:00 UTC" in problem.message
    first_run(stage, 59)
    assert stage.world.accepted == []
    assert modes(first_run(stage, 60)) == ["Enforce"]
    assert len(stage.world.accepted) == 1


def test_a_reviewed_plan_is_applied_before_the_first_run() -> None:
    stage = installed()
    plan = run_cycle(replace(enforcing(Process(stage, "plan"), []), actor=None, attended=True))
    assert isinstance(plan, Plan)
    assert modes(plan) == ["Enforce"]
    applying = replace(enforcing(Process(stage, "apply"), []), attended=True)
    assert applying.actor is not None
    policies = policy_set([spread()])
    carry_out(applying, plan, policies, applying.actor(policies))
    assert len(stage.world.accepted) == 1


def test_audit_without_a_state_shows_no_policy_as_new() -> None:
    shown = run_cycle(replace(enforcing(Process(installed(), "audit"), []), actor=None))
    assert modes(shown) == ["Enforce"]
    assert selection(shown).problem is None


def test_what_a_person_lets_act_is_known_from_the_first_run_on(stage: Stage) -> None:
    outcome = run_cycle(enforcing(Process(stage, "one"), []))
    assert len(stage.world.accepted) == 1
    found = selection(outcome)
    assert found.pods > 0
    assert (found.pods, found.nodes) == (found.knownPods, found.knownNodes)
    history = stored_state(stage.world).history
    (record,) = history.selections
    assert record.acceptedSelection == Selection(found.pods, found.nodes)
    assert not history.acceptSelections, "it is for one run"


def test_a_policy_that_was_edited_is_shown_first_and_says_so(stage: Stage) -> None:
    runs = Runs(stage)
    outcome = runs(spread(), minutes=5)
    assert isinstance(outcome, Outcome)
    assert stage.world.accepted == []
    assert modes(outcome) == ["Audit"]
    assert exit_code(outcome) == 3
    assert [problem.code for problem in runs.warned] == ["SEL001"]
    found = selection(outcome)
    assert found.problem == runs.warned[0]
    assert " was changed: seen at " in found.problem.message
    assert "until 2026-11-21 13:05 UTC" in found.problem.message
    assert found.demotedUntil == START + timedelta(minutes=65)
    assert plan_in(outcome).policies[0].document["spec"]["mode"] == "Enforce"
    telemetry = Telemetry()
    telemetry.observe(outcome)
    metrics = lines(telemetry)
    assert metrics['rescheduler_policy_demoted{policy="zones",reason="SEL001"}'] == 1
    selected = 'rescheduler_policy_selected{policy="zones",resource="%s"}'
    assert metrics[selected % "pods"] == found.pods
    assert metrics[selected % "nodes"] == found.nodes


def test_it_stays_so_in_every_run_until_its_time_is_up(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=5)
    later = runs(spread(), minutes=60)
    assert stage.world.accepted == []
    assert exit_code(later) == 3, "it would have had a move"
    assert len(runs.warned) == 1, "an Event is written once"
    acts = runs(spread(), minutes=65)
    assert modes(acts) == ["Enforce"]
    assert len(stage.world.accepted) == 1
    assert selection(acts).problem is None
    assert exit_code(acts) == 0


def test_a_policy_that_is_new_beside_others_is_shown_first(stage: Stage) -> None:
    runs = Runs(stage)
    fresh = spread().model_copy(update={"name": "fresh"})
    outcome = runs(SETTLED, fresh, minutes=5)
    assert stage.world.accepted == []
    problem = selection(outcome, "fresh").problem
    assert problem is not None
    assert problem.code == "SEL001"
    assert " is new: seen at " in problem.message
    assert "before" not in problem.message
    assert selection(outcome).problem is None


def test_what_only_weighs_otherwise_acts_at_once(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=0)
    runs(spread(), minutes=60)
    assert len(stage.world.accepted) == 1
    others = {"weight": 3.0, "maxPriority": 9, "onlyIfSteered": True}
    outcome = runs(spread().model_copy(update=others), minutes=65)
    assert selection(outcome).problem is None


def test_what_was_shown_in_audit_for_long_enough_acts_at_once(stage: Stage) -> None:
    runs = Runs(stage)
    audit = spread().model_copy(update={"mode": "Audit"})
    for minutes in (5, 65):
        shown = runs(audit, minutes=minutes)
        assert exit_code(shown) == 0
        assert selection(shown).problem is None
    assert runs.warned == []
    assert modes(runs(spread(), minutes=66)) == ["Enforce"]
    assert len(stage.world.accepted) == 1


def test_a_person_lets_it_act(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=5)
    stored = stage.world.objects[STATE]
    stage.world.put(*STATE, {**stored, "data": {**stored["data"], "selections": "forget"}})
    assert exit_code(runs(spread(), minutes=10)) == 0
    assert len(stage.world.accepted) == 1
    assert "selections" not in stage.world.objects[STATE]["data"]
    assert [selection.meaning for selection in stored_state(stage.world).history.selections] == [
        spread().meaning
    ]


def test_with_no_such_time_it_acts_at_once(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=5, limits=Limits.model_validate({"auditFirst": "0s"}))
    assert len(stage.world.accepted) == 1
    assert runs.warned == []


def test_a_plan_that_people_decide_on_is_not_held(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=1)
    attended = replace(runs.parts(spread(), minutes=2), attended=True)
    history = stored_state(stage.world).history
    plan = run_cycle(replace(attended, actor=None, recall=lambda: (history, [])))
    assert isinstance(plan, Plan)
    assert modes(plan) == ["Enforce"]
    found = selection(plan)
    assert found.problem is not None
    assert found.problem.code == "SEL001"
    assert found.demotedAt is None
    assert exit_code(plan) == 0
    assert attended.actor is not None
    policies = policy_set([spread()])
    carry_out(attended, plan, policies, attended.actor(policies))
    assert len(stage.world.accepted) == 1
    assert stored_state(stage.world).history.selections == history.selections


def test_a_plan_of_before_is_not_carried_out_by_a_run(stage: Stage) -> None:
    runs = Runs(stage)
    runs(spread(), minutes=1)
    unattended = runs.parts(spread(), minutes=2)
    plan = run_cycle(replace(unattended, actor=None))
    assert isinstance(plan, Plan)
    assert modes(plan) == ["Enforce"], "it knows of no state"
    assert unattended.actor is not None
    policies = policy_set([spread()])
    outcome = carry_out(unattended, plan, policies, unattended.actor(policies))
    assert stage.world.accepted == []
    assert [move.code for move in outcome.moves] == ["DRF004"]


def test_a_dry_run_shows_the_same_and_stores_nothing(stage: Stage) -> None:
    runs = Runs(stage)
    before = stored_state(stage.world).history
    dry = replace(runs.parts(spread(), minutes=5), actor=None, recall=lambda: (before, []))
    shown = run_cycle(dry)
    assert modes(shown) == ["Audit"]
    assert exit_code(shown) == 0
    stored = stored_state(stage.world).history.selections
    assert [record.meaning for record in stored] == [SETTLED.meaning]
    acted = runs(spread(), minutes=5)
    assert plan_in(acted).digest == plan_in(shown).digest
    assert selection(acted) == selection(shown)


def test_what_cannot_be_stored_ends_the_cycle_before_anything_is_evicted(stage: Stage) -> None:
    runs = Runs(stage)
    process, rival = Process(stage, "one"), Process(stage, "rival")
    writes = 0

    def before(_: int, method: str, path: str) -> None:
        nonlocal writes
        if method == "PUT" and "configmaps" in path:
            writes += 1
            if writes == 2:  # the first one opens the ledger
                stage.seconds += 100
                rival.lease.acquire()
                rival.ledger.open()

    process.before = before
    there = enforcing(process, runs.warned, START + timedelta(minutes=5))
    with pytest.raises(LockLost):
        run_cycle(there)
    assert stage.world.accepted == []
    assert runs.warned == []
