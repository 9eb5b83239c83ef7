"""Which Pending replacements are evicted to be created again, and which stay as they are."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.halting import Halted
from rescheduler.acting.move_records import MoveRecords
from rescheduler.acting.releases import Releases
from rescheduler.acting.sender import Sender
from rescheduler.kube.pods.steered_affinity import REQUIRED
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.policies.limits import Limits
from tests.fakes.stage import START, WIDE, Process, Stage, warm
from tests.fakes.steering import TABLE_KEY

NAME = "web-1-r1"


@pytest.fixture
def stage() -> Stage:
    """A replacement that may run on n5 only waits for it, and its entry has been taken out."""
    made = warm(Stage())
    made.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    made.world.steers = True
    made.world.add_pod("there", "n5", owner=("ReplicaSet", "other"), app="o")
    left = made.world.add_pod(NAME, "", owner=("ReplicaSet", "rs-1"), app="web")
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n5"]}
    terms = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    left["spec"]["affinity"] = {"nodeAffinity": terms}
    made.seconds = 600.0
    return made


def pod(stage: Stage) -> dict[str, Any]:
    return stage.world.objects["pods", "default", NAME]


def past(stage: Stage, **more: Any) -> PastMove:
    told = PastSteering(
        by="AdmissionPolicy",
        strength="Require",
        hostnames=["n5"],
        until=START + timedelta(seconds=500),
        open=False,
    )
    fields: dict[str, Any] = {
        "podUid": "uid-web-1",
        "replacement": pod(stage)["metadata"]["uid"],
        "steered": told,
        **more,
    }
    return PastMove(
        plan="earlier",
        namespace="default",
        pod="web-1",
        workload="rs-1",
        controller="rs-1",
        controllerKind="ReplicaSet",
        source="n1",
        at=START + timedelta(seconds=200),
        state="evicted",
        **fields,
    )


def releases_of(process: Process, *moves: PastMove, **ports: Any) -> Releases:
    """A run that holds the lock and finds these moves of earlier ones."""
    process.lease.acquire()
    history = process.ledger.open()
    history.moves = list(moves)
    actor = replace(process.actor(), **ports)
    return Releases(actor, history, Sender(actor, MoveRecords("plan", actor, history, {})))


def freed(stage: Stage, *more: PastMove, **ports: Any) -> tuple[int, list[str]]:
    """How many evictions are sent, and the warnings."""
    process = Process(stage, "a")
    releases = releases_of(process, past(stage), *more, **ports)
    releases.release_earlier(releases._actor.observe)
    return sum(path.endswith("/eviction") for _, path in process.sent), process.warned


def test_one_that_waits_for_nodes_that_it_was_told_is_freed(stage: Stage) -> None:
    assert freed(stage) == (1, [])


def _nominated(stage: Stage) -> None:
    """Pods are being preempted for it."""
    pod(stage)["status"]["nominatedNodeName"] = "n5"


def _untold(stage: Stage) -> None:
    """It names no nodes, so that one created again would wait just the same."""
    del pod(stage)["spec"]["affinity"]


def _placed(stage: Stage) -> None:
    pod(stage)["spec"]["nodeName"] = "n5"
    pod(stage)["status"]["phase"] = "Running"


def _untried(stage: Stage) -> None:
    pod(stage)["status"]["conditions"] = []


def _gated(stage: Stage) -> None:
    pod(stage)["status"]["conditions"][0]["reason"] = "SchedulingGated"


def _deleted(stage: Stage) -> None:
    pod(stage)["metadata"]["deletionTimestamp"] = "2026-11-21T12:30:00Z"


def _early(stage: Stage) -> None:
    stage.seconds = 400.0


@pytest.mark.parametrize("now", [_nominated, _untold, _placed, _untried, _gated, _deleted, _early])
def test_one_whose_wait_has_another_reason_or_end_stays(
    stage: Stage, now: Callable[[Stage], None]
) -> None:
    now(stage)
    assert freed(stage) == (0, [])


@pytest.mark.parametrize(("is_open", "evicted"), [(True, 0), (False, 1)])
def test_one_whose_successor_another_entry_would_steer_stays(
    stage: Stage, *, is_open: bool, evicted: int
) -> None:
    told = past(stage).steered
    assert told is not None
    other = PastSteering(
        by=told.by,
        strength="Require",
        hostnames=["n6"],
        until=START + timedelta(seconds=900),
        open=is_open,
    )
    moves, warned = freed(stage, past(stage, podUid="uid-web-2", replacement="", steered=other))
    assert (moves, len(warned)) == (evicted, 1 - evicted)


def test_one_stays_while_an_older_table_may_steer_its_successor(stage: Stage) -> None:
    stage.world.frozen = dict(stage.world.objects[TABLE_KEY])
    stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    moves, warned = freed(stage)
    assert (moves, len(warned)) == (0, 1)


@pytest.mark.parametrize("gone", ["policy", "policy and table", "extender"])
def test_one_is_freed_where_nothing_is_left_that_steers(stage: Stage, gone: str) -> None:
    """The component was removed while it was Pending: nobody else would create it again."""
    stage.world.steers = False
    if gone == "policy and table":
        del stage.world.objects[TABLE_KEY]
    told = past(stage).steered
    assert told is not None
    told.by = "Extender" if gone == "extender" else "AdmissionPolicy"
    process = Process(stage, "a")
    releases = releases_of(process, past(stage, steered=told))
    releases.release_earlier(releases._actor.observe)
    assert sum(path.endswith("/eviction") for _, path in process.sent) == 1


def test_one_stays_where_the_table_cannot_be_read_and_the_run_goes_on(stage: Stage) -> None:
    process = Process(stage, "a")
    process.before = lambda _n, _m, path: 403 if "rescheduler-steering" in path else None
    releases = releases_of(process, past(stage))
    releases.release_earlier(releases._actor.observe)
    assert not any(path.endswith("/eviction") for _, path in process.sent)
    (note,) = releases.still_pending()
    assert (note.code, NAME in note.message) == ("STR007", True)


def test_one_stays_where_a_pod_of_its_controller_cannot_be_decoded(stage: Stage) -> None:
    """No other waits for it: the run goes on, and says why it is not freed."""
    left = past(stage)
    (pod,) = [v for k, v in stage.world.objects.items() if k[0] == "pods" and k[2] == NAME]
    process = Process(stage, "a")
    releases = releases_of(process, left)
    releases._sender.look_at(releases._actor.observe())
    pod["spec"]["containers"] = "nonsense"
    releases.release()
    assert not any(path.endswith("/eviction") for _, path in process.sent)
    (note,) = releases.still_pending()
    assert (note.code, "ACT023" in note.message, NAME in note.message) == ("STR007", True, True)


def test_one_stays_where_the_limits_are_used_up(stage: Stage) -> None:
    moves, warned = freed(stage, limits=Limits.model_validate({**WIDE, "movesPerHour": 1}))
    assert (moves, len(warned)) == (0, 1)


@pytest.mark.parametrize("status", [403, 404])
def test_one_that_the_api_server_refuses_to_evict_is_said_to_stay(
    stage: Stage, status: int
) -> None:
    process = Process(stage, "a")
    process.before = lambda _n, _m, path: status if path.endswith("/eviction") else None
    releases = releases_of(process, past(stage))
    releases.release_earlier(releases._actor.observe)
    releases.release()
    assert sum(path.endswith("/eviction") for _, path in process.sent) == 1, "it is asked once"
    (note,) = releases.still_pending()
    code = releases._sender.records.results[pod(stage)["metadata"]["uid"]].code
    assert note.code == "STR007"
    assert f"{NAME}: {code}: " in note.message


def test_where_one_was_refused_no_other_of_its_namespace_is_requested(stage: Stage) -> None:
    other = stage.world.add_pod("web-2-r1", "", owner=("ReplicaSet", "rs-2"), app="web-2")
    other["spec"]["affinity"] = pod(stage)["spec"]["affinity"]
    first = past(stage)
    second = structs.replace(
        first,
        podUid="uid-web-2",
        pod="web-2",
        workload="rs-2",
        controller="rs-2",
        replacement=other["metadata"]["uid"],
    )
    sent = {}
    for status in (403, 0):
        process = Process(stage, "a")
        if status:
            process.before = lambda _n, _m, path: 403 if path.endswith("/eviction") else None
        releases = releases_of(process, first, second)
        releases.release_earlier(releases._actor.observe)
        sent[status] = sum(path.endswith("/eviction") for _, path in process.sent)
        stage.seconds += 60
    assert sent == {403: 1, 0: 2}


def test_an_answer_that_never_came_ends_the_run(stage: Stage) -> None:
    def lost(_number: int, _method: str, path: str) -> str | None:
        return "lost" if path.endswith("/eviction") else None

    process = Process(stage, "a", before=lost)
    releases = releases_of(process, past(stage))
    with pytest.raises(Halted):
        releases.release_earlier(releases._actor.observe)
    stored: History = Process(stage, "reader").ledger.peek()
    assert [(move.frees, move.charged) for move in stored.moves] == [
        ("", True),
        ("uid-web-1", True),
    ], "its intent is kept until it is known"


def test_a_pod_that_was_tried_again_since_it_was_listed_is_released(stage: Stage) -> None:
    """It is meant as it was read last: that it was listed in an earlier version is no matter."""
    process = Process(stage, "a")
    reads: list[str] = []

    def tried_again(_number: int, method: str, path: str) -> None:
        if (method, path.endswith(f"/pods/{NAME}")) == ("GET", True):
            reads.append(path)
            stage.world.put("pods", "default", NAME, pod(stage))

    process.before = tried_again
    releases = releases_of(process, past(stage))
    releases.release_earlier(releases._actor.observe)
    assert reads
    assert [move.code for move in process.ledger.peek().moves if move.frees] == ["ACT001"]


def test_its_eviction_is_an_event_of_its_own(stage: Stage) -> None:
    """It is in no batch: with that of the move it would count as one pod of a gang with others."""
    process = Process(stage, "a")
    releases = releases_of(process, past(stage, batch=2))
    releases.release_earlier(releases._actor.observe)
    stored = process.ledger.peek().moves
    assert [(move.frees, move.batch) for move in stored] == [("", 2), ("uid-web-1", 0)]
