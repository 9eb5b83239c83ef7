"""A gang that Kueue runs: one request for all of it, after all that its pods hang on allows it."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.history import PastMove
from rescheduler.model.plan import Outcome, PlannedMove
from rescheduler.model.restarting import StopRef
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.enforce.acting import act
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes import kueue
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Killed, Process, Stage, warm
from tests.runtime.skewed import spread

GANG = "default/train (completionMode: Indexed)"
JOB = "job-1"
ROOM = Limits.model_validate({**WIDE, "movesPerHour": 50, "gangs": "Whole", "kueue": "Restart"})
ACTIVE = {"conditions": [{"type": "Active", "status": "True"}]}


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def queue(stage: Stage, *, total: str = "3") -> None:
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "8"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
    used = [{"name": "default", "resources": [{"name": "cpu", "total": total}]}]
    stage.world.put(
        "clusterqueues",
        "",
        "all",
        {
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
            "status": {**ACTIVE, "flavorsReservation": used},
        },
    )
    stage.world.put("localqueues", "default", "team", {"spec": {"clusterQueue": "all"}})


def gang(stage: Stage, size: int = 3) -> list[PlannedMove]:
    """The moves of an Indexed Job that Kueue has admitted."""
    queue(stage)
    made = [
        stage.world.add_pod(f"train-{n}", f"n{n}", owner=("Job", JOB), app="train")
        for n in range(size)
    ]
    (owner,) = stage.world.owners()
    spec = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
    stage.world.objects[owner]["spec"] |= spec
    of_job = kueue.workload(owner[2], JOB, pods=size)
    stored = stage.world.put("workloads", "default", of_job["metadata"]["name"], of_job)
    stops = StopRef(name=stored["metadata"]["name"], uid=stored["metadata"]["uid"])
    return [planned(each, group=GANG, stops=stops) for each in made]


def the_workload(stage: Stage) -> dict[str, Any]:
    (found,) = [v for (kind, _, _), v in stage.world.objects.items() if kind == "workloads"]
    return found


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a", limits=ROOM)
    return act(plan_of(stage.world, moves), process.actor())


def history(stage: Stage) -> list[PastMove]:
    return Process(stage, "reader").ledger.peek().moves


def results(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.result, each.code) for each in outcome.moves]


def written(process: Process) -> list[tuple[str, str]]:
    """What was asked of the cluster beside our own objects."""
    asked = ("eviction", "workloads")
    return [
        (method, path)
        for method, path in process.sent
        if method != "GET" and any(each in path for each in asked)
    ]


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


def odd_rival(stage: Stage) -> None:
    rival(stage)
    stage.world.objects["workloads", "elsewhere", "job-rival"]["spec"]["podSets"] = "three"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (held_queue, "ELG035"),
        (held_local_queue, "ELG035"),
        (deleted_queue, "ELG035"),
        (rival, "ELG034"),
        (odd_rival, "ELG034"),
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


@pytest.mark.parametrize("kind", ["clusterqueues", "localqueues", "workloads"])
@pytest.mark.parametrize("status", [403, 404, 500])
def test_where_that_cannot_be_read_nothing_is_stopped(stage: Stage, kind: str, status: int) -> None:
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)
    process.before = lambda _n, _m, path: status if path.endswith(f"v1beta1/{kind}") else None
    outcome = run(stage, *moves, process=process)
    assert outcome.verdict.code == "ACT016"
    assert written(process) == []
    stage.seconds += 130
    run(stage, process=Process(stage, "b", limits=ROOM))
    assert not any(past.charged for past in history(stage))


def test_a_workload_that_changes_between_its_reading_and_the_request_is_left_alone(
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
    assert {each.result for each in outcome.moves} == {"refused"}
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
    assert {each.result for each in outcome.moves} == {"refused"}
    assert written(process) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_request_without_an_answer_is_found_out_by_the_workload_and_never_sent_again(
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
        assert {each.result for each in outcome.moves} == {"evicted"}


def test_a_request_that_a_proxy_repeats_is_charged_and_followed(stage: Stage) -> None:
    """The first takes effect, its answer is lost, and the answer to the second is a conflict."""
    moves = gang(stage)
    process = Process(stage, "a", limits=ROOM)

    def first(_: int, method: str, path: str) -> None:
        if method == "DELETE":
            known = the_workload(stage)["metadata"]
            body = {"preconditions": {each: known[each] for each in ("uid", "resourceVersion")}}
            status, _, _ = stage.world.handle("DELETE", path, body)
            assert status == 200
            known["resourceVersion"] += "1"

    process.before = first
    outcome = run(stage, *moves, process=process)
    assert results(outcome) == [("evicted", "ACT001")] * 3
    assert {past.state for past in history(stage)} == {"ready"}
    assert len(written(process)) == len(stage.world.kueue.stopped) == 1


@pytest.mark.parametrize("sent", [False, True])
def test_a_process_that_is_killed_leaves_nothing_that_anybody_has_to_resume(
    stage: Stage, sent: bool
) -> None:
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
    names = {each["metadata"]["name"] for each in pods}
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
        "DELETE", f"/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads/{name}"
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
    assert run(stage, process=process).verdict.code == "ACT016"
    assert {past.state for past in history(stage)} == {"intended"}


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
    return [structs.replace(each, stops=stops) for each in moves]


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
    assert {each.result for each in outcome.moves} == {"evicted"}
    assert len(written(process)) == 1


def test_a_gang_that_never_gets_its_quota_back_holds_every_later_cycle(stage: Stage) -> None:
    moves = gang(stage)
    (owner,) = stage.world.owners()
    stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "web"), app="web")

    def suspend(_: Any) -> None:
        stage.world.objects[owner]["spec"]["suspend"] = True
        stage.world._replacement = lambda _pod: None  # type: ignore[method-assign]

    stage.world.kueue.on_stop = suspend
    first = run(stage, *moves, process=Process(stage, "a", limits=ROOM))
    assert (first.verdict.code, exit_code(first)) == ("GRD003", 3)

    def held() -> list[str]:
        process = Process(stage, "b", limits=ROOM)
        seen = process._observe()
        for each in seen.controllers:
            each.kind = "Job"
        past = process.ledger.peek()
        made = plan(seen, policy_set([spread()], ROOM), past, mode="Enforce")
        return [each.code for each in made.guards]

    stage.seconds += 3600
    assert held() == ["GRD003"]
    ended = stage.world.objects[owner].setdefault("status", {})
    ended["conditions"] = [{"type": "Failed", "status": "True"}]
    assert held() == []
    ended.clear()
    assert held() == ["GRD003"]
    del stage.world.objects[owner]
    assert held() == []


def test_a_gang_that_kueue_runs_by_now_is_never_evicted_pod_by_pod(stage: Stage) -> None:
    """Moves of a plan that knew of no Workload: the fresh snapshot of the batch has one."""
    moves = [structs.replace(each, stops=None) for each in gang(stage)]
    less = {**WIDE, "gangs": "Whole", "movesPerHour": 50}
    process = Process(stage, "a", limits=Limits.model_validate(less))
    assert results(run(stage, *moves, process=process)) == [("refused", "ELG029")] * 3
    assert written(process) == []
