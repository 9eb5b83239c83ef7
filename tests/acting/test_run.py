"""Acting on a plan, on a stage with virtual time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.model.errors import PlanExpired
from rescheduler.model.moves.plan import BudgetUse, ClusterRef, LandingShare, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.runs import run, web
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import MAPS, WIDE, Process, Stage, warm

STATE = ("configmaps", "rescheduler", "rescheduler-state")


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def test_a_move_is_made_and_its_landing_told(stage: Stage) -> None:
    outcome, process = run(stage, planned(web(stage)))
    (move,) = outcome.moves
    assert outcome.verdict.code == "ACT013"
    assert (move.result, move.code, move.landedOn, move.predicted) == (
        "evicted",
        "ACT001",
        "spare",
        0.75,
    )
    assert move.readySeconds is not None
    assert 3 <= move.readySeconds <= 7
    assert outcome.started < outcome.finished
    assert exit_code(outcome) == 0
    assert process.announced == [("web-1", "evicted", "ACT001")] * 2
    (past,) = history(stage)
    assert (past.state, past.landedOn, past.source) == ("ready", "spare", "n1")
    assert not process.lease.held


def test_the_plan_itself_is_left_as_it_was(stage: Stage) -> None:
    plan = plan_of(stage.world, [planned(web(stage))])
    before = repr(plan)
    outcome = act(plan, Process(stage, "a").actor())
    assert repr(plan) == before
    assert outcome.plan is plan
    for made in (outcome, outcome.moves[0], plan, plan.moves[0]):
        with pytest.raises(AttributeError, match="immutable"):
            made.code = "ACT013"  # type: ignore[union-attr, misc]


def test_what_was_predicted_when_sent_is_reported_beside_the_plan(
    stage: Stage,
) -> None:
    now = [LandingShare(node="spare", probability=0.5), LandingShare(node="n9", probability=0.25)]
    process = Process(stage, "a")

    class Elsewhere:
        def guards(self) -> list[Problem]:
            return []

        def refuse_held(self, _: PlannedMove, /) -> None:
            return None

        def check(self, move: PlannedMove, _: Any, /) -> PlannedMove:
            return structs.replace(move, landing=now, unschedulable=0.25)

    actor = replace(process.actor(), recheck=lambda *_: Elsewhere())
    plan = plan_of(stage.world, [planned(web(stage))])
    (move,) = act(plan, actor).moves
    assert (move.landing, move.unschedulable, move.predicted) == (now, 0.25, 0.5)
    assert [share.probability for share in plan.moves[0].landing] == [0.75]
    (past,) = history(stage)
    assert past.landing == {"spare": 0.5, "n9": 0.25} or past.compared


def test_the_next_batch_begins_when_the_last_one_is_ready(stage: Stage) -> None:
    first, second = web(stage), web(stage, "api-1", "n2", "rs-2")
    times = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    outcome, _ = run(stage, planned(first), planned(second, batch=2))
    assert [move.result for move in outcome.moves] == ["evicted", "evicted"]
    assert times[1] - times[0] >= stage.world.ready_after


def test_evictions_of_a_batch_keep_their_distance(stage: Stage) -> None:
    times = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    run(stage, planned(web(stage)), planned(web(stage, "api-1", "n2", "rs-2")))
    assert 1 <= times[1] - times[0] < 2


def test_a_stateful_pod_is_followed_by_its_name(stage: Stage) -> None:
    pod = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "s-1"), app="db")
    outcome, _ = run(stage, planned(pod))
    assert outcome.moves[0].landedOn == "spare"
    assert history(stage)[0].replacement != pod["metadata"]["uid"]


def test_a_move_that_only_audit_policies_want_is_not_made(stage: Stage) -> None:
    outcome, _ = run(stage, planned(web(stage), mode="Audit"))
    assert outcome.moves[0].result == "skipped"
    assert stage.world.accepted == []
    assert exit_code(outcome) == 0


def test_a_replacement_that_came_back(stage: Stage) -> None:
    stage.world.place = lambda _: "n1"
    outcome, _ = run(stage, planned(web(stage)))
    assert (outcome.moves[0].code, outcome.moves[0].predicted) == ("ACT012", 0.0)
    assert history(stage)[0].boomerang


def test_a_lost_replacement_stops_the_run(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    moves = planned(web(stage)), planned(web(stage, "b", "n2", "rs-2"), batch=2)
    outcome, _ = run(stage, *moves, process=Process(stage, "a", missed=True))
    assert outcome.verdict.code == "GRD003"
    assert [(m.result, m.code) for m in outcome.moves] == [
        ("evicted", "ACT011"),
        ("skipped", "ACT010"),
    ]
    assert history(stage)[0].state == "lost"
    assert exit_code(outcome) == 3
    assert stage.seconds >= 300


def test_each_replacement_stands_for_one_move(stage: Stage) -> None:
    limits = Limits(**WIDE, inFlightPerWorkload=2)
    moves = [planned(web(stage)), planned(web(stage, "web-2", "n2"))]
    outcome, _ = run(stage, *moves, process=Process(stage, "a", limits=limits))
    assert outcome.verdict.code == "ACT013"
    assert len({past.replacement for past in history(stage)}) == 2


def test_two_moves_of_a_workload_are_never_in_flight_at_once(stage: Stage) -> None:
    outcome, _ = run(stage, planned(web(stage)), planned(web(stage, "web-2", "n2")))
    assert [(m.result, m.code) for m in outcome.moves] == [
        ("evicted", "ACT001"),
        ("refused", "ELG022"),
    ]


def test_the_hour_has_its_number_of_moves(stage: Stage) -> None:
    moves = [planned(web(stage, f"w{n}", "n1", f"rs-{n}"), batch=n) for n in range(3)]
    outcome, _ = run(
        stage, *moves, process=Process(stage, "a", limits=Limits(**WIDE, movesPerHour=2))
    )
    assert [move.result for move in outcome.moves] == ["evicted", "evicted", "refused"]
    assert outcome.moves[2].code == "PAC005"


def test_the_hour_may_be_a_share_of_what_runs(stage: Stage) -> None:
    moves = [planned(web(stage, f"w{n}", "n1", f"rs-{n}"), batch=n) for n in range(3)]
    limits = Limits(**WIDE, movesPerHour="67%")
    outcome, _ = run(stage, *moves, process=Process(stage, "a", limits=limits))
    assert [move.result for move in outcome.moves] == ["evicted", "evicted", "refused"]
    assert outcome.moves[2].code == "PAC005"
    assert "reach the limit of 2 (movesPerHour 67% of 3 pods)" in outcome.moves[2].message


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda pod: pod["metadata"].update(uid="fresh"), "ACT003"),
        (lambda pod: pod["metadata"].update(deletionTimestamp="2026-11-21T13:00:00Z"), "ACT002"),
        (lambda pod: pod["spec"].update(nodeName="n9"), "DRF001"),
        (lambda pod: pod["status"].update(phase="Pending"), "DRF001"),
        (lambda pod: pod["status"].update(conditions=[]), "DRF001"),
    ],
)
def test_a_pod_that_is_not_as_planned_is_left_alone(
    stage: Stage, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    pod = web(stage)
    move = planned(pod)
    change(pod)
    outcome, process = run(stage, move)
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", code)
    assert not any("eviction" in path for _, path in process.sent)
    assert exit_code(outcome) == 3


def test_what_the_check_on_the_fresh_snapshot_says_counts(stage: Stage) -> None:
    process = Process(stage, "a")
    process.objection = lambda *_: Problem(code="DRF004", message="no gain any more")
    outcome, _ = run(stage, planned(web(stage)), process=process)
    assert (outcome.moves[0].code, outcome.moves[0].message) == ("DRF004", "no gain any more")
    assert stage.world.accepted == []


def emptied(stage: Stage, name: str, **status: int) -> Callable[[int, str, str], None]:
    """A hook that changes a budget's status right before the eviction, after all was read."""

    def change(_: int, _method: str, path: str) -> None:
        if "eviction" in path:
            budget = stage.world.objects["poddisruptionbudgets", "default", name]
            budget["status"] |= status

    return change


def test_an_empty_budget_is_not_asked_twice(stage: Stage) -> None:
    stage.world.add_budget("tight", "rs-1", allowed=1)
    use = BudgetUse(name="tight", allowed=1)
    moves = [planned(web(stage, f"w{n}", "n1"), batch=n, budget=use) for n in range(2)]
    process = Process(stage, "a", before=emptied(stage, "tight", disruptionsAllowed=0))
    outcome, process = run(stage, *moves, process=process)
    assert [move.code for move in outcome.moves] == ["ACT004", "ACT004"]
    assert sum("eviction" in path for _, path in process.sent) == 1
    assert all(not past.charged for past in history(stage))


def test_a_lagging_budget_is_asked_once_more_after_its_time(stage: Stage) -> None:
    stage.world.add_budget("b", "rs-1", allowed=1)
    metadata = stage.world.objects["poddisruptionbudgets", "default", "b"]["metadata"]

    def lag(_: int, _method: str, path: str) -> None:
        metadata["generation"] = 2 if "eviction" in path and stage.seconds < 5 else 1

    outcome, process = run(stage, planned(web(stage)), process=Process(stage, "a", before=lag))
    assert outcome.moves[0].result == "evicted"
    assert sum("eviction" in path for _, path in process.sent) == 2


def test_a_server_that_asks_everybody_to_wait_ends_the_run(stage: Stage) -> None:
    process = Process(stage, "a", before=lambda _, __, p: 429 if "eviction" in p else None)
    moves = [planned(web(stage)), planned(web(stage, "b", "n2", "rs-2"))]
    outcome, _ = run(stage, *moves, process=process)
    assert outcome.verdict.code == "ACT005"
    assert [move.result for move in outcome.moves] == ["refused", "skipped"]


def test_a_lost_reply_is_resolved_by_uid(stage: Stage) -> None:
    process = Process(stage, "a", after=lambda _, __, p: "lost" if "eviction" in p else None)
    outcome, _ = run(stage, planned(web(stage)), process=process)
    assert (outcome.moves[0].result, outcome.moves[0].landedOn) == ("evicted", "spare")
    assert sum("eviction" in path for _, path in process.sent) == 1


def test_an_unknown_outcome_stays_charged_and_ends_the_run(stage: Stage) -> None:
    process = Process(stage, "a", before=lambda _, __, p: "lost" if "eviction" in p else None)
    moves = [planned(web(stage)), planned(web(stage, "b", "n2", "rs-2"))]
    outcome, _ = run(stage, *moves, process=process)
    assert outcome.verdict.code == "ACT009"
    assert [move.result for move in outcome.moves] == ["unknown", "skipped"]
    assert exit_code(outcome) == 3
    (past,) = history(stage)
    assert (past.state, past.charged) == ("intended", True)
    stage.seconds += 200
    run(stage, process=Process(stage, "b"))
    assert history(stage)[0].state == "refused"


def test_an_answer_of_long_ago_does_not_show_that_it_was_evicted(stage: Stage) -> None:
    """A cache that lags shows the pod that had the name before."""
    pod = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "s"), app="db")
    metadata = pod["metadata"]
    before = {**metadata, "uid": "earlier", "creationTimestamp": "2026-11-01T12:00:00Z"}
    process = Process(stage, "a")

    def lags_once(_number: int, _method: str, path: str) -> str | None:
        lagging = bool(process.sent) and "eviction" in process.sent[-1][1]
        pod["metadata"] = before if lagging else metadata
        return "lost" if "eviction" in path else None

    process.before = lags_once
    outcome, _ = run(stage, planned(pod), process=process)
    assert (outcome.moves[0].result, outcome.verdict.code) == ("unknown", "ACT009")
    assert [(past.state, past.charged) for past in history(stage)] == [("intended", True)]


def test_paused_before_it_starts(stage: Stage) -> None:
    web_pod = web(stage)
    run(stage)
    stored = stage.world.objects[STATE]
    stage.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})
    outcome, _ = run(stage, planned(web_pod))
    assert outcome.verdict.code == "GRD006"
    assert stage.world.accepted == []
    assert exit_code(outcome) == 0


def test_paused_while_the_intent_is_written(stage: Stage) -> None:
    pod = web(stage)

    def pause(_: int, method: str, path: str) -> None:
        stored = stage.world.objects.get(STATE)
        intends = method == "GET" and path.endswith("pods/web-1")
        if intends and stored is not None:
            stage.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})

    outcome, _ = run(stage, planned(pod), process=Process(stage, "a", before=pause))
    assert outcome.verdict.code == "GRD006"
    assert stage.world.accepted == []
    assert [past.state for past in history(stage)] == ["refused"]


def test_stopped_while_waiting(stage: Stage) -> None:
    process = Process(stage, "a")
    stage.world.on_accept = lambda *_: setattr(process, "stopped", "SIGTERM was received")
    moves = [planned(web(stage)), planned(web(stage, "b", "n2", "rs-2"), batch=2)]
    outcome, _ = run(stage, *moves, process=process)
    assert outcome.verdict == Problem(
        code="ACT014",
        message="The run was stopped, or its time was up. SIGTERM was received; "
        "replacements pending: default/web-1.",
    )
    assert exit_code(outcome) == 3
    assert outcome.moves[0].result == "evicted"
    assert "still pending" in outcome.moves[0].message
    assert len(stage.world.accepted) == 1
    assert history(stage)[0].in_flight
    # The next run has not seen yet that the replacement stays; the one after it has.
    for state in ("evicted", "ready"):
        stage.seconds += 60
        run(stage, process=Process(stage, f"b{state}"))
        assert history(stage)[0].state == state


def test_somebody_else_holds_the_lock(stage: Stage) -> None:
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    b.before = lambda *_: (a.lease.renew(), None)[1]
    outcome, _ = run(stage, planned(web(stage)), process=b)
    assert outcome.verdict.code == "GRD005"
    assert exit_code(outcome) == 0
    assert stage.world.accepted == []


def test_a_lost_ledger_evicts_nothing(stage: Stage) -> None:
    pod = web(stage)
    run(stage)
    del stage.world.objects[STATE]
    outcome, _ = run(stage, planned(pod), process=Process(stage, "b"))
    assert outcome.verdict.code == "GRD004"
    assert exit_code(outcome) == 1
    assert stage.world.accepted == []


def test_an_intent_that_cannot_be_stored_evicts_nothing(stage: Stage) -> None:
    pod = web(stage)
    run(stage)
    process = Process(stage, "b")
    process.before = lambda _, method, path: (
        "lost"
        if MAPS in path and ("GET", "/api/v1/namespaces/default/pods/web-1") in process.sent
        else None
    )
    outcome, _ = run(stage, planned(pod), process=process)
    assert outcome.verdict.code == "ACT016"
    assert stage.world.accepted == []


def test_an_expired_plan_and_a_foreign_cluster(stage: Stage) -> None:
    plan = plan_of(stage.world, [planned(web(stage))])
    stage.seconds += 1801
    process = Process(stage, "a")
    with pytest.raises(PlanExpired, match="abc123 expired at 2026-11-21 12:30:00 UTC"):
        act(plan, process.actor())
    assert not process.lease.held
    foreign = structs.replace(
        plan, expires=plan.expires + timedelta(hours=1), cluster=ClusterRef(uid="another")
    )
    outcome = act(foreign, Process(stage, "b").actor())
    assert outcome.verdict.code == "ACT016"
    assert stage.world.accepted == []
