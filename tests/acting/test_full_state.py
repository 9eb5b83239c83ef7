"""What does not fit into the state is not evicted, and ends no run."""

import random
import string
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.actions import ledger
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.model.trails.trail import AnswerRecord, Intent, Record
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.gang_runs import ROOM, gang
from tests.acting.pending import pending
from tests.fakes import manners, world
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.steering.runs import stage as steering_stage
from tests.steering.runs import steered
from tests.steering.runs import web as steered_web

__all__ = ["steering_stage"]


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage, name: str, batch: int = 1) -> PlannedMove:
    made = [
        stage.world.add_pod(f"{name}-{n}", node, owner=("ReplicaSet", name), app=name)
        for n, node in enumerate(("n1", "n2"))
    ]
    return planned(made[0], batch=batch)


def run(stage: Stage, name: str, *moves: PlannedMove) -> tuple[Outcome, Process]:
    process = Process(stage, name, limits=ROOM)
    return act(plan_of(stage.world, moves), process.actor()), process


def select(stage: Stage, app: str, values: int) -> None:
    """Let its ReplicaSet leave out so many values of the label, each as long as one may be."""
    draw = random.Random(3)
    drawn = ["".join(draw.choices(string.ascii_letters, k=63)) for _ in range(values)]
    expression = {"key": "app", "operator": "NotIn", "values": drawn}
    replica_set: Any = stage.world.objects["replicasets", "default", app]
    replica_set["spec"]["selector"]["matchExpressions"] = [expression]


def selected(item: dict[str, Any], query: dict[str, str]) -> bool:
    """What is left out is not there anyway."""
    labels = query.get("labelSelector", "").split(",")[0]
    return SELECTED(item, {**query, "labelSelector": labels})


SELECTED = manners.selected


def stored(stage: Stage) -> list[str]:
    return [move.pod for move in Process(stage, "reader").ledger.peek().moves]


def test_a_selector_too_long_to_follow_is_refused_before_any_list(
    stage: Stage,
) -> None:
    """The API server takes any number of values; its URLs may have a mebibyte."""
    bad, good = web(stage, "bad"), web(stage, "good", 2)
    select(stage, "bad", 15_500)
    outcome, process = run(stage, "a", bad, good)
    assert [move.code for move in outcome.moves] == ["ELG015", "ACT001"]
    assert "selector of its ReplicaSet bad takes" in outcome.moves[0].message
    assert max(len(path) for _, path in process.sent) < 4096
    assert stored(stage) == ["good-0"]


def test_a_move_without_room_in_the_state_is_refused_with_the_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(stage, "a", web(stage, "first"))
    monkeypatch.setattr(ledger, "INTENT_BYTES", 100)
    moves = [web(stage, "bad"), web(stage, "good", 2), *gang(stage, batch=3)]
    outcome, process = run(stage, "b", *moves)
    assert [move.code for move in outcome.moves] == ["ACT025"] * 5
    assert "lower movesPerDay" in outcome.moves[0].message
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT013", 3)
    assert not any(path.endswith("/eviction") for _, path in process.sent)
    assert stored(stage) == ["first-0"], "nothing of them is charged"


def test_what_does_not_fit_takes_no_room_from_the_next(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "selected", selected)
    bad, good = web(stage, "bad"), web(stage, "good", 2)
    select(stage, "bad", 25)
    monkeypatch.setattr(ledger, "INTENT_BYTES", 1500)
    outcome, _ = run(stage, "a", bad, good)
    assert [move.code for move in outcome.moves] == ["ACT025", "ACT001"]
    assert stored(stage) == ["good-0"]


def test_the_trail_says_of_each_intent_that_nothing_came_of_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "INTENT_BYTES", 100)
    trail: list[Record] = []
    actor = replace(Process(stage, "a").actor(), record=trail.append)
    act(plan_of(stage.world, [web(stage, "bad")]), actor)
    assert [type(record) for record in trail] == [Intent, AnswerRecord]
    (answer,) = [record for record in trail if isinstance(record, AnswerRecord)]
    assert (answer.result, answer.code) == ("refused", "ACT025")


def test_there_is_room_for_what_becomes_of_the_moves_that_were_stored(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Any, __: Any) -> None:
        monkeypatch.setattr(ledger, "INTENT_BYTES", 100)

    stage.world.on_accept = full
    outcome, _ = run(stage, "a", web(stage, "bad"))
    assert (outcome.moves[0].code, outcome.moves[0].landedOn) == ("ACT001", "spare")
    assert outcome.verdict.code == "ACT013"


def test_a_pending_replacement_waits_until_there_is_room(
    steering_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = steering_stage
    pending(stage)
    with monkeypatch.context() as patch:
        stage.world.on_accept = lambda *_: patch.setattr(ledger, "INTENT_BYTES", 100)
        outcome, process = run(stage, "a", steered(steered_web(stage)))
        assert len(stage.world.accepted) == 1
        assert [note.code for note in outcome.plan.notes] == ["STR007"]
        assert "ACT025" in outcome.plan.notes[0].message
        assert "a Pending replacement is not released yet" in process.warned
        assert [move.frees for move in process.ledger.peek().moves] == [""]
    stage.world.on_accept = lambda *_: None
    run(stage, "b")
    assert len(stage.world.accepted) == 2
