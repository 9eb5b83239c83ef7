"""An eviction that got no clear answer breaks off its run, and not those that follow.

A webhook for pods/eviction that is down for one namespace (failurePolicy: Fail), or a
PodDisruptionBudget whose status cannot be written, answers the same each time.
"""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.gang_runs import ROOM, gang
from tests.acting.pending import pending
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import WIDE, Process, Stage, warm
from tests.steering.runs import stage as steering_stage
from tests.steering.runs import steered
from tests.steering.runs import web as steered_web

__all__ = ["steering_stage"]

ANSWERS = [429, 500, "lost"]


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage, name: str) -> PlannedMove:
    """The first of two pods, each of a batch of its own."""
    made = [
        stage.world.add_pod(f"{name}-{n}", node, owner=("ReplicaSet", name), app=name)
        for n, node in enumerate(("n1", "n2"))
    ]
    return planned(made[0], batch=1 if name == "bad" else 2)


def failing(answer: int | str, name: str = "bad-0") -> Callable[[int, str, str], Any]:
    return lambda _, __, path: answer if path.endswith(f"/{name}/eviction") else None


def run(stage: Stage, name: str, answer: int | str, *moves: PlannedMove, **limits: Any) -> Outcome:
    process = Process(stage, name, before=failing(answer), limits=Limits(**WIDE | limits))
    return act(plan_of(stage.world, moves), process.actor())


def codes(outcome: Outcome) -> list[str]:
    return [outcome.verdict.code, *(move.code for move in outcome.moves)]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("period", [60, 300, 86_400])
def test_the_next_run_reaches_the_others(stage: Stage, answer: int | str, period: int) -> None:
    """With the same plan in each, be it that of a CronJob once a day."""
    moves = [web(stage, "bad"), web(stage, "good")]
    first = run(stage, "a", answer, *moves)
    assert codes(first)[2] == "ACT010"
    assert exit_code(first) == 3
    stage.seconds += period
    outcome = run(stage, "b", answer, *moves)
    assert codes(outcome) == ["ACT013", "ELG022", "ACT001"]
    assert [past.charged for past in history(stage)] == [period == 60 and answer != 429, True]


@pytest.mark.parametrize("answer", ANSWERS)
def test_it_is_tried_again_ever_more_rarely_as_long_as_it_fails(
    stage: Stage, answer: int | str
) -> None:
    """Each by a process of its own, in cycles of five minutes and a second for 17 hours."""
    bad = web(stage, "bad")
    tried = []
    for cycle in range(17 * 12):
        stage.seconds = cycle * 301.0
        code = run(stage, f"c{cycle}", answer, bad).moves[0].code
        if code in ("ACT005", "ACT009"):
            tried.append(cycle * 5)
    waited = [later - earlier for earlier, later in pairwise(tried)]
    assert waited[:5] == [35, 65, 125, 245, 485]
    assert stage.world.accepted == []
    assert not any(past.charged for past in history(stage) if past.state != "intended")
    stage.seconds += 86_400 + 300
    assert run(stage, "z", "", bad).moves[0].code == "ACT001"


def test_one_that_took_effect_after_all_is_charged_and_cools_down(stage: Stage) -> None:
    moves = [web(stage, "bad"), web(stage, "good")]
    run(stage, "a", "lost", *moves)
    stage.seconds += 300
    run(stage, "b", "lost", *moves)
    assert [past.brokeOff for past in history(stage)] == [True, False]
    stage.world.swap("default", "bad-0")
    stage.seconds += 300
    run(stage, "c", "lost")
    first = history(stage)[0]
    assert (first.charged, first.brokeOff) == (True, False)


def test_it_rests_where_nothing_cools_down(stage: Stage) -> None:
    moves = [web(stage, "bad"), web(stage, "good")]
    none = {"coolDown": timedelta(0), "coolDownCap": timedelta(0)}
    run(stage, "a", 500, *moves, **none)
    stage.seconds += 300
    assert codes(run(stage, "b", 500, *moves, **none)) == ["ACT013", "ELG022", "ACT001"]


def test_the_pods_of_a_gang_count_as_one(stage: Stage) -> None:
    """And the gang rests, though its own moves are none of another workload to it."""
    moves = gang(stage)
    process = Process(stage, "a", before=failing(429, "ring-0"), limits=ROOM)
    assert act(plan_of(stage.world, moves), process.actor()).verdict.code == "ACT005"
    stage.seconds += 300
    outcome = act(plan_of(stage.world, moves), Process(stage, "b", limits=ROOM).actor())
    assert codes(outcome) == ["ACT013", "ELG022", "ELG022", "ELG022"]
    assert "1 eviction of it" in outcome.moves[0].message


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_pending_replacement_that_cannot_be_freed_holds_no_other(
    steering_stage: Stage, answer: int | str
) -> None:
    stage = steering_stage
    pending(stage)
    good = web(stage, "good")

    def fails(_: int, __: str, path: str) -> int | str | None:
        return answer if path.endswith("/eviction") and "/rs-1-r" in path else None

    process = Process(stage, "a", before=fails)
    first = act(plan_of(stage.world, [steered(steered_web(stage))]), process.actor())
    assert first.verdict.code in ("ACT005", "ACT009")
    stage.seconds += 300
    outcome = act(plan_of(stage.world, [good]), Process(stage, "b", before=fails).actor())
    assert codes(outcome) == ["ACT013", "ACT001"]
    assert [note.code for note in outcome.plan.notes] == ["STR007"]
    stage.seconds += 1800
    run(stage, "c", "")
    assert len(stage.world.accepted) == 3, "it is freed once it can be"
