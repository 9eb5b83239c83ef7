"""Landings that are not as predicted hold their kind of pods, until a person lets it go on."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.model.moves.calibration import LandingRecord, WorkloadLandings
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import (
    LandingShare,
    Outcome,
    Plan,
    PlannedMove,
    Report,
)
from rescheduler.model.moves.plan_basis import Calibration
from rescheduler.policies.limits import Limits
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.cluster import NOW
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage, warm
from tests.fakes.truth import STATE
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import parts

LIMITS = Limits(**WIDE, minLandingSample=3, movesPerHour=100)


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage, number: int) -> dict[str, Any]:
    return stage.world.add_pod(f"web-{number}", "n1", owner=("ReplicaSet", f"rs-{number}"), app="a")


def moves(stage: Stage, count: int, first: int = 0) -> list[PlannedMove]:
    """Moves in batches of one, which all are to land on node spare."""
    landing = [LandingShare(node="spare", probability=1.0)]
    return [
        planned(web(stage, number), batch=number + 1, landing=landing, returns=0.0)
        for number in range(first, first + count)
    ]


def run(stage: Stage, made: list[PlannedMove], limits: Limits = LIMITS) -> Outcome:
    return act(
        plan_of(stage.world, made), Process(stage, f"p{stage.seconds}", limits=limits).actor()
    )


def of(plan: Report) -> Calibration:
    assert plan.calibration is not None
    return plan.calibration


def test_an_outcome_reports_how_landings_compared(stage: Stage) -> None:
    outcome = run(stage, moves(stage, 2))
    rates = of(outcome).overall
    assert rates is not None
    assert (rates.compared, rates.hitRate, rates.likeliestRate, rates.brier) == (2, 1.0, 1.0, 0.0)
    assert of(outcome).problem is None


def test_a_kind_stays_as_soon_as_too_many_of_it_landed_elsewhere(stage: Stage) -> None:
    stage.world.place = lambda _: "n7"
    stage.world.ready_after = 1.0
    pod = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "db"), app="db")
    landing = [LandingShare(node="n7", probability=1.0)]
    other = planned(pod, batch=9, landing=landing, returns=0.0)
    outcome = run(stage, [*moves(stage, 5), other])
    assert outcome.verdict.code == "ACT013"
    assert [move.result for move in outcome.moves] == [
        *["evicted"] * 3,
        *["refused"] * 2,
        "evicted",
    ]
    assert outcome.moves[3].code == "ELG039"
    assert "0% landed where that was predicted" in outcome.moves[3].message
    assert exit_code(outcome) == 3
    problem = of(outcome).problem
    assert problem is not None
    assert problem.code == "GRD009"


def test_the_next_run_moves_none_of_that_kind(stage: Stage) -> None:
    stage.world.place = lambda _: "n7"
    run(stage, moves(stage, 3))
    outcome = run(stage, moves(stage, 1, first=5))
    assert outcome.moves[0].code == "ELG039"
    assert exit_code(outcome) == 3, "somebody has to find out why"
    assert len(stage.world.accepted) == 3


def test_a_person_lets_it_go_on(stage: Stage) -> None:
    stage.world.place = lambda _: "n7"
    run(stage, moves(stage, 3))
    stored = stage.world.objects[STATE]
    stage.world.put(*STATE, {**stored, "data": {**stored["data"], "landings": "forget"}})
    stage.world.place = lambda _: "spare"
    outcome = run(stage, moves(stage, 4, first=5))
    assert outcome.verdict.code == "ACT013"
    assert of(outcome).overall is not None
    assert stage.world.objects[STATE]["data"] == {
        key: value for key, value in stored["data"].items() if key != "checksum"
    } | {"checksum": stage.world.objects[STATE]["data"]["checksum"]}


def test_a_lower_limit_lets_it_go_on(stage: Stage) -> None:
    stage.world.place = lambda _: "n7"
    run(stage, moves(stage, 3))
    easy = Limits(**WIDE, minLandingSample=3, movesPerHour=100, minLandingHitRate=0.0)
    assert run(stage, moves(stage, 1, first=5), easy).verdict.code == "ACT013"


def test_a_run_that_was_killed_loses_no_comparison(stage: Stage) -> None:
    stage.world.ready_after = 1e9
    first = Process(stage, "a", limits=LIMITS)
    process = first
    process.before = lambda *_: _stop_when_evicted(process)
    act(plan_of(stage.world, moves(stage, 1)), first.actor())
    stage.seconds += 60
    outcome = run(stage, [])
    rates = of(outcome).overall
    assert rates is not None
    assert rates.compared == 1


def _stop_when_evicted(process: Process) -> None:
    if process.stage.world.accepted:
        process.stopped = "SIGTERM"


def distrusted() -> History:
    record = LandingRecord(kind="ReplicaSet", version="1.36", compared=40, weight=36.0, within=9.0)
    for number in range(40):
        record.workloads[str(number)] = WorkloadLandings("default", NOW, 0.25)
    return History(landings=[record])


def test_audit_says_what_would_not_be_evicted() -> None:
    plan = run_cycle(parts(recall=lambda: (distrusted(), [])))
    assert isinstance(plan, Plan)
    assert plan.totals.refused["ELG039"]
    problem = of(plan).problem
    assert problem is not None
    assert problem.code == "GRD009"


def test_metrics_report_each_kind_and_version() -> None:
    telemetry = Telemetry()
    plan = run_cycle(parts(recall=lambda: (distrusted(), [])))
    telemetry.observe(plan)
    found = lines(telemetry)
    where = '{kind="ReplicaSet",version="1.36"}'
    assert found[f"rescheduler_landing_compared{where}"] == 40
    assert found[f"rescheduler_landing_hit_ratio{where}"] == 0.25
    assert found[f"rescheduler_landing_brier_score{where}"] == 0
    assert found['rescheduler_guard_holding{guard="GRD009"}'] == 1
    telemetry.observe(structs.replace(plan, calibration=None, guards=[]))
    found = lines(telemetry)
    assert f"rescheduler_landing_compared{where}" not in found
    assert found['rescheduler_guard_holding{guard="GRD009"}'] == 0
