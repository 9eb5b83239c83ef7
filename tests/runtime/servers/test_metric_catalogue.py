"""The catalogue's rows are what is exposed, by Prometheus' convention, and all labels are said."""

import re
import subprocess
from math import isnan
from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.run_status import SpentBudget
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.servers.metric_catalogue import (
    LABELS,
    METRICS,
    MOST_NAMESPACES,
    OTHER_NAMESPACES,
    Metric,
)
from rescheduler.runtime.servers.metric_registry import MetricRegistry
from rescheduler.runtime.servers.telemetry import VERDICTS, Telemetry
from tests.cases import every
from tests.programs import require_program
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import hot, parts, spread


def exposed_by(server: str) -> MetricRegistry:
    """A server's metrics, each with one series."""
    registry = MetricRegistry(server)
    for row in METRICS:
        if row.server == server and row.labels:
            collect: Any = getattr(registry, row.type)
            collect(row.name.removeprefix("rescheduler_"), *row.labels)
    return registry


@every({row.name: (row,) for row in METRICS})
def test_a_row_is_exposed_as_it_is_written(row: Metric) -> None:
    text = exposed_by(row.server).text().decode()
    assert f"# TYPE {row.name} {row.type}\n" in text
    assert row.text.endswith(".")
    assert set(row.labels) <= LABELS.keys()
    assert (row.type == "counter") == row.name.endswith("_total")
    assert ("seconds" in row.unit) == ("_seconds" in row.name)
    assert set(re.findall(r"[A-Z]{3}\d{3}", row.text)) <= CATALOG.keys()


def test_every_label_that_is_explained_is_used() -> None:
    assert {label for row in METRICS for label in row.labels} == LABELS.keys()
    assert set(re.findall(r"[\w-]+", LABELS["verdict"])) - {"or"} == set(VERDICTS)


@pytest.mark.parametrize("server", ["run", "webhook", "extender"])
def test_prometheus_own_linter_has_no_complaint(server: str) -> None:
    require_program("promtool", "prometheus")
    command = ["promtool", "check", "metrics"]
    text = exposed_by(server).text()
    lint = subprocess.run(command, input=text, capture_output=True, timeout=60, check=False)
    assert (lint.returncode, lint.stdout + lint.stderr) == (0, b"")


def planned() -> Plan:
    report = run_cycle(parts(policies=lambda: policy_set([spread(), hot()])))
    assert isinstance(report, Plan)
    return report


def test_a_standby_shows_nothing_of_the_plan_before() -> None:
    telemetry = Telemetry("Enforce")
    telemetry.lead()
    telemetry.count_cycle("failed")
    plan = structs.replace(planned(), guards=[Problem("GRD003", "")], notes=[Problem("STR002", "")])
    telemetry.observe(plan)
    telemetry.observe_cause("GRD003")
    telemetry.expect_cycle(plan.taken)
    led = lines(telemetry)
    assert led['rescheduler_guard_holding{guard="GRD003"}'] == 1
    assert led['rescheduler_note{reason="STR002"}'] == 1
    assert led["rescheduler_cycle_next_timestamp_seconds"] == plan.taken.timestamp()
    assert (led["rescheduler_leading"], led["rescheduler_cycle_failures"]) == (1, 1)
    telemetry.stand_by()
    shown = lines(telemetry)
    assert (shown["rescheduler_leading"], shown["rescheduler_cycle_failures"]) == (0, 0)
    for row in METRICS:
        series = [name for name in shown if name.partition("{")[0] == row.name]
        if row.follows_plan and row.labels:
            assert not series, row.name
        elif row.follows_plan:
            assert isnan(shown[row.name]), row.name
    telemetry.expect_cycle(None)
    assert isnan(lines(telemetry)["rescheduler_cycle_next_timestamp_seconds"])


def test_failures_are_counted_in_a_row_and_a_missed_cycle_ends_no_row() -> None:
    telemetry = Telemetry()
    rows = []
    for verdict in ("failed", "failed", "missed", "held", "failed", "good"):
        telemetry.count_cycle(verdict)
        rows.append(lines(telemetry)["rescheduler_cycle_failures"])
    assert rows == [1, 2, 2, 0, 1, 0]


def test_it_shows_why_a_reading_is_unfit_and_what_a_plan_notes() -> None:
    telemetry = Telemetry()
    plan = planned()
    reading = next(reading for reading in plan.readings if reading.problem is not None)
    assert reading.problem is not None
    totals = structs.replace(plan.totals, unsteered={"STR003": 2})
    telemetry.observe(structs.replace(plan, totals=totals, notes=[Problem("STR005", "")] * 2))
    found = lines(telemetry)
    labels = f'reading="{reading.name}",reason="{reading.problem.code}"'
    assert found[f"rescheduler_reading_problem{{{labels}}}"] == 1
    assert found['rescheduler_unsteered_moves{reason="STR003"}'] == 2
    assert found['rescheduler_note{reason="STR005"}'] == 1
    healthy = [structs.replace(reading, problem=None) for reading in plan.readings]
    telemetry.observe(structs.replace(plan, readings=healthy, notes=[]))
    gone = ("reading_problem", "rescheduler_note{", "unsteered_moves{")
    assert not [name for name in lines(telemetry) if any(part in name for part in gone)]


def test_what_a_limit_on_all_moves_has_left_is_shown_until_the_next_plan() -> None:
    telemetry, taken = Telemetry(), planned().taken

    def budget(limit: str, most: int | None, remaining: int | None, group: str = "") -> SpentBudget:
        return SpentBudget(
            limit=limit,
            window="day",
            group=group,
            amount=str(most),
            used=1,
            most=most,
            remaining=remaining,
            since=taken,
            free=None,
        )

    telemetry.observe_budgets(
        [
            budget("movesPerDay", 50, 3),
            budget("movesPerHour", None, None),
            budget("movesPerNode", 1, 0, group="node n1"),
        ]
    )
    shown = {name: value for name, value in lines(telemetry).items() if "budget" in name}
    assert shown == {
        'rescheduler_budget_moves{limit="movesPerDay"}': 50,
        'rescheduler_budget_remaining_moves{limit="movesPerDay"}': 3,
    }
    telemetry.observe(planned())
    assert not [name for name in lines(telemetry) if "budget" in name]


def test_idle_gpus_are_shown_of_few_namespaces_and_summed_up_of_others() -> None:
    telemetry, plan = Telemetry(), planned()

    def holder(number: int) -> IdleHolder:
        return IdleHolder(
            namespace=f"team-{number}", owner="Job a", pods=1, gpus=number, use=0.0, hours=1.0
        )

    many = MOST_NAMESPACES + 3
    idle = [holder(number) for number in range(1, many + 1)] * 2
    telemetry.observe(
        structs.replace(plan, policies=[structs.replace(plan.policies[0], idle=idle)])
    )
    shown = {name: value for name, value in lines(telemetry).items() if "idle_gpus" in name}
    labels = 'namespace="{}",policy="zones"'
    assert len(shown) == MOST_NAMESPACES + 1
    assert sum(shown.values()) == many * (many + 1)
    others = f"rescheduler_idle_gpus{{{labels.format(OTHER_NAMESPACES)}}}"
    assert shown[others] == 2 * (1 + 2 + 3)
    assert shown[f"rescheduler_idle_gpus{{{labels.format(f'team-{many}')}}}"] == 2 * many
