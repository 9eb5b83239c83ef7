"""Right before an eviction all that it hangs on is read again, and none of it may be old."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.changes import (
    BEGUN,
    OPT_OUT,
    OWNER,
    Change,
    after_the_snapshot,
    gone,
    on,
    run,
    web,
)
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage, warm
from tests.fakes.truth import STATE
from tests.fakes.world import World


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def crash_a_sibling(world: World) -> None:
    world.crash(world.objects["pods", "default", "web-2"])


LEAVING = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
NOT_READY = [{"type": "Ready", "status": "Unknown"}]


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("DRF005", on("nodes", "", "n1", spec={"unschedulable": True})),
        ("DRF005", on("nodes", "", "n1", spec={"taints": LEAVING})),
        ("DRF005", on("nodes", "", "n1", status={"conditions": NOT_READY})),
        ("DRF005", on("nodes", "", "n1", metadata=BEGUN)),
        ("DRF005", gone("nodes", "", "n1")),
        ("DRF006", on(*OWNER, metadata={"generation": 2})),
        ("DRF006", on(*OWNER, spec={"paused": True})),
        ("ELG024", crash_a_sibling),
        ("ELG024", on(*OWNER, spec={"selector": {}})),
        ("ELG015", on(*OWNER, metadata={"uid": "another"})),
        ("ELG015", gone(*OWNER)),
        ("ELG013", on(*OWNER, spec={"replicas": 5})),
        ("ELG015", on(*OWNER, metadata=BEGUN)),
        ("ELG011", on(*OWNER, metadata=OPT_OUT)),
        ("ELG011", on("pods", "default", "web-1", metadata=OPT_OUT)),
        ("ELG011", on("namespaces", "", "default", metadata=OPT_OUT)),
        ("DRF007", on("namespaces", "", "default", metadata=BEGUN)),
        ("ELG009", on("pods", "default", "web-1", spec={"priority": 2_000_000_000})),
        ("ELG013", lambda world: world.add_autoscaler(OWNER, current=2, desired=3)),
        ("DRF007", lambda world: world.add_budget("b", "rs-1", allowed=0)),
        (
            "DRF007",
            lambda world: [world.add_budget(name, "rs-1", allowed=1) for name in ("b", "c")],
        ),
    ],
)
def test_what_has_changed_since_the_snapshot_is_seen(
    stage: Stage, code: str, change: Change
) -> None:
    web(stage, "web-2", "n2")
    process = after_the_snapshot(stage, change)
    outcome = run(stage, planned(web(stage)), process=process)
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", code)
    assert stage.world.accepted == []
    assert not any("eviction" in path for _, path in process.sent)
    assert not any(past.charged for past in process.ledger.peek().moves)
    assert exit_code(outcome) == 3
    assert exit_code(outcome, applying=True) == 5


def test_what_cannot_be_understood_any_more_lets_nothing_be_evicted(stage: Stage) -> None:
    odd = {"spec": {"scaleTargetRef": "web"}}
    process = after_the_snapshot(
        stage, lambda world: world.put("horizontalpodautoscalers", "default", "odd", odd)
    )
    outcome = run(stage, planned(web(stage)), process=process)
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "DAT001")
    assert stage.world.accepted == []
    assert exit_code(outcome) == 3


def test_a_budget_that_lags_behind_its_spec_is_not_asked(stage: Stage) -> None:
    stage.world.add_budget("b", "rs-1", allowed=1)
    lag = on("poddisruptionbudgets", "default", "b", metadata={"generation": 2})
    outcome = run(stage, planned(web(stage)), process=after_the_snapshot(stage, lag))
    assert outcome.moves[0].code == "DRF007"
    assert "BUD003" in outcome.moves[0].message


def test_nothing_else_has_to_be_read_again(stage: Stage) -> None:
    web(stage, "web-2", "n2")
    process = Process(stage, "a")
    run(stage, planned(web(stage)), process=process)
    paths = [path for _, path in process.sent]
    evicted = next(n for n, path in enumerate(paths) if "eviction" in path)
    assert paths[evicted - 9 : evicted] == [
        "/api/v1/namespaces/default/pods/web-1",
        "/apis/apps/v1/namespaces/default/replicasets/rs-1",
        "/api/v1/namespaces/default",
        "/api/v1/nodes/n1",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        "/api/v1/namespaces/default/pods?labelSelector=app%3Drs-1",
        "/api/v1/namespaces/rescheduler/configmaps/rescheduler-state",
        "/apis/coordination.k8s.io/v1/namespaces/rescheduler/leases/rescheduler",
    ]


@pytest.mark.parametrize("seconds", [4.0, 6.0])
@pytest.mark.parametrize("where", ["/nodes/", "configmaps/rescheduler-state"])
def test_nothing_older_than_five_seconds_is_acted_on(
    stage: Stage, seconds: float, where: str
) -> None:
    pod = web(stage)
    process = Process(stage, "a")

    def slow(_: int, _method: str, path: str) -> None:
        begun = any(path.endswith("/pods/web-1") for _, path in process.sent)
        if begun and where in path and not stage.world.accepted:
            stage.seconds += seconds

    process.before = slow
    outcome = run(stage, planned(pod), process=process)
    if seconds < 5:
        assert len(stage.world.accepted) == 1
        return
    assert stage.world.accepted == []
    if where == "/nodes/":
        assert "took 6.1 s to read" in outcome.moves[0].message
        assert (outcome.moves[0].code, process.ledger.peek().moves) == ("ACT024", [])
        return
    assert outcome.verdict.code == "ACT016"
    assert "read 6.1 s ago" in outcome.verdict.message or "read 6.2 s" in outcome.verdict.message
    (past,) = process.ledger.peek().moves
    assert (past.state, past.earlierPods, past.selector) == ("refused", [], "")
    assert exit_code(outcome) == 1


@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize(
    "where",
    ["/nodes/", "replicasets/", "poddisruptionbudgets", "horizontalpod", "namespaces/default", "?"],
)
def test_what_cannot_be_read_again_lets_nothing_be_evicted(
    stage: Stage, where: str, status: int
) -> None:
    pod = web(stage)
    process = Process(stage, "a")

    def fail(_: int, method: str, path: str) -> int | None:
        begun = any(path.endswith("/pods/web-1") for _, path in process.sent)
        hit = path.endswith(where) if where == "namespaces/default" else where in path
        return status if begun and method == "GET" and hit else None

    process.before = fail
    outcome = run(stage, planned(pod), process=process)
    assert stage.world.accepted == []
    # What is refused is about this pod; others may be read.
    expected = ("ACT013", "ACT024", 3) if status == 403 else ("ACT016", "ACT010", 1)
    assert (outcome.verdict.code, outcome.moves[0].code, exit_code(outcome)) == expected


def test_the_kill_switch_is_read_with_the_intent(stage: Stage) -> None:
    pods = [web(stage), web(stage, "api-1", "n2", "rs-2")]
    run(stage)

    def pause(pod: dict[str, Any], _: Any) -> None:
        stored = stage.world.objects[STATE]
        stage.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})

    stage.world.on_accept = pause
    outcome = run(stage, *(planned(pod) for pod in pods), process=Process(stage, "b"))
    assert outcome.verdict.code == "GRD006"
    assert len(stage.world.accepted) == 1


def test_nothing_is_intended_where_nothing_may_be_sent(stage: Stage) -> None:
    process = Process(stage, "a")

    def stop(*_: Any) -> None:
        process.stopped = "SIGTERM was received"

    process.objection = stop
    outcome = run(stage, planned(web(stage)), process=process)
    assert outcome.verdict.code == "ACT014"
    assert process.ledger.peek().moves == []
    assert not any(path.endswith("/pods/web-1") for _, path in process.sent)


def test_a_namespace_that_forbids_evictions_is_asked_once(stage: Stage) -> None:
    process = Process(stage, "a", before=lambda _, __, p: 403 if "eviction" in p else None)
    moves = [planned(web(stage, f"w{n}", "n1", f"rs-{n}")) for n in range(3)]
    outcome = run(stage, *moves, process=process)
    assert [move.code for move in outcome.moves] == ["ACT007"] * 3
    assert sum("eviction" in path for _, path in process.sent) == 1


def test_no_batch_is_begun_after_a_signal(stage: Stage) -> None:
    process = Process(stage, "a")
    settled: list[str] = []

    def announce(move: PlannedMove, became: Any, _: str) -> None:
        if became.landedOn:
            settled.append(move.pod.name)
            process.stopped = "SIGTERM was received"

    moves = [planned(web(stage)), planned(web(stage, "api-1", "n2", "rs-2"), batch=2)]
    outcome = act(plan_of(stage.world, moves), replace(process.actor(), announce=announce))
    assert settled == ["web-1"]
    assert outcome.verdict.code == "ACT014"
    assert process.observed == 1
    assert len(stage.world.accepted) == 1
    assert exit_code(outcome) == 3


def test_a_controller_with_too_many_pods_to_tell_apart_is_left_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rescheduler.planning.gates.replacement.MOST_KNOWN", 2)
    for name in ("web-2", "web-3"):
        web(stage, name)
    outcome = run(stage, planned(web(stage)))
    assert outcome.moves[0].code == "DRF006"


def test_a_sibling_that_we_await_ourselves_is_not_missing(stage: Stage) -> None:
    limits = Limits(**WIDE, inFlightPerWorkload=2)
    moves = [planned(web(stage)), planned(web(stage, "web-2", "n2"))]
    outcome = run(stage, *moves, process=Process(stage, "a", limits=limits))
    assert [move.code for move in outcome.moves] == ["ACT001", "ACT001"]


def test_one_whose_replacement_is_ready_already_hides_no_missing_sibling(stage: Stage) -> None:
    limits = Limits(**WIDE, inFlightPerWorkload=2)
    stage.world.ready_after = 0.0
    web(stage, "web-3", "n3")
    process = Process(stage, "a", limits=limits)

    def crash(_: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("/pods/web-2"):
            stage.world.crash(stage.world.objects["pods", "default", "web-3"])

    process.before = crash
    moves = [planned(web(stage)), planned(web(stage, "web-2", "n2"))]
    outcome = run(stage, *moves, process=process)
    assert [move.code for move in outcome.moves] == ["ACT001", "ELG024"]


def test_a_guard_that_holds_on_the_batchs_own_snapshot_ends_the_run(stage: Stage) -> None:
    process = Process(stage, "a")
    held = Problem(code="GRD002", message="2 of 4 nodes are not Ready")
    process.guarding = lambda: [held] if process.observed > 1 else []
    moves = [planned(web(stage)), planned(web(stage, "api-1", "n2", "rs-2"), batch=2)]
    outcome = run(stage, *moves, process=process)
    assert outcome.verdict.code == "GRD002"
    assert held.message in outcome.verdict.message
    assert [move.result for move in outcome.moves] == ["evicted", "skipped"]
    assert exit_code(outcome) == 3


@pytest.mark.parametrize("moment", ["planning", "acting", "awaiting"])
def test_a_lost_lock_is_not_taken_again(stage: Stage, moment: str) -> None:
    process, pods = Process(stage, "a"), [web(stage), web(stage, "api-1", "n2", "rs-2")]
    moves = [planned(pod, batch=n) for n, pod in enumerate(pods)]
    plan = plan_of(stage.world, moves, expires=timedelta(hours=9))
    process.lease.acquire()
    process.lease.start()
    process.ledger.open()
    fence = process.ledger.fence

    def lose(*_: Any) -> None:
        process.lease.renew_at = None
        stage.seconds += 100

    if moment == "planning":
        lose()
    elif moment == "acting":
        process.objection = lose
    else:
        stage.world.on_accept = lose
    outcome = act(plan, process.actor(), fence=fence)
    assert outcome.verdict.code == "ACT015"
    assert len(stage.world.accepted) == (moment == "awaiting")
    assert stage.seconds < 105, "nothing is awaited any more"
    assert not process.lease.held
    assert exit_code(outcome) == 1


def test_another_turn_of_the_lock_is_not_the_one_of_the_plan(stage: Stage) -> None:
    process, other = Process(stage, "a"), Process(stage, "b")
    pod = web(stage)
    process.lease.acquire()
    process.ledger.open()
    stage.seconds += 100
    other.lease.acquire()
    other.ledger.open()
    other.lease.release()
    process.lease.acquire()
    fence = process.ledger.fence
    # Whether the ledger was opened in the new turn or not: the plan is one of the old turn.
    for _ in range(2):
        outcome = act(plan_of(stage.world, [planned(pod)]), process.actor(), fence=fence)
        assert outcome.verdict.code == "ACT015"
        assert stage.world.accepted == []
        process.ledger.open()


def test_pods_that_no_selector_lists_could_not_be_followed(stage: Stage) -> None:
    pod = web(stage)
    process = after_the_snapshot(stage, on(*OWNER, spec={"selector": {}}))
    outcome = run(stage, planned(pod), process=process)
    assert outcome.moves[0].code == "DRF006"
    assert "selector" in outcome.moves[0].message
    assert not any("eviction" in path for _, path in process.sent)


def test_nothing_is_read_for_a_workload_with_enough_in_flight(stage: Stage) -> None:
    moves = [planned(web(stage)), planned(web(stage, "web-2", "n2"))]
    process = Process(stage, "a")
    outcome = run(stage, *moves, process=process)
    assert [move.code for move in outcome.moves] == ["ACT001", "ELG022"]
    assert not any(path.endswith("/pods/web-2") for _, path in process.sent)


def test_a_pod_whose_eviction_may_be_under_way_is_not_asked_for_again(stage: Stage) -> None:
    move = planned(web(stage))
    lost = Process(stage, "a", before=lambda _, __, p: "lost" if "eviction" in p else None)
    assert run(stage, move, process=lost).verdict.code == "ACT009"
    process = Process(stage, "b", limits=Limits(**WIDE, inFlightPerWorkload=2))
    (refused,) = run(stage, move, process=process).moves
    assert refused.code == "ELG022"
    assert "was evicted before" in refused.message
    assert not any("eviction" in path for _, path in process.sent)
