"""Pods that could not be read, and can be: what became of their evictions is told then."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.acting.reconcile import hold_lock
from rescheduler.acting.replacements import follow
from rescheduler.model.trails.trail import FollowUpRecord, Record
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.unreadable import (
    ALONE,
    LATER,
    LIMITS,
    Object,
    look,
    run,
    stored,
    told,
    unanswered,
    web,
    with_team,
)
from tests.fakes.stage import Process, Stage


@pytest.fixture
def stage() -> Stage:
    return with_team()


def readable_again(stage: Stage, *, applied: bool) -> Object:
    """An unanswered eviction whose pod could not be read, and can be an hour later."""
    pod = web(stage)
    unanswered(stage, pod, applied=applied)
    stage.seconds += LATER
    labels, pod["metadata"]["labels"] = pod["metadata"]["labels"], {}
    _, moves = look(stage, before=ALONE)
    assert told(moves) == [("lost", "ACT023", True)]
    pod["metadata"]["labels"] = labels
    stage.seconds += 3600
    return pod


def test_a_pod_that_was_never_evicted_is_not_stuck_once_it_is_seen(
    stage: Stage,
) -> None:
    """Its eviction stays charged, and nobody has to look."""
    readable_again(stage, applied=False)
    for number in range(3):
        process = Process(stage, f"c{number}", limits=LIMITS)
        outcome = run(stage, process, web(stage, f"other-{number}", namespace="default"))
        assert outcome.moves[0].code == "ACT001"
        assert outcome.plan.notes == []
        assert exit_code(outcome) == 0
        assert process.warned == []
    assert told(stored(stage))[0] == ("lost", "ACT009", True)


def test_what_was_seen_without_effect_is_followed_on(stage: Stage) -> None:
    """A request that comes late may still take effect, and what hides its pod may come back."""
    records: list[Record] = []
    pod = readable_again(stage, applied=False)

    def reread(name: str, **more: Any) -> tuple[str, str, bool]:
        actor = replace(Process(stage, name, limits=LIMITS, **more).actor(), record=records.append)
        with hold_lock(actor) as history:
            return told(history.moves)[0]

    assert reread("c") == ("lost", "ACT009", True)
    labels, pod["metadata"]["labels"] = pod["metadata"]["labels"], {}
    stage.seconds += 61
    assert reread("d", before=ALONE) == ("lost", "ACT023", True)
    pod["metadata"]["labels"] = labels
    stage.seconds += 61
    assert reread("e") == ("lost", "ACT009", True)
    assert reread("f") == ("lost", "ACT009", True)
    del stage.world.objects["pods", "team", "web-1"]
    stage.seconds += 61
    assert reread("g") == ("lost", "ACT011", True)
    resolved = [
        (record.result, record.code) for record in records if isinstance(record, FollowUpRecord)
    ]
    unknown = ("unknown", "ACT009")
    assert resolved == [unknown, ("evicted", "ACT023"), unknown, ("evicted", "ACT011")]


def test_an_eviction_that_was_answered_is_not_said_to_have_no_answer(stage: Stage) -> None:
    """Its pod is still there, as a gang whose Workload was deleted, and Kueue does not run."""
    readable_again(stage, applied=False)
    with hold_lock(Process(stage, "c", limits=LIMITS, before=ALONE).actor()) as history:
        (move,) = history.moves
    move.code, move.intentAt = "ACT023", None
    follow(Process(stage, "d", limits=LIMITS).actor(), history, [move])
    assert told([move]) == [("lost", "ACT019", True)]


def test_a_pod_seen_to_go_at_last_is_lost_until_it_is_replaced(
    stage: Stage,
) -> None:
    stage.world.stuck = lambda _: True
    stage.world.place = lambda _: ""
    pod = readable_again(stage, applied=True)
    _, moves = look(stage, "c")
    assert told(moves) == [("lost", "ACT019", True)]
    pod["goneAt"] = stage.now()
    _, moves = look(stage, "d")
    assert told(moves) == [("lost", "ACT011", True)]


def test_a_pod_that_was_never_evicted_takes_no_replacement_of_another(stage: Stage) -> None:
    first, owner = web(stage), ("ReplicaSet", "rs-web-1")
    second = stage.world.add_pod("web-2", "n1", owner=owner, app="web", namespace="team")
    unanswered(stage, first, applied=False)
    stage.seconds += LATER
    process = Process(stage, "b", limits=LIMITS)
    labels = first["metadata"]["labels"]
    first["metadata"]["labels"] = {}
    process.before = ALONE
    with hold_lock(process.actor()) as history:
        assert told(history.moves) == [("lost", "ACT023", True)]
    first["metadata"]["labels"] = labels
    stage.seconds += 7 * 3600
    unanswered(stage, second, applied=True)
    stage.seconds += 90
    stage.world.tick()
    for name in "cd":
        _, moves = look(stage, name)
        stage.seconds += 400
    assert [(move.pod, move.state) for move in moves] == [("web-1", "lost"), ("web-2", "ready")]
    assert not moves[0].replacement
