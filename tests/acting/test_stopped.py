"""What became of a gang that Kueue was to stop, where no answer or no pod ever came."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rescheduler.acting.run import act
from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.kueue_workloads import KueueWorkloads
from rescheduler.model.errors import ObjectUnreadable
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.stopping import JOB, ROOM, gang, run, the_workload, written
from tests.fakes import kueue
from tests.fakes.moves import plan_of
from tests.fakes.outcomes import history, results
from tests.fakes.stage import Killed, Process, Stage, warm
from tests.runtime.skewed import spread


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_request_without_an_answer_is_settled_and_never_sent_again(
    stage: Stage, when: str
) -> None:
    moves = gang(stage)
    stage.world.kueue.sees = 600.0  # its pods run on meanwhile, as if nothing was asked
    process = Process(stage, "a", limits=ROOM)
    setattr(process, when, lambda _n, method, _p: "lost" if method == "DELETE" else None)
    outcome = run(stage, *moves, process=process)
    assert len(written(process)) == 1
    if when == "before":
        assert results(outcome) == [("unknown", "ACT009")] * 3
        assert {past.state for past in history(stage)} == {"intended"}
    else:
        assert {move.result for move in outcome.moves} == {"evicted"}


def test_a_request_that_a_proxy_repeats_is_charged_and_followed(stage: Stage) -> None:
    """The first takes effect, its answer is lost, and the answer to the second is a conflict."""
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def first(_: int, method: str, path: str) -> None:
        if method == "DELETE":
            known = the_workload(stage)["metadata"]
            body = {"preconditions": {field: known[field] for field in ("uid", "resourceVersion")}}
            status = stage.world.handle("DELETE", path, body)[0]
            assert status == 200
            known["resourceVersion"] += "1"

    process.before = first
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("evicted", "ACT001")] * 3
    assert {past.state for past in history(stage)} == {"ready"}
    assert len(written(process)) == len(stage.world.kueue.stopped) == 1


@pytest.mark.parametrize("sent", [False, True])
def test_a_killed_process_leaves_nothing_to_resume(stage: Stage, sent: bool) -> None:
    moves = gang(stage)
    stage.world.kueue.sees = 300.0
    process = Process(stage, "a", limits=ROOM)

    def kill(_: int, method: str, _path: str) -> None:
        if method == "DELETE":
            raise Killed

    setattr(process, "after" if sent else "before", kill)
    with pytest.raises(Killed):
        run(stage, *moves, process=process)
    assert [past.state for past in history(stage)] == ["intended"] * 3, "charged before it was sent"
    stage.seconds += 130  # beyond what an unanswered request takes
    second = Process(stage, "b", limits=ROOM)
    run(stage, process=second)
    states = {past.state for past in history(stage)}
    assert states == ({"evicted"} if sent else {"refused"}), "though all its pods still run"
    assert written(second) == [], "it is never sent again, nor anything taken back"
    stage.seconds += 600
    for number in range(12):
        stage.seconds += 60
        run(stage, process=Process(stage, f"c{number}", limits=ROOM))
    pods = kueue.pods_of(stage.world, JOB)
    assert len(pods) == 3
    names = {pod["metadata"]["name"] for pod in pods}
    assert (names == {"train-0", "train-1", "train-2"}) is not sent
    assert {past.state for past in history(stage)} == ({"ready"} if sent else {"refused"})


def test_the_request_of_a_process_that_stood_still_is_charged_late(stage: Stage) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def kill(_: int, method: str, _path: str) -> None:
        if method == "DELETE":
            raise Killed

    process.before = kill
    with pytest.raises(Killed):
        run(stage, *moves, process=process)
    stage.seconds += 130
    run(stage, process=Process(stage, "b", limits=ROOM))
    assert {past.state for past in history(stage)} == {"refused"}
    stage.world.kueue.sees = 600.0
    name = moves[0].stops.name if moves[0].stops else ""
    stage.world.handle(
        "DELETE", f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{name}"
    )
    stage.seconds += 60
    run(stage, process=Process(stage, "c", limits=ROOM))
    assert {past.charged for past in history(stage)} == {True}


def killed_before_the_request(stage: Stage) -> None:
    process = Process(stage, "a", limits=ROOM)

    def kill(_: int, method: str, _path: str) -> None:
        if method == "DELETE":
            raise Killed

    process.before = kill
    with pytest.raises(Killed):
        run(stage, *gang(stage), process=process)


def unreadable(stage: Stage, process: Process, how: str) -> None:
    """Kueue is not installed any more, or its Workload has a field that we cannot decode."""
    if how == "undecodable":
        the_workload(stage)["spec"]["podSets"] = "three"
    else:
        process.before = lambda _n, _m, path: int(how) if "/workloads" in path else None


@pytest.mark.parametrize("how", ["404", "undecodable"])
@pytest.mark.parametrize("given_back", [False, True])
def test_a_workload_that_nobody_can_read_any_more_counts_as_stopped(
    stage: Stage, how: str, given_back: bool
) -> None:
    killed_before_the_request(stage)
    stage.seconds += 130
    if given_back:
        run(stage, process=Process(stage, "b", limits=ROOM))
        assert {past.state for past in history(stage)} == {"refused"}
    stage.seconds += 60
    process = Process(stage, "c", limits=ROOM)
    unreadable(stage, process, how)
    outcome = run(stage, process=process)
    assert outcome.verdict.code == "ACT013", "no later run is blocked by it"
    assert {(past.state, past.charged) for past in history(stage)} == {("evicted", True)}
    since = {stage.now() - past.at < timedelta(minutes=1) for past in history(stage)}
    assert since == {True}, "charged as of now, since nobody saw when"
    assert "Workload that was to be stopped cannot be read" in " ".join(process.warned)
    assert written(process) == []


@pytest.mark.parametrize("how", ["404", "undecodable"])
def test_a_request_that_may_yet_be_carried_out_is_not_judged_unread(stage: Stage, how: str) -> None:
    killed_before_the_request(stage)
    process = Process(stage, "b", limits=ROOM)
    unreadable(stage, process, how)
    assert run(stage, process=process).verdict.code == "ACT013", "no other move waits for it"
    assert {past.state for past in history(stage)} == {"intended"}
    assert "not known yet whether an eviction took effect" in " ".join(process.warned)


@pytest.mark.parametrize("how", ["500", "403"])
def test_an_api_server_that_does_not_tell_is_asked_again_by_the_next_run(
    stage: Stage, how: str
) -> None:
    killed_before_the_request(stage)
    stage.seconds += 130
    process = Process(stage, "b", limits=ROOM)
    unreadable(stage, process, how)
    assert run(stage, process=process).verdict.code == "ACT016"
    assert {past.state for past in history(stage)} == {"intended"}
    run(stage, process=Process(stage, "c", limits=ROOM))
    assert {past.state for past in history(stage)} == {"refused"}


def test_a_gang_that_never_gets_its_quota_back_holds_every_later_cycle(stage: Stage) -> None:
    moves = gang(stage)
    (owner,) = stage.world.owners()
    stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "web"), app="web")

    def suspend(_: Any) -> None:
        stage.world.objects[owner]["spec"]["suspend"] = True
        stage.world._replacement = lambda old: None  # type: ignore[method-assign]

    stage.world.kueue.on_stop = suspend
    first = run(stage, *moves, process=Process(stage, "a", limits=ROOM, missed=True))
    assert (first.verdict.code, exit_code(first)) == ("GRD003", 3)

    def held() -> list[str]:
        process = Process(stage, "b", limits=ROOM)
        seen = process._observe()
        for controller in seen.controllers:
            controller.kind = "Job"
        past = process.ledger.peek()
        made = plan(seen, policy_set([spread()], ROOM), past, mode="Enforce")
        return [guard.code for guard in made.guards]

    stage.seconds += 3600
    assert held() == ["GRD003"]
    ended = stage.world.objects[owner].setdefault("status", {})
    ended["conditions"] = [{"type": "Failed", "status": "True"}]
    assert held() == []
    ended.clear()
    assert held() == ["GRD003"]
    del stage.world.objects[owner]
    assert held() == []


def test_a_fault_after_its_request_gives_no_budget_back(stage: Stage) -> None:
    """The Workload may have been deleted: what became of it is found out by the next run."""
    moves = gang(stage)
    actor = Process(stage, "a", limits=ROOM).actor()

    def lost(_: object) -> EvictionAnswer:
        raise ObjectUnreadable("Workload ring cannot be decoded", "report it.")

    broken = replace(
        actor, kueue=cast("KueueWorkloads", SimpleNamespace(read=actor.kueue.read, restart=lost))
    )
    assert act(plan_of(stage.world, moves), broken).verdict.code == "ACT016"
    assert [past.state for past in history(stage)] == ["intended"] * 3
