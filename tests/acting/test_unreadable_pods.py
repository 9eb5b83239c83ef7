"""One pod that cannot be read holds no run: its eviction stays charged, and an outage still holds.

The pods that cannot be read are in a namespace of their own: where a snapshot shows one, its whole
namespace is left alone.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from rescheduler.acting.reconcile import hold_lock
from rescheduler.model.errors import ActionError, ClusterUnavailable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import WATCHED, PastMove
from rescheduler.runtime.exit_codes import exit_code
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
from tests.fakes.stage import START, Killed, Process, Stage


@pytest.fixture
def stage() -> Stage:
    return with_team()


def _no_uid(pod: Object, _process: Process) -> None:
    pod["metadata"]["uid"] = 7


def _forbidden(pod: Object, process: Process) -> None:
    """Nor do the pods of its controller show it, as it has other labels now."""
    pod["metadata"]["labels"] = {}
    process.before = ALONE


UNREADABLE = pytest.mark.parametrize("hide", [_no_uid, _forbidden])


def test_a_pod_that_is_odd_elsewhere_tells_that_it_was_not_evicted(stage: Stage) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    pod["spec"]["containers"] = "nonsense"
    stage.seconds += LATER
    _, moves = look(stage)
    assert told(moves) == [("refused", "ACT009", False)]


def test_a_pod_that_is_odd_elsewhere_tells_that_it_is_going(stage: Stage) -> None:
    stage.world.stuck = lambda _: True
    pod = web(stage)
    unanswered(stage, pod, applied=True)
    pod["spec"]["containers"] = "nonsense"
    process = Process(stage, "b", limits=LIMITS)
    stage.seconds += 61
    with hold_lock(process.actor()) as history:
        assert told(history.moves) == [("evicted", "ACT001", True)]


@UNREADABLE
def test_what_cannot_be_read_yet_stays_intended_and_holds_no_other(
    stage: Stage, hide: Callable[[Object, Process], None]
) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    stage.seconds += 61
    process = Process(stage, "b", limits=LIMITS)
    hide(pod, process)
    outcome = run(stage, process, web(stage, "other-1", namespace="default"))
    assert outcome.moves[0].code == "ACT001"
    assert told(stored(stage))[0] == ("intended", "", True)
    assert process.warned == ["it is not known yet whether an eviction took effect"]


@UNREADABLE
def test_what_cannot_be_read_stays_charged_and_holds_no_other(
    stage: Stage, hide: Callable[[Object, Process], None]
) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    stage.seconds += LATER
    process = Process(stage, "b", limits=LIMITS)
    hide(pod, process)
    outcome = run(stage, process, web(stage, "other-1", namespace="default"))
    assert outcome.moves[0].code == "ACT001"
    found, _ = stored(stage)
    assert told([found]) == [("lost", "ACT023", True)]
    assert found.at >= START + timedelta(seconds=LATER), "it counts from when it was given up"
    assert found.intentAt is not None
    assert not found.in_flight
    assert process.warned[0] == (
        "an unanswered eviction counts as carried out, as its pod cannot be read"
    )
    (note,) = outcome.plan.notes
    assert note.code == "ACT023"
    assert "team/web-1" in note.message
    assert exit_code(outcome) == 3, "somebody must look"


def test_the_warning_names_the_pod_and_what_to_do(stage: Stage) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    stage.seconds += LATER
    process = Process(stage, "b", limits=LIMITS)
    _forbidden(pod, process)
    said: list[dict[str, str]] = []
    actor = process.actor()
    object.__setattr__(actor, "warn", lambda _, **values: said.append(values))
    with hold_lock(actor):
        pass
    assert {warning["pod"] for warning in said} == {"team/web-1"}
    assert "pod team/web-1 may not be read, though others may" in said[0]["message"]
    assert "Maybe find out which authorizer refuses this pod" in said[0]["message"]


@pytest.mark.parametrize("before", [ALONE, answering(403, f"{TEAM}/web-1")])
def test_a_pod_that_may_only_be_listed_is_no_doubt(
    stage: Stage, before: Callable[[int, str, str], int | str | None]
) -> None:
    """By its name, or among the pods of its controller."""
    unanswered(stage, web(stage), applied=False)
    stage.seconds += LATER
    process, moves = look(stage, before=before)
    assert told(moves) == [("refused", "ACT009", False)]
    assert process.warned == []


def test_a_pod_that_may_only_be_listed_with_others_and_goes_is_no_doubt(stage: Stage) -> None:
    stage.world.stuck = lambda _: True
    unanswered(stage, web(stage), applied=True)
    stage.seconds += LATER
    _, moves = look(stage, before=ALONE)
    assert told(moves) == [("evicted", "ACT001", True)]


@pytest.mark.parametrize("status", [403, 500, 401, 429, "lost"])
def test_an_outage_holds_the_run_and_charges_nothing(stage: Stage, status: int | str) -> None:
    unanswered(stage, web(stage), applied=False)
    stage.seconds += LATER
    down = answering(status, "/pods")
    with pytest.raises(ClusterUnavailable):
        look(stage, before=down)
    assert told(stored(stage)) == [("intended", "", True)]
    stage.seconds += 61
    _, moves = look(stage, "c")
    assert told(moves) == [("refused", "ACT009", False)]
    stage.seconds += 61
    with pytest.raises(ClusterUnavailable):
        look(stage, "d", before=down)
    assert told(stored(stage)) == [("refused", "ACT009", False)]


@UNREADABLE
def test_what_was_given_back_is_charged_once_it_cannot_be_read(
    stage: Stage, hide: Callable[[Object, Process], None]
) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    stage.seconds += LATER
    _, moves = look(stage)
    assert told(moves) == [("refused", "ACT009", False)]
    stage.seconds += WATCHED.total_seconds()
    process = Process(stage, "c", limits=LIMITS)
    hide(pod, process)
    with hold_lock(process.actor()) as history:
        assert told(history.moves) == [("lost", "ACT023", True)]


def test_what_was_charged_unread_is_charged_once_whoever_ends_in_between(stage: Stage) -> None:
    pod = web(stage)
    unanswered(stage, pod, applied=False)
    pod["metadata"]["uid"] = 7
    for number in range(16):
        stage.seconds += LATER

        def kill(sent: int, *_: object, at: int = number) -> None:
            if sent == at:
                raise Killed

        for which in ("before", "after"):
            process = Process(stage, f"{which}-{number}", limits=LIMITS)
            setattr(process, which, kill)
            with suppress(Killed, ActionError), hold_lock(process.actor()):
                pass
            assert [move.charged for move in stored(stage)] == [True]
    first = stored(stage)
    assert told(first) == [("lost", "ACT023", True)]
    stage.seconds += LATER
    _, moves = look(stage, "last")
    assert [(move.at, move.settled) for move in moves] == [(m.at, m.settled) for m in first]


def evicted(stage: Stage) -> Object:
    """A pod that was evicted, and the one that is to replace it, which is not Ready yet."""
    stage.world.ready_after = 10**6
    pod = web(stage)
    unanswered(stage, pod, applied=True)
    stage.seconds += 61
    stage.world.tick()
    stage.world.ready_after = 4
    _, moves = look(stage)
    assert told(moves) == [("evicted", "ACT001", True)]
    names = [key[2] for key in stage.world.objects if key[:2] == ("pods", "team")]
    return stage.world.objects["pods", "team", names[-1]]


def test_a_replacement_that_cannot_be_decoded_holds_no_other_run(stage: Stage) -> None:
    replacement = evicted(stage)
    replacement["spec"]["containers"] = "nonsense"
    stage.seconds += 61
    process = Process(stage, "c", limits=LIMITS)
    outcome = run(stage, process, web(stage, "other-1", namespace="default"))
    assert outcome.moves[0].code == "ACT001"
    assert told(stored(stage))[0] == ("evicted", "ACT001", True)
    assert process.warned == []
    stage.seconds += LIMITS.readyTimeout.total_seconds()
    process, moves = look(stage, "d")
    assert told(moves)[0] == ("lost", "ACT023", True)
    assert process.warned == ["a move counts as lost, as a pod of its workload cannot be read"]
    settled = moves[0].settled
    process, moves = look(stage, "e")
    assert (told(moves)[0], moves[0].settled) == (("lost", "ACT023", True), settled)
    assert len(process.warned) == 1, "each run names it"
    replacement["spec"]["containers"] = []
    _, moves = look(stage, "f")
    assert told(moves)[0] == ("lost", "ACT011", True), "it is as any other that is late"
    replacement["spec"]["containers"] = "nonsense"
    _, moves = look(stage, "g")
    assert told(moves)[0] == ("lost", "ACT011", True), "what was known to be lost stays that"


def test_a_replacement_that_can_be_read_again_is_found(stage: Stage) -> None:
    replacement = evicted(stage)
    replacement["spec"]["containers"] = "nonsense"
    stage.seconds += LIMITS.readyTimeout.total_seconds() + 61
    _, moves = look(stage, "c")
    assert told(moves) == [("lost", "ACT023", True)]
    replacement["spec"]["containers"] = []
    replacement["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    look(stage, "d")
    stage.seconds += LIMITS.minReadyTime.total_seconds() + 61
    _, moves = look(stage, "e")
    assert told(moves) == [("ready", "ACT001", True)]


def test_nothing_is_learned_of_a_landing_that_nobody_could_see() -> None:
    move = PastMove(
        plan="p", podUid="u", namespace="team", pod="web-1", workload="w", source="n1", at=START,
        state="evicted", replacement="new", landing={"n2": 1.0}, scheduler="1.36",
    )  # fmt: skip
    move.lose_sight(START)
    history = History([move])
    assert not history.learn(move, START)
    move.code = "ACT011"
    assert history.learn(move, START), "it was seen, and Pending"


def test_one_that_nobody_can_see_rests_from_when_that_began() -> None:
    move = PastMove(
        plan="p", podUid="u", namespace="team", pod="web-1", workload="w", source="n1", at=START,
        state="evicted",
    )  # fmt: skip
    since = START + timedelta(minutes=10)
    move.lose_sight(since)
    assert move.last == since, "it is kept, and cools down, from then on"
    move.lose_sight(since + timedelta(minutes=5))
    assert move.last == since, "one that is lost already was so before"


def test_the_eviction_of_a_replacement_takes_no_slot_unread_either() -> None:
    move = PastMove(
        plan="p", podUid="u", namespace="team", pod="web-1", workload="w", source="",
        at=START, frees="moved",
    )  # fmt: skip
    move.charge_unread(move.at)
    assert (move.state, move.charged) == ("evicted", True), "`reconcile` settles it"


def test_a_pod_that_takes_as_long_to_end_as_numbers_go_ends_no_run(stage: Stage) -> None:
    pod = web(stage)
    pod["spec"]["terminationGracePeriodSeconds"] = 10**15
    unanswered(stage, pod, applied=False)
    stage.seconds += 61
    outcome = run(stage, Process(stage, "b", limits=LIMITS))
    assert outcome.verdict.code == "ACT013"


@pytest.mark.parametrize(
    ("evicted", "read", "ends"),
    [(404, 403, False), (409, 403, False), (404, 500, True), (404, 401, True), (503, 403, True)],
)
def test_a_pod_that_alone_may_not_be_read_holds_its_workload_alone(
    stage: Stage, evicted: int, read: int, ends: bool
) -> None:
    """An authorizer may decide by pod; where the server answers nothing clearly, the run ends."""
    process = Process(stage, "b", limits=LIMITS, namespaces=("default", "team"))
    asked = False

    def answer(_: int, method: str, path: str) -> int | None:
        nonlocal asked
        if method == "POST" and f"{TEAM}/web-1/eviction" in path:
            asked = True
            return evicted
        return read if asked and method == "GET" and "web-1" in path else None

    process.before = answer
    outcome = run(stage, process, web(stage), web(stage, "other-1", namespace="default"))
    first, other = outcome.moves
    assert (first.result, first.code) == ("unknown", "ACT009")
    assert (other.code == "ACT001") != ends
    assert (outcome.verdict.code == "ACT009") == ends
    assert ("may not be read, though others may" in first.message) != ends
    assert told(stored(stage))[0] == ("intended", "", True)
