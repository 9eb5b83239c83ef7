"""Acting on pods that crash-loop: within budgets, awaited, reported, and nobody is held up."""

from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import Process, Stage, warm

LIMITS = Limits(crashLooping="Allow", minReplicas=1)


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def crashing(stage: Stage, name: str = "web-1", rs: str = "rs-1") -> dict[str, Any]:
    return stage.world.crash(stage.world.add_pod(name, "n1", owner=("ReplicaSet", rs), app=rs))


def sound(stage: Stage, name: str = "api-1", rs: str = "rs-2") -> dict[str, Any]:
    return stage.world.add_pod(name, "n2", owner=("ReplicaSet", rs), app=rs)


def leaving(pod: dict[str, Any], **more: Any) -> PlannedMove:
    return planned(pod, crashLooping=True, **more)


def run(stage: Stage, *moves: PlannedMove) -> Outcome:
    return act(plan_of(stage.world, moves), Process(stage, "a", limits=LIMITS).actor())


def test_it_is_moved_to_where_it_becomes_ready(stage: Stage) -> None:
    outcome = run(stage, leaving(crashing(stage)))
    (move,) = outcome.moves
    assert (move.result, move.code, move.landedOn) == ("evicted", "ACT001", "spare")
    assert move.readySeconds is not None
    assert 3 <= move.readySeconds <= 7
    (past,) = history(stage)
    assert (past.state, past.crashLooping) == ("ready", True)
    # Ready for a moment is not enough for a pod that crash-loops: it was watched for a while.
    assert stage.seconds >= LIMITS.minReadyTime.total_seconds()
    assert exit_code(outcome) == 0


def test_where_it_crash_loops_too_the_next_batch_goes_on(stage: Stage) -> None:
    stage.world.sound = lambda pod: pod["metadata"]["labels"]["app"] != "rs-1"
    times: list[float] = []
    stage.world.on_accept = lambda *_: times.append(stage.seconds)
    outcome = run(stage, leaving(crashing(stage)), planned(sound(stage), batch=2))
    assert outcome.verdict.code == "ACT013"
    assert [(m.result, m.code) for m in outcome.moves] == [
        ("evicted", "ACT017"),
        ("evicted", "ACT001"),
    ]
    assert times[1] - times[0] >= LIMITS.readyTimeout.total_seconds()
    first, second = history(stage)
    assert (first.state, first.landedOn, first.no_worse) == ("lost", "spare", True)
    assert (second.state, second.crashLooping) == ("ready", False)
    assert exit_code(outcome) == 3


def test_a_replacement_that_is_ready_only_for_a_moment_is_no_success(stage: Stage) -> None:
    limits = LIMITS.model_copy(update={"minReadyTime": LIMITS.readyTimeout / 2})
    pod = crashing(stage)
    process = Process(stage, "a", limits=limits)

    def relapse(_number: int, method: str, path: str) -> None:
        if method == "GET" and "/pods?" in path and stage.seconds > 60:
            for (kind, _, _), manifest in stage.world.objects.items():
                if kind == "pods" and manifest["metadata"]["uid"] != pod["metadata"]["uid"]:
                    stage.world.crash(manifest)

    process.before = relapse
    outcome = act(plan_of(stage.world, [leaving(pod)]), process.actor())
    assert outcome.moves[0].code == "ACT017"


def test_a_long_ready_time_is_waited_for_after_the_timeout(stage: Stage) -> None:
    limits = LIMITS.model_copy(update={"minReadyTime": LIMITS.readyTimeout * 2})
    process = Process(stage, "a", limits=limits)
    outcome = act(plan_of(stage.world, [leaving(crashing(stage))]), process.actor())
    assert outcome.moves[0].code == "ACT001"
    timeout = LIMITS.readyTimeout.total_seconds()
    assert 2 * timeout <= stage.seconds < 3 * timeout


def test_one_that_is_not_even_placed_stops_the_run(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    plan = plan_of(stage.world, [leaving(crashing(stage)), planned(sound(stage), batch=2)])
    outcome = act(plan, Process(stage, "a", limits=LIMITS, missed=True).actor())
    assert outcome.verdict.code == "GRD003"
    assert [m.code for m in outcome.moves] == ["ACT011", "ACT010"]


def test_one_that_has_recovered_is_left_alone(stage: Stage) -> None:
    outcome = run(stage, leaving(sound(stage)))
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "DRF001")
    assert stage.world.accepted == []


def test_one_that_began_to_crash_loop_after_the_plan_is_left_alone(stage: Stage) -> None:
    outcome = run(stage, planned(crashing(stage)))
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "DRF001")
    assert stage.world.accepted == []


@pytest.mark.parametrize(
    ("policy", "healthy", "evicted"),
    [("AlwaysAllow", 0, True), ("IfHealthyBudget", 2, True), ("IfHealthyBudget", 1, False)],
)
def test_its_budget_lets_it_go_as_it_says(
    stage: Stage, policy: str, healthy: int, evicted: bool
) -> None:
    stage.world.add_budget("web", "rs-1", allowed=0)
    budget = stage.world.objects["poddisruptionbudgets", "default", "web"]
    budget["spec"]["unhealthyPodEvictionPolicy"] = policy
    budget["status"] |= {"currentHealthy": healthy, "desiredHealthy": 2}
    left: list[int] = []
    stage.world.on_accept = lambda *_: left.append(budget["status"]["disruptionsAllowed"])
    outcome = run(stage, leaving(crashing(stage)))
    assert outcome.moves[0].code == ("ACT001" if evicted else "DRF007")
    # Of a budget that lets it go nothing is spent.
    assert left == [0] * evicted
