"""What moves have brought is measured before planning; a policy that does not help is demoted."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.model.errors import LockLost
from rescheduler.model.moves.gains import Baseline, GainRecord, MeasuredGain
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.cycle import carry_out, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.fakes.stage import START, Process, Stage
from tests.fakes.truth import STATE, stored_state
from tests.runtime.cycles import populate
from tests.runtime.measuring_cycles import enforcing
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import spread

LONG_AGO = START - timedelta(hours=3)


def returned(uid: str = "old", **fields: Any) -> PastMove:
    """A settled move that was to go to n2, and came back to n1 as `web-0` of the skewed cluster."""
    values: dict[str, Any] = {
        "plan": "p",
        "podUid": uid,
        "namespace": "default",
        "pod": "web-9",
        "workload": "w",
        "controller": "ReplicaSet-default-web-1",
        "source": "n1",
        "at": LONG_AGO,
        "settled": LONG_AGO,
        "state": "ready",
        "batch": 1,
        "policies": ["zones"],
        "gains": {"zones": 1.0},
        "landing": {"n2": 1.0},
        "replacement": "pod-default-web-0",
        "landedOn": "n1",
        **fields,
    }
    return PastMove(**values)


def failing(pairs: int = 9) -> History:
    """Moves that brought nothing, and one more of which that is not known yet."""
    return History(
        acceptSelections=True,
        moves=[returned()],
        baselines=[Baseline(plan="p", batch=1, at=LONG_AGO)],
        gains=[GainRecord(policy="zones", pairs=[MeasuredGain(1.0, 0.0)] * pairs)],
    )


class Instance(Process):
    """A process whose ledger holds a history before its first cycle."""

    def holding(self, history: History) -> "Instance":
        self.lease.acquire()
        self.ledger.open()
        self.ledger.write(history)
        self.lease.release()
        return self


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    populate(made)
    return made


def brought(report: Report) -> Any:
    return plan_in(report).policies[0].brought


def test_the_cycle_that_finds_it_demotes_evicts_nothing_and_says_so(stage: Stage) -> None:
    warned: list[Problem] = []
    process = Instance(stage, "one").holding(failing())
    outcome = run_cycle(enforcing(process, warned))
    assert isinstance(outcome, Outcome)
    assert stage.world.accepted == []
    assert exit_code(outcome) == 3
    assert [problem.code for problem in warned] == ["MSR001"]
    assert brought(outcome).problem == warned[0]
    assert [move.mode for move in outcome.plan.moves] == ["Audit"]
    stored = stored_state(stage.world).history
    assert stored.gains[0].demoted_at(START)
    assert stored.gains[0].until == START + timedelta(hours=24)
    assert stored.moves[0].gain is not None
    assert stored.baselines == []


def test_what_is_demoted_stays_so_in_every_run_until_its_time_is_up(stage: Stage) -> None:
    warned: list[Problem] = []
    run_cycle(enforcing(Instance(stage, "one").holding(failing()), warned))
    later = run_cycle(enforcing(Process(stage, "two"), warned, START + timedelta(hours=1)))
    assert stage.world.accepted == []
    assert exit_code(later) == 3, "it would have had a move"
    assert len(warned) == 1, "an Event is written once"
    again = run_cycle(enforcing(Process(stage, "three"), warned, START + timedelta(hours=25)))
    assert [move.mode for move in plan_in(again).moves] == ["Enforce"]
    assert len(stage.world.accepted) == 1


def test_a_person_brings_it_back(stage: Stage) -> None:
    warned: list[Problem] = []
    run_cycle(enforcing(Instance(stage, "one").holding(failing()), warned))
    stored = stage.world.objects[STATE]
    stage.world.put(*STATE, {**stored, "data": {**stored["data"], "demoted": "forget"}})
    outcome = run_cycle(enforcing(Process(stage, "two"), warned))
    assert len(stage.world.accepted) == 1
    assert exit_code(outcome) == 0
    assert "demoted" not in stage.world.objects[STATE]["data"]
    assert stored_state(stage.world).history.gains == []


def test_a_plan_of_before_the_demotion_evicts_nothing_for_its_sake(stage: Stage) -> None:
    plan = run_cycle(replace(enforcing(Process(stage, "dry"), []), actor=None))
    assert isinstance(plan, Plan)
    assert [move.mode for move in plan.moves] == ["Enforce"]
    history = failing()
    history.gains[0].demote(START, "it brought nothing")
    process = Instance(stage, "one").holding(history)
    there = enforcing(process, [])
    assert there.actor is not None
    policies = policy_set([spread()])
    outcome = carry_out(there, plan, policies, there.actor(policies))
    assert stage.world.accepted == []
    assert [move.code for move in outcome.moves] == ["DRF004"]
    assert exit_code(outcome) == 3


def test_a_dry_run_shows_the_demotion_and_measures_nothing(stage: Stage) -> None:
    history = failing()
    history.gains[0].demote(START, "it brought nothing")
    shown = run_cycle(
        replace(enforcing(Process(stage, "dry"), []), actor=None, recall=lambda: (history, []))
    )
    assert [move.mode for move in plan_in(shown).moves] == ["Audit"]
    assert brought(shown).problem.code == "MSR001"
    assert history.moves[0].gain is None
    assert exit_code(shown) == 0


def test_what_cannot_be_stored_ends_the_cycle_before_anything_is_evicted(stage: Stage) -> None:
    process = Instance(stage, "one").holding(failing())
    rival = Process(stage, "rival")
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
    with pytest.raises(LockLost):
        run_cycle(enforcing(process, []))
    assert stage.world.accepted == []


def test_a_policy_is_demoted_early_only_where_it_was_before(
    stage: Stage,
) -> None:
    warned: list[Problem] = []
    run_cycle(enforcing(Instance(stage, "one").holding(failing(pairs=8)), warned))
    assert warned == []
    assert len(stage.world.accepted) == 1


def test_an_eviction_keeps_what_its_gain_is_measured_by_later(stage: Stage) -> None:
    run_cycle(enforcing(Process(stage, "one"), []))
    history = stored_state(stage.world).history
    (past,) = history.moves
    assert past.gains == {"zones": pytest.approx(1.0)}
    assert history.baseline(past) is not None
    assert past.unmeasured


def test_the_metrics_count_a_measured_move_once(stage: Stage) -> None:
    telemetry = Telemetry()
    good = returned("good", landing={"n2": 1.0}, landedOn="n1")
    process = Instance(stage, "one").holding(
        History(
            moves=[good],
            baselines=[Baseline(plan="p", batch=1, at=LONG_AGO)],
            acceptSelections=True,
        )
    )
    for hour in range(2):
        stage.seconds += 3600
        now = START + timedelta(seconds=stage.seconds)
        telemetry.observe(run_cycle(enforcing(process, [], now)))
        found = lines(telemetry)
        promised = found['rescheduler_predicted_gain_total{policy="zones"}']
        assert promised == pytest.approx(1.0), hour
        assert found['rescheduler_measured_gain_total{policy="zones"}'] == 0
        assert found['rescheduler_policy_demoted{policy="zones",reason="MSR001"}'] == 0


def test_a_policy_that_people_set_to_audit_is_not_called_demoted(stage: Stage) -> None:
    history = failing()
    history.gains[0].demote(START, "it brought nothing")
    audit = policy_set([spread().model_copy(update={"mode": "Audit"})])
    there = enforcing(Instance(stage, "one").holding(history), [])
    outcome = run_cycle(replace(there, policies=lambda: audit))
    assert [move.mode for move in plan_in(outcome).moves] == ["Audit"]
    assert brought(outcome).demotedAt is None
    assert brought(outcome).problem is None
    assert exit_code(outcome) == 0
