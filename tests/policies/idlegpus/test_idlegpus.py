"""IdleGPUs: who holds GPUs without using them is told, with the hours, and stays."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from rescheduler.model.history import History
from rescheduler.model.idle import IdleHolder
from rescheduler.model.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.model.readings import Readings
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.reporting.page import render_page
from rescheduler.reporting.terminal import render_table
from rescheduler.runtime.service.telemetry import Telemetry
from tests.picture import picture

POLICY = IdleGPUs(name="idle", match={"all": True}, stableFor="10h")
DRAWN = """
    zone a | n1 gpu 8 | notebook notebook train
    zone a | n2 gpu 8 | train
"""
ASKED: Any = {"notebook": {"nvidia.com/gpu": 2}, "train": {"nvidia.com/gpu": 1}}


def fleet(notebook: float | None = 0.04, train: float | None = 0.95) -> Snapshot:
    readings: Any = {"pod.gpu": {"notebook": notebook, "train": train}}
    before = picture(DRAWN, requests=ASKED, readings=readings, policies=[POLICY])
    for each in before.pods:
        each.status.startTime = before.taken - timedelta(days=1)
    return before


def term(before: Snapshot) -> Any:
    made = POLICY.compile(before)
    assert not isinstance(made, Problem), made
    return made


def planned(before: Snapshot) -> Plan:
    return plan(before, policy_set([POLICY]), History(), mode="Enforce")


def test_the_owner_is_told_with_the_hours() -> None:
    bound = term(fleet())
    (told,) = bound.idle()
    assert told == IdleHolder(
        namespace="default",
        owner="Deployment notebook",
        pods=2,
        gpus=4.0,
        use=pytest.approx(0.02),
        hours=pytest.approx(39.2),
    )
    (finding,) = bound.findings()
    assert finding.subject == "Deployment default/notebook"
    assert finding.message == (
        "2 pods have 4 GPUs and used 2.0% of them in the last 10 h: 39.2 GPU-hours were idle"
    )
    assert (bound.cost(), bound.worst(), bound.scope()) == (2.0, 4.0, 4)


def test_no_pod_is_moved_for_it() -> None:
    made = planned(fleet())
    assert made.moves == []
    assert made.totals.candidates == 0


def test_a_young_pod_is_not_judged() -> None:
    before = fleet()
    for each in before.pods:
        each.status.startTime = before.taken - timedelta(hours=9)
    assert term(before).scope() == 0


def test_half_of_the_pods_without_a_value_tell_nothing() -> None:
    problem = POLICY.compile(fleet(train=None))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG003"


def test_old_and_impossible_values_are_none() -> None:
    before = fleet()
    (reading,) = before.readings.entries
    for fields in ({"ages": np.full(4, 999.0)}, {"values": np.full(4, 9.0)}):
        altered = replace(reading, problem=None, **fields)
        problem = POLICY.compile(replace(before, readings=Readings((altered,))))
        assert isinstance(problem, Problem)
        assert problem.code == "RDG003"


def test_every_report_and_the_metrics_have_the_hours() -> None:
    made = planned(fleet())
    assert "39.2" in render_table(made, width=120, color=False)
    page = render_page(made)
    assert "Deployment notebook" in page
    assert "GPU-hours idle" in page
    telemetry = Telemetry()
    telemetry.observe(made)
    line = 'rescheduler_idle_gpu_hours{namespace="default",policy="idle"} 39.2'
    assert line in telemetry.text().decode()
