"""Acting under a lock that is lost, was left with an intent, or was held before."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from rescheduler.acting.releases import Releases
from rescheduler.acting.run import act
from rescheduler.model.cluster.snapshot import Snapshot
from tests.acting.runs import run, web
from tests.actions.state import past
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import Process, Stage, warm


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def test_a_batch_whose_lock_is_lost_reads_nothing_any_more(stage: Stage) -> None:
    process, observed = Process(stage, "a"), []
    actor = process.actor()

    def lose() -> str:
        """Asked right before each batch."""
        process.lease.renew_at = None
        stage.seconds += 100
        return ""

    def observe() -> Snapshot:
        observed.append(stage.seconds)
        return actor.observe()

    made = plan_of(stage.world, [planned(web(stage))], expires=timedelta(hours=1))
    outcome = act(made, replace(actor, stop=lose, observe=observe))
    assert outcome.verdict.code == "ACT015"
    assert observed == []


def test_a_lock_that_is_lost_as_replacements_are_awaited_is_the_reason(stage: Stage) -> None:
    process = Process(stage, "a")
    actor = process.actor()

    def lose(_: float) -> None:
        process.lease.renew_at = None
        stage.seconds += 100

    stage.world.ready_after = 200.0
    made = plan_of(stage.world, [planned(web(stage))], expires=timedelta(hours=1))
    outcome = act(made, replace(actor, sleep=lose))
    assert [move.result for move in outcome.moves] == ["evicted"]
    assert outcome.verdict.code == "ACT015"


def test_a_lock_that_is_lost_while_nothing_is_to_be_evicted_is_the_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(stage, "a")

    def lose(_: Releases, _observe: object) -> None:
        process.lease.renew_at = None
        stage.seconds += 100

    monkeypatch.setattr(Releases, "release_earlier", lose)
    outcome = act(plan_of(stage.world, [], expires=timedelta(hours=1)), process.actor())
    assert outcome.verdict.code == "ACT015"


def test_an_intent_that_is_left_is_resolved_where_the_lock_is_held_already(stage: Stage) -> None:
    process = Process(stage, "a")
    process.lease.acquire()
    process.lease.start()
    found = process.ledger.open()
    intent = past("gone", state="intended", at=stage.now() - timedelta(minutes=5))
    process.ledger.write(structs.replace(found, moves=[intent]))
    run(stage, process=process)
    assert [move.state for move in history(stage)] != ["intended"]


def test_a_lock_that_was_held_before_stays_held(stage: Stage) -> None:
    process = Process(stage, "a")
    process.lease.acquire()
    process.lease.start()
    process.ledger.open()
    outcome, _ = run(stage, planned(web(stage)), process=process)
    assert outcome.moves[0].result == "evicted"
    assert process.lease.held
    assert process.ledger.fence == 2, "one more than the earlier run had"
