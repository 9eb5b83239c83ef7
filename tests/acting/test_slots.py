"""A slot is free when the evicted pod is gone and its replacement stays, judged by UID."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from rescheduler.acting.replacements import _see as see
from rescheduler.acting.replacements import await_replacements, find_replacement
from rescheduler.acting.run import act
from rescheduler.kube.objects import Pod
from rescheduler.model.errors import SourceError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove, mark
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.manners import stamp
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import START, Process, Stage, warm

LIMITS = Limits(minReplicas=1)


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage, name: str = "web-1", rs: str = "rs-1") -> dict[str, Any]:
    return stage.world.add_pod(name, "n1", owner=("ReplicaSet", rs), app=rs)


def two_batches(stage: Stage, process: Process | None = None) -> Outcome:
    moves = [planned(web(stage)), planned(web(stage, "api-1", "rs-2"), batch=2)]
    process = process or Process(stage, "a", missed=True)
    return act(plan_of(stage.world, moves, expires=timedelta(hours=9)), process.actor())


def rest(stage: Stage, name: str) -> None:
    """A later run with nothing to do."""
    act(plan_of(stage.world, []), Process(stage, name).actor())


def test_one_look_that_finds_it_ready_is_no_success(stage: Stage) -> None:
    times: list[float] = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    outcome = two_batches(stage)
    assert exit_code(outcome) == 0
    assert times[1] - times[0] >= stage.world.ready_after + LIMITS.minReadyTime.total_seconds()
    # What is recorded is when it was first Ready, not when it was believed.
    assert [3 <= (move.readySeconds or 0) <= 7 for move in outcome.moves] == [True, True]


@pytest.mark.parametrize("between", ["not Ready", "gone"])
def test_the_time_for_which_it_must_stay_ready_begins_anew_after_a_break(
    stage: Stage, between: str
) -> None:
    """Without a restart too, as where a probe fails once."""
    actor = Process(stage, "a").actor()
    move = PastMove(
        plan="p", podUid="old", namespace="default", pod="web-1", workload="w", source="n1",
        at=actor.clock(), state="evicted",
    )  # fmt: skip
    made = web(stage)
    ready = structs.replace(msgspec.convert(made, Pod), node="n1")
    unready = structs.replace(ready, status=structs.replace(ready.status, conditions=[]))
    see(actor, move, ready)
    first = move.readySince
    assert first is not None
    stage.seconds += 20
    see(actor, move, unready if between == "not Ready" else None)
    between_them = move.readySince
    assert between_them is None
    stage.seconds += 20
    see(actor, move, ready)
    second = move.readySince
    assert second is not None
    assert second > first


def test_pods_that_cannot_be_read_in_time_are_an_error(stage: Stage) -> None:
    def fail(*_: str) -> list[Pod]:
        raise SourceError("no answer")

    process = Process(stage, "a")
    process.lease.acquire()
    process.lease.start()
    actor = replace(process.actor(), pods=fail)
    move = PastMove(
        plan="p", podUid="old", namespace="default", pod="web-1", workload="w", source="n1",
        at=actor.clock(), state="evicted",
    )  # fmt: skip
    with pytest.raises(SourceError, match="no answer"):
        await_replacements(actor, History([move]), [move])
    assert actor.clock() - move.at >= LIMITS.readyTimeout


def test_nothing_is_awaited_without_the_lock(stage: Stage) -> None:
    process = Process(stage, "a")
    actor = process.actor()
    move = PastMove(
        plan="p", podUid="old", namespace="default", pod="web-1", workload="w", source="n1",
        at=actor.clock(), state="evicted",
    )  # fmt: skip
    before = stage.seconds
    assert not process.lease.held
    await_replacements(actor, History([move]), [move])
    assert (move.state, stage.seconds) == ("evicted", before)


@pytest.mark.parametrize("relapse", [0.0, 5.0, 40.0])
def test_a_replacement_that_restarts_again_and_again_stops_the_run(
    stage: Stage, relapse: float
) -> None:
    stage.world.relapse = relapse
    outcome = two_batches(stage)
    assert outcome.verdict.code == "GRD003"
    assert [(m.result, m.code) for m in outcome.moves] == [
        ("evicted", "ACT018"),
        ("skipped", "ACT010"),
    ]
    assert len(stage.world.accepted) == 1
    assert exit_code(outcome) == 3
    assert history(stage)[0].state == "lost"


@pytest.mark.parametrize("relapse", range(40, 60, 2))
def test_a_restart_between_two_looks_is_seen(stage: Stage, relapse: int) -> None:
    stage.world.relapse, stage.world.ready_after = float(relapse), 1.0
    outcome = two_batches(stage)
    assert outcome.moves[0].code == "ACT018"
    assert outcome.moves[0].readySeconds is not None


def test_a_replacement_that_never_runs_is_said_to_restart(stage: Stage) -> None:
    stage.world.sound = lambda _: False
    outcome = two_batches(stage)
    assert outcome.moves[0].code == "ACT018"
    assert stage.seconds >= LIMITS.readyTimeout.total_seconds()


def test_one_that_was_lost_and_then_stays_ready_is_lost_no_more(stage: Stage) -> None:
    stage.world.relapse = 5.0
    two_batches(stage)
    stage.world.relapse = None
    for _ in range(3):
        stage.seconds += 600
        rest(stage, f"p{stage.seconds}")
    assert history(stage)[0].state == "ready"


@pytest.mark.parametrize(
    ("sibling_read", "said"),
    [(False, "inFlightPerWorkload is 1."), (True, "1 replacement of ReplicaSet rs-1 is pending")],
)
def test_one_that_was_lost_keeps_its_slot_until_it_stays_ready(
    stage: Stage, sibling_read: bool, said: str
) -> None:
    """A container that crash-loops is Ready for a moment each time it runs."""
    stage.world.sound = lambda _: False
    two_batches(stage)
    assert history(stage)[0].state == "lost"
    (broken,) = (v for k, v in stage.world.objects.items() if k[0] == "pods" and "-r" in k[2])
    second = planned(web(stage, "web-2"))
    stage.seconds += 7200

    def recovers(_number: int, _method: str, path: str) -> None:
        if not sibling_read or path.endswith("/pods/web-2"):
            broken["status"] = ready_since(stage)

    process = Process(stage, "a", before=recovers)
    (move,) = act(plan_of(stage.world, [second]), process.actor()).moves
    assert (move.code, len(stage.world.accepted)) == ("ELG022", 1)
    assert said in move.message

    stage.seconds += LIMITS.minReadyTime.total_seconds() + 5
    stage.world.sound = lambda _: True
    (move,) = act(plan_of(stage.world, [second]), Process(stage, "b").actor()).moves
    assert move.result == "evicted"


def ready_since(stage: Stage) -> dict[str, Any]:
    """The status of a pod that has become Ready just now."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": stamp(stage.now())}
    return {"phase": "Running", "conditions": [ready]}


def test_a_pod_that_does_not_go_keeps_its_slot(stage: Stage) -> None:
    stage.world.stuck = lambda pod: pod["metadata"]["name"] == "web-1"
    process = Process(stage, "a", missed=True)
    outcome = two_batches(stage, process)
    assert outcome.verdict.code == "GRD003"
    assert "default/web-1 was evicted" in outcome.verdict.message
    assert "it does not go; nothing moves until it is gone" in outcome.verdict.message
    assert [m.code for m in outcome.moves] == ["ACT019", "ACT010"]
    assert exit_code(outcome) == 3
    assert 330 <= stage.seconds < 360, "its grace period of 30 s, and five minutes"
    assert process.announced[-1] == ("web-1", "evicted", "ACT019")
    (past,) = history(stage)
    assert past.in_flight

    # Also for a later process, as long as the pod is there.
    stage.seconds += 3600
    again = planned(web(stage, "web-2"))
    outcome = act(plan_of(stage.world, [again]), Process(stage, "b").actor())
    assert outcome.moves[0].code == "ELG022"
    assert len(stage.world.accepted) == 1

    del stage.world.objects["pods", "default", "web-1"]
    for name in ("c", "d"):
        stage.seconds += 3600
        rest(stage, name)
    assert history(stage)[0].state == "ready"


def test_a_long_grace_period_is_waited_for(stage: Stage) -> None:
    stage.world.grace = 500.0
    pod = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "db"), app="db")
    pod["spec"]["terminationGracePeriodSeconds"] = 600
    outcome = act(plan_of(stage.world, [planned(pod)]), Process(stage, "a").actor())
    assert outcome.verdict.code == "ACT013"
    assert stage.seconds >= 500
    assert exit_code(outcome) == 0


def test_a_pod_without_its_labels_is_not_gone(stage: Stage) -> None:
    stage.world.stuck = lambda _: True
    stage.world.on_accept = lambda pod, _: pod["metadata"].update(labels={"app": "released"})
    outcome = two_batches(stage)
    assert outcome.moves[0].code == "ACT019"


def test_a_stop_while_it_is_awaited_is_no_success(stage: Stage) -> None:
    process = Process(stage, "a")
    stage.world.on_accept = lambda *_: setattr(process, "stopped", "the time was up")
    outcome = act(plan_of(stage.world, [planned(web(stage))]), process.actor())
    assert (outcome.verdict.code, outcome.moves[0].code) == ("ACT014", "ACT001")
    assert exit_code(outcome) == 3


@pytest.mark.parametrize("skew", [3600, -3600])
def test_where_an_api_servers_clock_is_far_off_nothing_is_moved(stage: Stage, skew: float) -> None:
    stage.servers = [skew]
    pod = stage.world.add_pod("p1-0", "n1", owner=("ReplicaSet", "o1"), app="o1")
    plan = plan_of(stage.world, [planned(pod)], expires=timedelta(hours=9))
    outcome = act(plan, Process(stage, "a").actor())
    assert (outcome.verdict.code, stage.world.accepted) == ("GRD007", [])
    assert exit_code(outcome) == 1


@pytest.mark.parametrize("skew", [4, 10])
@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_the_clocks_of_api_servers_may_differ(stage: Stage, skew: float, kind: str) -> None:
    stage.servers = [0, skew, -skew, 0, skew]
    pods = [
        stage.world.add_pod(f"p{n}-0", "n1", owner=(kind, f"o{n}"), app=f"o{n}") for n in (1, 2)
    ]
    moves = [planned(pod, batch=number) for number, pod in enumerate(pods)]
    times: list[float] = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    outcome = act(
        plan_of(stage.world, moves, expires=timedelta(hours=9)), Process(stage, "a").actor()
    )
    assert outcome.verdict.code == "ACT013"
    assert [(m.code, m.landedOn) for m in outcome.moves] == [("ACT001", "spare")] * 2
    assert 60 <= times[1] - times[0] < 120
    assert stage.seconds < 240


@pytest.mark.parametrize("skew", [10, -10, 3600, -3600])
def test_a_return_is_seen_whatever_the_clocks(stage: Stage, skew: float) -> None:
    stage.servers = [0, skew]
    stage.world.place = lambda _: "n1"
    outcome = two_batches(stage)
    assert outcome.moves[0].code == "ACT012"


def of(uid: str, owner: str = "rs-1", kind: str = "ReplicaSet", **more: Any) -> Pod:
    """A Ready pod with this UID, of that controller."""
    reference = {"kind": kind, "name": "rs", "uid": owner, "controller": True}
    named = {"name": uid, "namespace": "default", "uid": uid}
    pod = {"metadata": {**named, "ownerReferences": [reference], **more}}
    return msgspec.convert(pod, Pod)


def moved(**more: Any) -> PastMove:
    """The move of pod `old`, whose controller had pods `old` and `other`."""
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": "old",
        "namespace": "default",
        "pod": "old",
        "workload": "rs-1",
        "controller": "rs-1",
        "controllerKind": "ReplicaSet",
        "source": "n1",
        "at": START,
        "earlierPods": [mark("old"), mark("other")],
        **more,
    }
    return PastMove(**fields)


def test_who_stands_for_an_evicted_pod() -> None:
    fresh = of("fresh")
    assert find_replacement(moved(), [of("old"), of("other"), fresh], set()) is fresh
    assert find_replacement(moved(), [of("old"), of("other")], set()) is None
    # Not a pod of another controller, nor one that is leaving, nor one that stands for another.
    assert find_replacement(moved(), [of("fresh", owner="rs-2")], set()) is None
    leaving = of("fresh", deletionTimestamp="2026-11-21T12:00:00Z")
    assert find_replacement(moved(), [leaving], set()) is None
    assert find_replacement(moved(), [fresh], {"fresh"}) is None


def test_times_say_nothing_about_who_it_is() -> None:
    for year in (1999, 2099):
        made = of("fresh", creationTimestamp=f"{year}-01-01T00:00:00Z")
        assert find_replacement(moved(), [made], set()) is made


def test_in_a_stateful_set_it_has_the_name_of_the_old_one() -> None:
    past = moved(controllerKind="StatefulSet", pod="db-0")
    assert find_replacement(past, [of("fresh", kind="StatefulSet", name="db-1")], set()) is None
    fresh = of("fresh", kind="StatefulSet", name="db-0")
    assert find_replacement(past, [fresh], set()) is fresh


def test_nobody_stands_for_a_move_of_which_no_pods_are_known() -> None:
    assert find_replacement(moved(earlierPods=[]), [of("fresh")], set()) is None


def test_an_intent_keeps_what_is_needed_to_go_on_after_a_crash(stage: Stage) -> None:
    web(stage, "web-2")
    process = Process(stage, "a")
    stage.world.on_accept = lambda *_: setattr(process, "stopped", "SIGTERM")
    act(plan_of(stage.world, [planned(web(stage))]), process.actor())
    (past,) = history(stage)
    assert past.selector == "app=rs-1"
    assert len(past.earlierPods) == 2
    for name in ("b", "c"):
        stage.seconds += 100
        rest(stage, name)
    (past,) = history(stage)
    assert (past.state, past.earlierPods, past.selector) == ("ready", [], ""), (
        "kept no longer than needed"
    )


@pytest.mark.parametrize("wait", ["short", "long"])
def test_what_an_awaited_move_costs_the_api_server(stage: Stage, wait: str) -> None:
    """Before, 151 lists of the whole namespace were read in five minutes."""
    for number in range(20):
        web(stage, f"other-{number}", "rs-9")
    if wait == "long":
        stage.world.place = lambda _: ""
    process = Process(stage, "a")
    act(plan_of(stage.world, [planned(web(stage))]), process.actor())
    after = next(n for n, (_, path) in enumerate(process.sent) if "eviction" in path)
    lists = [path for _, path in process.sent[after:] if "/pods" in path and "/pods/" not in path]
    whole = [path for path in lists if "labelSelector=app%3Drs-1" not in path]
    assert len(whole) == {"short": 0, "long": 1}[wait], "what was lost is looked for once"
    assert len(lists) <= {"short": 10, "long": 26}[wait]
    every = Counter(method for method, _ in process.sent[after:])
    assert every["GET"] <= {"short": 14, "long": 30}[wait]
