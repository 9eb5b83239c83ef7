"""Metrics are there from the start, follow the plans, and never name a pod or a node."""

import re
from math import isnan

import pytest
from msgspec import structs

from rescheduler import __version__
from rescheduler.model.moves.plan import Mode, MoveResult, Outcome, Plan, Result
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import hot, parts, skewed, spread


def test_counters_exist_before_anything_was_counted() -> None:
    found = lines(Telemetry())
    assert found['rescheduler_cycles_total{verdict="failed"}'] == 0
    assert found['rescheduler_reverted_moves_total{reason="ACT012"}'] == 0
    assert found['rescheduler_cycle_duration_seconds_count{phase="act"}'] == 0


def test_an_instance_that_stands_by_has_no_time_of_its_last_success() -> None:
    name, telemetry = "rescheduler_cycle_last_success_timestamp_seconds", Telemetry()
    telemetry.lead()
    assert isnan(lines(telemetry)[name]), "there was none"
    telemetry.count_cycle("good")
    assert lines(telemetry)[name] > 0
    telemetry.stand_by()
    assert isnan(lines(telemetry)[name])
    assert lines(telemetry)["rescheduler_leading"] == 0


@pytest.mark.parametrize("mode", ["Audit", "Enforce"])
def test_mode_is_the_mode_of_the_run_and_nothing_else(mode: Mode) -> None:
    telemetry = Telemetry(mode)
    telemetry.observe(run_cycle(parts(policies=lambda: policy_set([spread(), hot()]))))
    found = lines(telemetry)
    assert found[f'rescheduler_info{{mode="{mode}",version="{__version__}"}}'] == 1
    assert [name for name in found if "mode=" in name.replace("policy_mode=", "")] == [
        f'rescheduler_info{{mode="{mode}",version="{__version__}"}}'
    ]


def test_the_process_is_reported_and_times_of_creation_are_not() -> None:
    found = lines(Telemetry())
    assert found["process_resident_memory_bytes"] > 0
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_start_time_seconds"] > 0
    assert not [name for name in found if "_created" in name]


def test_only_the_cause_of_the_last_cycle_is_shown() -> None:
    telemetry = Telemetry()
    shown = []
    for code in ("GRD006", "ACT013", ""):
        telemetry.observe_cause(code)
        shown.append([line for line in lines(telemetry) if "cycle_cause" in line])
    assert shown == [[f'rescheduler_cycle_cause{{code="{c}"}}'] for c in ("GRD006", "ACT013")] + [
        []
    ]


def test_messages_are_counted_by_receiver_and_what_became_of_them() -> None:
    telemetry = Telemetry()
    for _ in range(2):
        telemetry.count_notification("team", "Hold", "failed")
    labels = 'occasion="Hold",receiver="team",result="failed"'
    assert lines(telemetry)[f"rescheduler_notifications_total{{{labels}}}"] == 2


def test_a_plan_shows_its_figures_and_takes_the_old_ones_away() -> None:
    telemetry = Telemetry()
    plan = run_cycle(parts(policies=lambda: policy_set([spread(), hot()])))
    assert isinstance(plan, Plan)
    telemetry.observe(plan)
    found = lines(telemetry)
    assert found['rescheduler_policy_cost{kind="Spread",policy="zones",policy_mode="Enforce"}'] == 2
    assert not any('policy="hot"' in name and "cost" in name for name in found), "not evaluated"
    assert isnan(found["rescheduler_score"]), "of a part only it would look like good news"
    assert found['rescheduler_policy_evaluated{policy="hot"}'] == 0
    assert found['rescheduler_policy_evaluated{policy="zones"}'] == 1
    assert found['rescheduler_planned_moves{policy_mode="Enforce"}'] == len(plan.moves) > 0
    assert found['rescheduler_refused{reason="PAC002"}'] == plan.totals.refused["PAC002"]
    moves = 'rescheduler_moves_total{outcome="evicted",policy="zones"}'
    assert found[moves] == 0, "a dry run moves nothing"
    telemetry.observe(run_cycle(parts(observe=lambda *_: skewed(moved=2))))
    found = lines(telemetry)
    assert found['rescheduler_policy_cost{kind="Spread",policy="zones",policy_mode="Enforce"}'] == 0
    assert found["rescheduler_score"] == 100
    assert 'rescheduler_policy_evaluated{policy="hot"}' not in found
    assert 'rescheduler_refused{reason="PAC002"}' not in found


def test_an_outcome_is_counted_by_what_became_of_each_move() -> None:
    telemetry = Telemetry()
    plan = run_cycle(parts())
    assert isinstance(plan, Plan)
    plan = structs.replace(plan, mode="Enforce", moves=plan.moves * 3)

    def ended(result: Result, code: str) -> MoveResult:
        return MoveResult.from_move(plan.moves[0], result, Problem(code=code, message=""))

    outcome = Outcome(
        started=plan.taken,
        finished=plan.taken,
        verdict=Problem(code="GRD006", message="paused"),
        moves=(ended("evicted", "ACT001"), ended("evicted", "ACT012"), ended("refused", "ACT004")),
        plan=plan,
    )
    telemetry.observe(outcome)
    found = lines(telemetry)
    counted = 'rescheduler_moves_total{{outcome="{}",policy="zones"}}'
    assert found[counted.format("evicted")] == 2
    assert found[counted.format("refused")] == 1
    assert found[counted.format("unknown")] == 0
    assert found['rescheduler_reverted_moves_total{reason="ACT012"}'] == 1
    assert found["rescheduler_planned_gain_total"] == 2 * plan.moves[0].gain
    assert found['rescheduler_guard_holding{guard="GRD006"}'] == 1


def test_no_label_names_a_pod_or_a_node() -> None:
    telemetry = Telemetry()
    plan = run_cycle(parts())
    telemetry.observe(plan)
    values = set(re.findall(r'"([^"]*)"', telemetry.text().decode()))
    names = {pod.metadata.name for pod in skewed().pods}
    names |= {node.metadata.name for node in skewed().nodes}
    assert not values & names
    assert not set(re.findall(r"(\w+)=", telemetry.text().decode())) & {
        "pod",
        "node",
        "namespace",
    }
