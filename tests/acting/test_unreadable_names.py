"""Where one name is refused, a list by labels shows what a StatefulSet has made of a move."""

import pytest

from rescheduler.model.errors import ClusterUnavailable
from tests.acting.unreadable import (
    ALONE,
    LATER,
    LIMITS,
    TEAM,
    Object,
    answering,
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


def named(stage: Stage) -> Object:
    """A pod of a StatefulSet, whose replacement has its name."""
    return web(stage, owner=("StatefulSet", "web"))


def three_runs(stage: Stage, state: tuple[str, str, bool]) -> None:
    """Runs that may not read the name each move another pod, and leave its move in this state."""
    for number in range(3):
        process = Process(stage, f"run-{number}", limits=LIMITS, before=ALONE)
        other = web(stage, f"other-{number}", namespace="default")
        assert run(stage, process, other).moves[0].code == "ACT001"
    assert told(stored(stage))[0] == state


def test_what_has_the_name_now_tells_that_the_pod_is_gone(stage: Stage) -> None:
    unanswered(stage, named(stage), applied=True)
    stage.seconds += LATER
    three_runs(stage, ("ready", "ACT001", True))
    assert stored(stage)[0].landedOn


def test_a_name_that_no_list_shows_holds_no_run(stage: Stage) -> None:
    pod = named(stage)
    unanswered(stage, pod, applied=False)
    pod["metadata"]["labels"] = {}
    stage.seconds += LATER
    three_runs(stage, ("lost", "ACT023", True))


def test_a_replacement_is_awaited_whose_name_may_not_be_read(stage: Stage) -> None:
    """The eviction was answered, and its run waits for what comes of it."""
    pod = named(stage)
    process = Process(stage, "a", limits=LIMITS, namespaces=("default", "team"))

    def hide(number: int, method: str, path: str) -> int | str | None:
        return ALONE(number, method, path) if stage.world.accepted else None

    process.before = hide
    outcome = run(stage, process, pod)
    assert (outcome.moves[0].code, outcome.verdict.code) == ("ACT001", "ACT013")
    assert outcome.moves[0].landedOn
    assert told(stored(stage)) == [("ready", "ACT001", True)]
    assert process.warned == []


@pytest.mark.parametrize("status", [403, 500, 401, 429, "lost"])
@pytest.mark.parametrize("refused", [False, True])
def test_an_outage_still_holds_the_run(stage: Stage, status: int | str, *, refused: bool) -> None:
    """Also where the list by the name was refused, and that by the labels meets it."""
    stage.world.ready_after = 10**6
    unanswered(stage, named(stage), applied=True)
    stage.seconds += LATER
    _, moves = look(stage, before=ALONE)
    assert told(moves) == [("evicted", "ACT001", True)]
    stage.seconds += LIMITS.readyTimeout.total_seconds() + 61
    down = answering(status, f"{TEAM}?")

    def trouble(number: int, method: str, path: str) -> int | str | None:
        return (refused and ALONE(number, method, path)) or down(number, method, path)

    with pytest.raises(ClusterUnavailable):
        look(stage, "c", before=trouble)
    assert told(stored(stage)) == [("evicted", "ACT001", True)]
