"""Where the API server asks for a later try, one more is made, if all still holds then."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.errors import ImpossibleEvent
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.fakes.truth import STATE


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage) -> dict[str, Any]:
    return stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="rs-1")


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    return act(plan_of(stage.world, moves), (process or Process(stage, "a")).actor())


def test_a_server_that_asks_for_a_long_wait_is_not_asked_again(stage: Stage) -> None:
    stage.world.add_budget("b", "rs-1", allowed=1)
    budget = stage.world.objects["poddisruptionbudgets", "default", "b"]

    def lag(_: int, _method: str, path: str) -> None:
        budget["metadata"]["generation"] = 2 if "eviction" in path else 1

    process = Process(stage, "a", before=lag)
    actor = process.actor()
    impatient = replace(actor, intervals=replace(actor.intervals, retry_cap=5.0))
    outcome = act(plan_of(stage.world, [planned(web(stage))]), impatient)
    assert outcome.moves[0].code == "ACT005"
    assert sum("eviction" in path for _, path in process.sent) == 1
    assert stage.seconds < 10


@pytest.mark.parametrize("paused", [False, True])
def test_a_pause_while_the_api_server_is_waited_for_is_obeyed(stage: Stage, paused: bool) -> None:
    run(stage)
    stage.world.add_budget("b", "rs-1", allowed=1)
    budget = stage.world.objects["poddisruptionbudgets", "default", "b"]
    requests: list[str] = []

    def lag_once(_: int, _method: str, path: str) -> None:
        budget["metadata"]["generation"] = 2 if "eviction" in path and not requests else 1
        if "eviction" in path and not requests and paused:
            stored = stage.world.objects[STATE]
            stage.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})
        requests.extend([path] if "eviction" in path else [])

    process = Process(stage, "b", before=lag_once)
    outcome = run(stage, planned(web(stage)), process=process)
    if not paused:
        assert (len(requests), outcome.moves[0].code) == (2, "ACT001")
        return
    assert (len(requests), outcome.verdict.code) == (1, "GRD006")
    assert [past.charged for past in process.ledger.peek().moves] == [False]


def test_a_record_that_cannot_be_what_it_is_ends_the_run_and_is_told(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was evicted until then is in the outcome, and its intent in the state."""

    def evict(*_: object) -> None:
        raise ImpossibleEvent("the record of pod default/web-1 is ready", "report it.")

    monkeypatch.setattr(PastMove, "evict", evict)
    process = Process(stage, "a")
    outcome = run(stage, planned(web(stage)), process=process)
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT016", 1)
    assert outcome.moves[0].result == "evicted"
    assert [past.state for past in process.ledger.peek().moves] == ["intended"]
