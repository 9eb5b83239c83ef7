"""A gang that Kueue runs: one request for all of it, after all that its pods hang on allows it."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import LandingShare, PlannedMove
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.stopping import ROOM, gang, run, the_workload, written
from tests.fakes import kueue
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history, results
from tests.fakes.stage import WIDE, Process, Stage, warm


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def test_one_request_stops_all_of_it_and_its_new_pods_are_awaited(stage: Stage) -> None:
    moves = gang(stage)
    before = the_workload(stage)["metadata"]["uid"]
    stored: list[int] = []
    stage.world.kueue.on_stop = lambda _: stored.append(sum(p.charged for p in history(stage)))
    process = Process(stage, "a", limits=ROOM)
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("evicted", "ACT001")] * 3
    assert [method for method, _ in written(process)] == ["DELETE"], "and no eviction"
    assert stored == [3], "all intents before the request"
    assert stage.world.kueue.stopped == [before]
    assert stage.world.accepted == []
    assert {past.state for past in history(stage)} == {"ready"}
    assert len({past.replacement for past in history(stage)}) == 3
    assert the_workload(stage)["metadata"]["uid"] != before
    assert exit_code(outcome) == 0


def test_what_became_of_all_of_it_is_stored_before_events_tell_of_it(stage: Stage) -> None:
    moves = gang(stage)

    def out_of_memory(*_: object) -> None:
        raise MemoryError

    actor = replace(Process(stage, "a", limits=ROOM).actor(), announce=out_of_memory)
    with pytest.raises(MemoryError):
        act(plan_of(stage.world, moves), actor)
    assert "intended" not in {past.state for past in history(stage)}


def test_which_of_like_pods_is_placed_first_is_not_foretold(stage: Stage) -> None:
    """Else no gang whose pods come in another order would land as predicted."""
    moves = gang(stage)
    stage.world.put("nodes", "", "large", stage.world.objects["nodes", "", "n0"])
    foretold = ["large", "large", "spare"]
    moves = [
        structs.replace(move, landing=[LandingShare(node=node, probability=1.0)], returns=0.0)
        for move, node in zip(moves, foretold, strict=True)
    ]
    left = list(reversed(foretold))
    stage.world.place = lambda _: left.pop(0)
    outcome = run(stage, *moves)
    assert [move.landedOn for move in outcome.moves] == ["spare", "large", "large"]
    for move in outcome.moves:
        shares = {share.node: share.probability for share in move.landing}
        assert shares == pytest.approx({"large": 2 / 3, "spare": 1 / 3})
    assert not any(past.unpredicted for past in history(stage))


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_budget_that_does_not_allow_all_pods_at_once_holds_it(stage: Stage, allowed: int) -> None:
    moves = gang(stage)
    stage.world.add_budget("train", "train", allowed=allowed)
    process = Process(stage, "a", limits=ROOM)
    assert results(run(stage, *moves, process=process)) == [("refused", "DRF007")] * 3
    assert written(process) == []
    assert not any(past.charged for past in history(stage))


def test_a_budget_that_allows_all_pods_at_once_does_not_hold_it(stage: Stage) -> None:
    moves = gang(stage)
    stage.world.add_budget("train", "train", allowed=3)
    assert results(run(stage, *moves)) == [("evicted", "ACT001")] * 3


def test_our_own_limits_count_every_pod(stage: Stage) -> None:
    few = {**WIDE, "movesPerHour": 2, "gangs": "Whole", "kueue": "Restart"}
    process = Process(stage, "a", limits=Limits.model_validate(few))
    assert results(run(stage, *gang(stage), process=process)) == [("refused", "PAC005")] * 3
    assert written(process) == []


def evicted_by_kueue(workload: dict[str, Any]) -> None:
    workload["status"]["conditions"].append({"type": "Evicted", "status": "True"})


def stopped_by_hand(workload: dict[str, Any]) -> None:
    workload["spec"]["active"] = False


def another(workload: dict[str, Any]) -> None:
    workload["metadata"]["uid"] = "other"


def with_a_check(workload: dict[str, Any]) -> None:
    workload["status"]["admissionChecks"] = [{"name": "provisioning", "state": "Ready"}]


@pytest.mark.parametrize("change", [evicted_by_kueue, stopped_by_hand, another, with_a_check])
def test_a_workload_that_has_changed_since_is_left_alone(stage: Stage, change: Any) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def at_the_intent(_: int, method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/rescheduler-state") and history(stage):
            change(the_workload(stage))

    process.after = at_the_intent
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("refused", "ACT021")] * 3
    assert written(process) == []
    assert not any(past.charged for past in history(stage))


def held_queue(stage: Stage) -> None:
    stage.world.objects["clusterqueues", "", "all"]["spec"]["stopPolicy"] = "Hold"


def held_local_queue(stage: Stage) -> None:
    stage.world.objects["localqueues", "default", "team"]["spec"]["stopPolicy"] = "HoldAndDrain"


def deleted_queue(stage: Stage) -> None:
    del stage.world.objects["localqueues", "default", "team"]


def rival(stage: Stage) -> None:
    waits = kueue.workload("rival", "job-rival", pods=3)
    waits["metadata"]["namespace"], waits["status"] = "elsewhere", {"conditions": []}
    stage.world.put("workloads", "elsewhere", "job-rival", waits)
    _, local_queue = kueue.queue(total="0")
    stage.world.put("localqueues", "elsewhere", "team", local_queue)


def pending(stage: Stage) -> None:
    stage.world.objects["clusterqueues", "", "all"]["status"]["pendingWorkloads"] = 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (held_queue, "ELG035"),
        (held_local_queue, "ELG035"),
        (deleted_queue, "ELG035"),
        (pending, "ELG034"),
    ],
)
def test_what_kueue_decides_by_is_read_again_right_before_the_request(
    stage: Stage, change: Any, code: str
) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def at_the_intent(_: int, method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/rescheduler-state") and history(stage):
            process.after = lambda *_: None
            change(stage)

    process.after = at_the_intent
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("refused", code)] * 3
    assert written(process) == []
    assert not any(past.charged for past in history(stage))


def odd_rival(stage: Stage) -> None:
    rival(stage)
    stage.world.objects["workloads", "elsewhere", "job-rival"]["spec"]["podSets"] = "three"


@pytest.mark.parametrize("change", [rival, odd_rival, pending])
def test_a_workload_that_waits_holds_it_before_anything_is_stored(
    stage: Stage, change: Any
) -> None:
    """It has come since the batch began."""
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def at_the_list(_: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("v1beta2/clusterqueues"):
            change(stage)

    process.before = at_the_list
    assert results(run(stage, *moves, process=process)) == [("refused", "ELG034")] * 3
    assert written(process) == []
    assert history(stage) == []


@pytest.mark.parametrize("kind", ["clusterqueues", "localqueues", "workloads"])
@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("late", [False, True])
def test_where_that_cannot_be_read_its_gang_alone_is_not_stopped(
    stage: Stage, kind: str, status: int, late: bool
) -> None:
    """Nothing stays charged, and the run goes on with its other moves."""
    moves = gang(stage)
    other = planned(stage.world.add_pod("web-0", "n4", owner=("ReplicaSet", "web"), app="web"))
    process = Process(stage, "a", limits=ROOM)

    def answer(_: int, method: str, path: str) -> int | None:
        asked = method == "GET" and path.partition("?")[0].endswith(f"/{kind}")
        return status if asked and bool(history(stage)) == late else None

    process.before = answer
    outcome = run(stage, *moves, other, process=process)
    assert results(outcome) == [*[("refused", "ACT021")] * 3, ("evicted", "ACT001")]
    assert not any("workloads" in path for _, path in written(process))
    assert sum(past.charged for past in history(stage)) == 1


def test_a_gang_that_takes_too_long_to_read_is_left_alone_by_itself(stage: Stage) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def slow(_: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("/localqueues") and history(stage):
            stage.seconds += 6

    process.before = slow
    assert results(run(stage, *moves, process=process)) == [("refused", "ACT024")] * 3
    assert written(process) == []
    assert not any(past.charged for past in history(stage))


def test_of_many_workloads_only_its_own_is_read_again(stage: Stage) -> None:
    """Kueue keeps those that have finished; it is what follows the intents that must be new."""
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)
    lists: list[bool] = []

    def slow(_: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("v1beta2/workloads"):
            lists.append(bool(history(stage)))
            process.sleep(60)

    process.before = slow
    assert results(run(stage, *moves, process=process)) == [("evicted", "ACT001")] * 3
    assert lists == [False], "once, before the intents"


def test_intents_are_withdrawn_where_its_pods_cannot_be_read(stage: Stage) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def broken(_: int, method: str, path: str) -> int | None:
        return 500 if method == "GET" and "/pods/" in path and history(stage) else None

    process.before = broken
    assert run(stage, *moves, process=process).verdict.code == "ACT016"
    assert written(process) == []
    assert {past.state for past in history(stage)} == {"refused"}


def test_a_workload_that_changes_before_the_request_is_left_alone(
    stage: Stage,
) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def just_before(_: int, method: str, path: str) -> None:
        if method == "DELETE":
            known = the_workload(stage)
            stage.world.put("workloads", "default", known["metadata"]["name"], known)

    process.before = just_before
    assert results(run(stage, *moves, process=process)) == [("refused", "ACT021")] * 3
    assert stage.world.kueue.stopped == []
    assert not any(past.charged for past in history(stage))


def test_the_node_of_each_of_its_pods_is_read_again(stage: Stage) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def cordoned(_: int, method: str, path: str) -> None:
        if method == "GET" and "/workloads" in path and history(stage):
            stage.world.objects["nodes", "", moves[-1].source]["spec"]["unschedulable"] = True

    process.before = cordoned
    assert len({move.source for move in moves}) == len(moves)
    assert results(run(stage, *moves, process=process)) == [("refused", "DRF005")] * 3
    assert written(process) == []


def test_without_the_right_nothing_is_stopped_and_it_is_said(stage: Stage) -> None:
    stage.world.kueue.may = False
    outcome = run(stage, *gang(stage))
    assert results(outcome) == [("refused", "ACT022")] * 3
    assert not any(past.charged for past in history(stage))
    assert exit_code(outcome) == 3


def test_a_pod_of_it_that_is_not_ready_any_more_holds_it(stage: Stage) -> None:
    moves = gang(stage)
    stage.world.crash(stage.world.objects["pods", "default", "train-2"])
    process = Process(stage, "a", limits=ROOM)
    outcome = run(stage, *moves, process=process)
    assert {move.result for move in outcome.moves} == {"refused"}
    assert written(process) == []


def test_a_pod_of_it_that_opts_out_holds_it(stage: Stage) -> None:
    moves = gang(stage)
    last = stage.world.objects["pods", "default", "train-2"]["metadata"]
    last["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    process = Process(stage, "a", limits=ROOM)
    assert results(run(stage, *moves, process=process)) == [("refused", "ELG011")] * 3
    assert written(process) == []


@pytest.mark.parametrize("limits", [{"kueue": "Leave"}, {"kueue": "Leave", "gangs": "Surplus"}])
def test_where_the_limits_do_not_let_it_nothing_is_stopped(
    stage: Stage, limits: dict[str, str]
) -> None:
    less = {**WIDE, "gangs": "Whole", "kueue": "Restart", **limits}
    process = Process(stage, "a", limits=Limits.model_validate(less))
    outcome = run(stage, *gang(stage), process=process)
    assert {move.result for move in outcome.moves} == {"refused"}
    assert written(process) == []


def jobset(stage: Stage, **metadata: Any) -> list[PlannedMove]:
    """The same gang, whose Job is a JobSet's, by which Kueue runs it."""
    moves = gang(stage)
    (owner,) = stage.world.owners()
    reference = {"kind": "JobSet", "name": "train", "uid": "js-1", "controller": True}
    stage.world.objects[owner]["metadata"]["ownerReferences"] = [reference]
    stage.world.put("jobsets", "default", "train", {"metadata": {"uid": "js-1", **metadata}})
    del stage.world.objects["workloads", "default", the_workload(stage)["metadata"]["name"]]
    made = kueue.workload("train", "js-1", pods=3, kind="JobSet")
    stored = stage.world.put("workloads", "default", made["metadata"]["name"], made)["metadata"]
    stops = StopRef(name=stored["name"], uid=stored["uid"])
    return [structs.replace(move, stops=stops) for move in moves]


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"annotations": {"rescheduler.io/opt-out": "true"}}, "ELG011"),
        ({"deletionTimestamp": "2026-11-21T12:00:00Z"}, "ELG015"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_jobset_that_asks_to_be_left_alone_or_goes_is_not_stopped(
    stage: Stage, metadata: dict[str, Any], code: str, late: bool
) -> None:
    moves = jobset(stage, **({} if late else metadata))
    process = Process(stage, "a", limits=ROOM)

    def at_the_intent(_: int, method: str, path: str) -> None:
        if late and method == "PUT" and path.endswith("/rescheduler-state") and history(stage):
            stage.world.objects["jobsets", "default", "train"]["metadata"] |= metadata

    process.after = at_the_intent
    assert results(run(stage, *moves, process=process)) == [("refused", code)] * 3
    assert written(process) == []
    assert not any(past.charged for past in history(stage))


def test_a_jobset_that_asks_for_nothing_is_stopped(stage: Stage) -> None:
    process = Process(stage, "a", limits=ROOM)
    outcome = run(stage, *jobset(stage), process=process)
    assert {move.result for move in outcome.moves} == {"evicted"}
    assert len(written(process)) == 1


def test_a_gang_that_kueue_runs_by_now_is_never_evicted_pod_by_pod(stage: Stage) -> None:
    """Moves of a plan that knew of no Workload: the fresh snapshot of the batch has one."""
    moves = [structs.replace(move, stops=None) for move in gang(stage)]
    less = {**WIDE, "gangs": "Whole", "movesPerHour": 50}
    process = Process(stage, "a", limits=Limits.model_validate(less))
    assert results(run(stage, *moves, process=process)) == [("refused", "ELG029")] * 3
    assert written(process) == []
