"""Moves that make room for a gang: none where one may not be made, and none after a failure."""

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.room_runs import LIMITS, room
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history, results
from tests.fakes.stage import WIDE, Process, Stage, warm


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a", limits=LIMITS)
    return act(plan_of(stage.world, moves), process.actor())


def test_all_are_made_over_several_batches(stage: Stage) -> None:
    outcome = run(stage, *room(stage, 1, 1, 2, 3))
    assert results(outcome) == [("evicted", "ACT001")] * 4
    assert exit_code(outcome) == 0


@pytest.mark.parametrize("which", [0, 1, 2])
def test_none_is_made_where_one_of_a_later_batch_may_not_be(stage: Stage, which: int) -> None:
    moves = room(stage, 1, 2, 3)
    stage.world.add_budget("blocked", f"w{which}", allowed=0)
    outcome = run(stage, *moves)
    assert results(outcome) == [("refused", "DRF007")] * 3
    assert f"w{which}-0, one of the moves that make room for gang ml/llama" in (
        outcome.moves[0].message
    )
    assert stage.world.accepted == []
    assert history(stage) == []
    assert exit_code(outcome) == 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_none_is_made_where_admission_forbids_one(stage: Stage, which: int) -> None:
    """A namespace that is not labelled for evictions, behind the fence."""
    moves = room(stage, 1, 2, 3)
    stage.world.forbidden.add(f"w{which}")
    outcome = run(stage, *moves)
    assert {result for result, _ in results(outcome)} == {"refused"}
    assert stage.world.accepted == []


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_dry_run_that_is_not_answered_puts_no_eviction_in_doubt(stage: Stage, which: int) -> None:
    moves = room(stage, 1, 2, 3)
    dry = f"w{which}-0/eviction?dryRun=All"
    process = Process(stage, "a", limits=LIMITS, after=lambda _, __, p: "lost" * (dry in p))
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("refused", "ACT008")] * 3
    assert "A dry run was not answered" in outcome.moves[0].message
    assert stage.world.accepted == []
    assert history(stage) == []


@pytest.mark.parametrize("answer", [429, 500])
def test_a_dry_run_that_fails_each_time_holds_no_other_move(stage: Stage, answer: int) -> None:
    other = planned(stage.world.add_pod("x", "n9", owner=("ReplicaSet", "x"), app="x"), batch=9)
    process = Process(stage, "a", limits=LIMITS)
    process.before = lambda _, __, path: answer if "w0-0/eviction?dryRun" in path else None
    outcome = run(stage, *room(stage, 1, 2, 3), other, process=process)
    assert {result for result, _ in results(outcome)[:3]} == {"refused"}
    assert (results(outcome)[3], outcome.verdict.code) == (("evicted", "ACT001"), "ACT013")


def test_none_is_made_beyond_what_the_limits_allow_them_all(stage: Stage) -> None:
    """A plan of an hour ago: the moves of another one have used up what it counted on."""
    limits = Limits.model_validate({**WIDE, "movesPerHour": 3})
    others = [
        planned(stage.world.add_pod(f"x{n}", "n9", owner=("ReplicaSet", f"x{n}"), app=f"x{n}"))
        for n in range(2)
    ]
    run(stage, *others, process=Process(stage, "a", limits=limits))
    outcome = run(stage, *room(stage, 1, 2), process=Process(stage, "b", limits=limits))
    assert results(outcome) == [("refused", "PAC005")] * 2
    assert len(stage.world.accepted) == 2


@pytest.mark.parametrize("which", [0, 1, 2])
def test_none_is_made_where_one_has_drifted(stage: Stage, which: int) -> None:
    moves = room(stage, 1, 1, 2)
    stage.world.crash(stage.world.objects["pods", "default", f"w{which}-0"])
    outcome = run(stage, *moves)
    assert {result for result, _ in results(outcome)} == {"refused"}
    assert stage.world.accepted == []


def test_none_is_made_where_one_was_evicted_before(stage: Stage) -> None:
    """A move of a later batch, which our own budgets forbid and no cluster shows."""
    moves = room(stage, 1, 2)
    process = Process(stage, "a", limits=LIMITS)
    process.lease.acquire()
    ledger = process.ledger.open()
    past = PastMove(
        plan="earlier",
        podUid=moves[1].pod.uid,
        namespace="default",
        pod="w1-0",
        workload="rs-1",
        source="n1",
        at=stage.now(),
        state="ready",
        settled=stage.now(),
    )
    ledger.moves.append(past)
    process.ledger.write(ledger)
    process.lease.release()
    outcome = run(stage, *moves, process=Process(stage, "b", limits=LIMITS))
    assert results(outcome) == [("refused", "ELG022")] * 2
    assert "w1-0" in outcome.moves[0].message
    assert stage.world.accepted == []


def test_none_is_made_where_the_gang_would_not_get_its_room(stage: Stage) -> None:
    process = Process(stage, "a", limits=LIMITS)
    process.objection = lambda *_: Problem(code="DRF004", message="no room as a whole")
    outcome = run(stage, *room(stage, 1, 2), process=process)
    assert results(outcome) == [("refused", "DRF004")] * 2
    assert stage.world.accepted == []


@pytest.mark.parametrize("batches", [(1, 1, 1, 1), (1, 2, 3, 4), (1, 1, 2, 2)])
def test_after_one_that_fails_in_the_middle_the_rest_is_told_why_it_stays(
    stage: Stage, batches: tuple[int, ...]
) -> None:
    moves = room(stage, *batches)
    other = planned(
        stage.world.add_pod("web-0", "n9", owner=("ReplicaSet", "rs-9"), app="web"), batch=5
    )
    process = Process(stage, "a", limits=LIMITS)
    process.objection = lambda move, history: (
        Problem(code="DRF004", message="its landing has changed")
        if move.pod.name == "w1-0" and history.moves
        else None
    )
    outcome = run(stage, *moves, other, process=process)
    assert results(outcome) == [
        ("evicted", "ACT001"),
        ("refused", "DRF004"),
        ("skipped", "FRG005"),
        ("skipped", "FRG005"),
        ("evicted", "ACT001"),
    ]
    told = outcome.moves[2].message
    assert "default/w1-0 was not moved (DRF004)" in told
    assert "Of its 4 moves 1 were made before" in told
    assert exit_code(outcome) == 3
    assert [past.state for past in history(stage)] == ["ready", "ready"]


def test_a_gang_of_one_plan_does_not_stop_another(stage: Stage) -> None:
    first = room(stage, 1, 1)
    second = planned(
        stage.world.add_pod("x-0", "n5", owner=("ReplicaSet", "rs-x"), app="x"),
        batch=2,
        room="ml/other",
    )
    stage.world.add_budget("blocked", "w1", allowed=0)
    outcome = run(stage, *first, second)
    assert [result for result, _ in results(outcome)] == ["refused", "refused", "evicted"]
