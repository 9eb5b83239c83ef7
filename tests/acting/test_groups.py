"""A gang that is moved as a whole: intents first, all or nothing, and what a refusal ends."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.gang_runs import GANG, ROOM, evictions, gang, run, stage
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history, results
from tests.fakes.stage import WIDE, Process, Stage, warm

__all__ = ["stage"]


def test_a_gang_is_evicted_at_once_beyond_what_one_workload_may(
    stage: Stage,
) -> None:
    times: list[float] = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    outcome = run(stage, *gang(stage))
    assert results(outcome) == [("evicted", "ACT001")] * 3
    assert max(times) - min(times) < 1, "nothing is gained by waiting once it is broken up"
    assert {past.state for past in history(stage)} == {"ready"}
    assert len({past.replacement for past in history(stage)}) == 3
    assert exit_code(outcome) == 0


def test_all_intents_are_stored_before_the_first_eviction_is_sent(stage: Stage) -> None:
    stored: list[int] = []
    stage.world.on_accept = lambda *_: stored.append(
        sum(past.charged for past in history(stage)) if not stored else -1
    )
    run(stage, *gang(stage))
    assert stored[0] == 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_member_that_does_not_pass_the_check_keeps_all_of_them(stage: Stage, which: int) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)
    process.objection = lambda move, _: (
        Problem(code="DRF004", message="no") if move.pod == moves[which].pod else None
    )
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("refused", "DRF004")] * 3
    assert f"ring-{which}" in outcome.moves[0].message
    assert evictions(process) == []
    assert history(stage) == []
    assert exit_code(outcome) == 3


@pytest.mark.parametrize(("which", "code"), [(0, "DRF001"), (2, "ELG030")])
def test_a_member_that_has_drifted_keeps_all_of_them(stage: Stage, which: int, code: str) -> None:
    moves = gang(stage)
    stage.world.crash(stage.world.objects["pods", "default", f"ring-{which}"])
    process = Process(stage, "a", limits=ROOM)
    assert results(run(stage, *moves, process=process)) == [("refused", code)] * 3
    assert evictions(process) == []


def test_a_gang_is_not_begun_where_the_hour_does_not_hold_all_of_it(stage: Stage) -> None:
    process = Process(
        stage, "a", limits=Limits.model_validate({**WIDE, "movesPerHour": 2, "gangs": "Whole"})
    )
    outcome = run(stage, *gang(stage), process=process)
    assert results(outcome) == [("refused", "PAC005")] * 3
    assert evictions(process) == []
    other = warm(Stage())
    exact = Process(
        other, "b", limits=Limits.model_validate({**WIDE, "movesPerHour": 3, "gangs": "Whole"})
    )
    assert len(evictions(exact)) == 0
    assert results(run(other, *gang(other), process=exact)) == [("evicted", "ACT001")] * 3


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_gang_is_not_begun_where_its_budget_does_not_hold_all_of_it(
    stage: Stage, allowed: int
) -> None:
    stage.world.add_budget("ring", "ring", allowed=allowed)
    process = Process(stage, "a", limits=ROOM)
    assert results(run(stage, *gang(stage), process=process)) == [("refused", "DRF007")] * 3
    assert evictions(process) == []


def test_a_member_that_opts_out_as_the_others_go_stays(stage: Stage) -> None:
    """People's word counts up to the last moment, also for a gang that is broken up."""
    moves = gang(stage)

    def opt_out(*_: object) -> None:
        last = stage.world.objects["pods", "default", "ring-2"]["metadata"]
        last["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}

    stage.world.on_accept = opt_out
    outcome = run(stage, *moves)
    assert results(outcome)[:2] == [("evicted", "ACT001")] * 2
    assert results(outcome)[2] == ("refused", "ELG011")
    assert [past.charged for past in history(stage)] == [True, True, False]


def test_where_the_first_is_refused_nothing_more_of_the_gang_is_sent(stage: Stage) -> None:
    stage.world.add_budget("ring", "ring", allowed=3)
    process = Process(stage, "a", limits=ROOM)
    process.before = lambda _, __, path: 429 if path.endswith("/eviction") else None
    outcome = run(stage, *gang(stage), process=process)
    assert results(outcome) == [("refused", "ACT005"), ("skipped", "ACT010"), ("skipped", "ACT010")]
    assert "default/ring-0 of its gang stays" in outcome.moves[1].message
    assert len(evictions(process)) == 1
    assert [past.charged for past in history(stage)] == [False] * 3, "all budgets are given back"
    assert exit_code(outcome) == 3


def test_where_one_of_a_gang_is_refused_the_rest_stays(
    stage: Stage,
) -> None:
    stage.world.add_budget("ring", "ring", allowed=3)
    budget = stage.world.objects["poddisruptionbudgets", "default", "ring"]
    # Somebody else spends the rest meanwhile.
    stage.world.on_accept = lambda *_: budget["status"].update(disruptionsAllowed=0)
    outcome = run(stage, *gang(stage))
    assert results(outcome) == [("evicted", "ACT001"), ("refused", "ACT004"), ("skipped", "ACT010")]
    assert [past.state for past in history(stage)] == ["ready", "refused", "refused"]
    assert len(stage.world.accepted) == 1


def test_a_member_gone_after_the_gang_broke_up_is_charged_and_followed(
    stage: Stage,
) -> None:
    moves = gang(stage)

    def restarted(*_: object) -> None:
        """As LeaderWorkerSet does: one pod that goes takes all of its group."""
        last = stage.world.objects["pods", "default", "ring-2"]
        last["metadata"].setdefault("deletionTimestamp", "2026-11-21T12:00:30Z")

    stage.world.on_accept = restarted
    process = Process(stage, "a", limits=ROOM)
    outcome = run(stage, *moves, process=process)
    assert [move.result for move in outcome.moves] == ["evicted"] * 3
    assert len(evictions(process)) == 2
    assert all(past.charged for past in history(stage))


def test_a_stateful_set_that_is_made_anew_replaces_its_pods_by_their_names(stage: Stage) -> None:
    """LeaderWorkerSet restarts a group: its StatefulSet of workers goes, and one of its name comes.

    Their replacements are known by their names, which only a StatefulSet gives.
    """
    pods = [
        stage.world.add_pod(f"llm-0-{n}", f"n{n}", owner=("StatefulSet", "s-1"), app="llm-0")
        for n in (1, 2)
    ]
    place = stage.world.add_pod

    def anew(name: str, node: str, **more: Any) -> dict[str, Any]:
        return place(name, node, **{**more, "owner": ("StatefulSet", "s-2")})

    stage.world.add_pod = anew  # type: ignore[method-assign]
    outcome = run(stage, *(planned(pod, group=GANG) for pod in pods))
    assert results(outcome) == [("evicted", "ACT001")] * 2
    assert {past.state for past in history(stage)} == {"ready"}


def test_a_member_that_fails_as_the_others_go_is_evicted_all_the_same(stage: Stage) -> None:
    moves = gang(stage)

    def broken(*_: object) -> None:
        for n in range(3):
            pod = stage.world.objects.get(("pods", "default", f"ring-{n}"))
            if pod is not None and "deletionTimestamp" not in pod["metadata"]:
                ready = [c for c in pod["status"]["conditions"] if c["type"] == "Ready"]
                ready[0]["status"] = "False"

    stage.world.on_accept = broken
    assert results(run(stage, *moves))[1:] == [("evicted", "ACT001")] * 2


def test_a_gang_that_must_wait_for_its_budget_asks_once_more(stage: Stage) -> None:
    stage.world.add_budget("ring", "ring", allowed=3)
    budget = stage.world.objects["poddisruptionbudgets", "default", "ring"]
    moves = gang(stage)

    def lag(*_: object) -> None:
        budget["metadata"]["generation"] = 2 if len(stage.world.accepted) == 0 else 1

    stage.world.on_accept = lag
    process = Process(stage, "a", limits=ROOM)
    actor = process.actor()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        if seconds == 10:
            slept.append(seconds)
            budget["metadata"]["generation"] = 1
        process.sleep(seconds)

    object.__setattr__(actor, "sleep", sleep)
    outcome = act(plan_of(stage.world, moves), actor)
    assert slept == [10]
    assert [move.result for move in outcome.moves] == ["evicted"] * 3
    assert {past.state for past in history(stage)} == {"ready"}


@pytest.mark.parametrize(("least", "code"), [(1, "ACT001"), (2, "ELG027"), (3, "ELG027")])
def test_a_member_is_counted_against_the_minimum_right_before_its_eviction(
    stage: Stage, least: int, code: str
) -> None:
    """Of four members one was lost and one is being deleted since the plan: two are Ready."""
    gang(stage, size=4, owner="rs-2")
    moves = gang(stage, size=1)
    for n in range(4):
        metadata = stage.world.objects["pods", "default", f"ring-{n}"]["metadata"]
        del metadata["labels"]["scheduling.x-k8s.io/pod-group"]
        koordinator = "gang.scheduling.koordinator.sh"
        notes = {f"{koordinator}/name": "ring", f"{koordinator}/min-available": str(least)}
        metadata["annotations"] = notes
    stage.world.crash(stage.world.objects["pods", "default", "ring-2"])
    last = stage.world.objects["pods", "default", "ring-3"]
    last["metadata"]["deletionTimestamp"] = "2026-11-21T13:00:30Z"
    process = Process(stage, "a", limits=ROOM)
    surplus = structs.replace(moves[0], group="", gangMinimum=least)
    outcome = run(stage, surplus, process=process)
    assert outcome.moves[0].code == code
    assert len(evictions(process)) == (code == "ACT001")


def test_a_member_that_left_its_gang_is_not_moved_for_its_surplus(stage: Stage) -> None:
    (move,) = gang(stage, size=1)
    del stage.world.objects["pods", "default", "ring-0"]["metadata"]["labels"][
        "scheduling.x-k8s.io/pod-group"
    ]
    outcome = run(stage, structs.replace(move, group="", gangMinimum=1))
    assert results(outcome) == [("refused", "DRF001")]


def test_a_run_that_is_asked_to_stop_gives_back_what_it_did_not_send(stage: Stage) -> None:
    process = Process(stage, "a", limits=ROOM)

    def stop(*_: object) -> None:
        process.stopped = "signal"

    stage.world.on_accept = stop
    outcome = run(stage, *gang(stage), process=process)
    assert outcome.verdict.code == "ACT014"
    assert [move.result for move in outcome.moves] == ["evicted", "skipped", "skipped"]
    assert [past.charged for past in history(stage)] == [True, False, False]


def test_an_answer_that_never_came_ends_the_gang(stage: Stage) -> None:
    process = Process(stage, "a", limits=ROOM)

    def lost(_: int, __: str, path: str) -> str | None:
        return "lost" if path.endswith("ring-1/eviction") else None

    process.before = lost
    outcome = run(stage, *gang(stage), process=process)
    assert [move.result for move in outcome.moves] == ["evicted", "unknown", "skipped"]
    assert [past.state for past in history(stage)][1:] == ["intended", "refused"]
    assert "ring-2" not in " ".join(evictions(process))


def test_a_batch_that_holds_a_gang_and_others_keeps_their_order(stage: Stage) -> None:
    other = planned(stage.world.add_pod("web", "n9", owner=("ReplicaSet", "rs-9"), app="web"))
    outcome = run(stage, other, *gang(stage, batch=2))
    assert results(outcome) == [("evicted", "ACT001")] * 4


def test_a_gang_keeps_the_pace_behind_what_was_evicted_before_it(stage: Stage) -> None:
    other = planned(stage.world.add_pod("web", "n9", owner=("ReplicaSet", "rs-9"), app="web"))
    times: list[float] = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    process = Process(stage, "a", limits=ROOM)
    run(stage, other, *gang(stage), process=process)
    assert len(times) == 4
    assert times[1] - times[0] >= process.actor().intervals.gap


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("stands_still", [False, True])
def test_a_member_that_was_read_too_long_ago_ends_the_gang(
    stage: Stage, which: int, stands_still: bool
) -> None:
    """Be it that it takes so long to read, or that this process stands still afterwards."""
    process = Process(stage, "a", limits=ROOM)

    def times_read() -> int:
        # Each is read once before any intent, and once more right before its own eviction.
        return sum(sent.endswith(f"/pods/ring-{which}") for _, sent in process.sent)

    def slow(_: int, _method: str, path: str) -> None:
        if times_read() == 2 and "/nodes/" in path and not stands_still:
            stage.seconds += 6

    def stop() -> str:
        if times_read() == 2 and stands_still and len(stage.world.accepted) == which:
            stage.seconds += 6
        return ""

    process.before = slow
    actor = replace(process.actor(), stop=stop)
    outcome = act(plan_of(stage.world, gang(stage)), actor)
    assert outcome.verdict.code == ("ACT016" if stands_still else "ACT013")
    expected = "ACT010" if stands_still else "ACT024"
    assert outcome.moves[which].code == expected
    assert len(stage.world.accepted) == which
    assert [past.charged for past in history(stage)] == [n < which for n in range(3)]


def test_the_answer_to_an_eviction_of_a_gang_holds_for_what_follows(
    stage: Stage,
) -> None:
    other = planned(stage.world.add_pod("web", "n9", owner=("ReplicaSet", "rs-9"), app="web"))
    process = Process(stage, "a", limits=ROOM)
    process.before = lambda _, __, path: "lost" if path.endswith("ring-1/eviction") else None
    outcome = run(stage, *gang(stage), other, process=process)
    assert outcome.verdict.code == outcome.moves[1].code
    assert [move.result for move in outcome.moves] == ["evicted", "unknown", "skipped", "skipped"]
