"""IdleGPUs: who holds GPUs without using them is told, with the hours, and stays."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.policies.idlegpus.term import IdleGPUsTerm
from rescheduler.policies.match import Match
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.terminal import render_table
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.picture import picture
from tests.runtime.servers.metric_lines import lines

POLICY = IdleGPUs(name="idle", match=Match(all=True), stableFor=timedelta(hours=10))
DRAWN = """
    zone a | n1 gpu 8 | notebook notebook train
    zone a | n2 gpu 8 | train
"""
ASKED: Any = {"notebook": {"nvidia.com/gpu": 2}, "train": {"nvidia.com/gpu": 1}}


def long(use: float | str | None) -> Any:
    """That use at every minute of the time and before."""
    return f"{use}x700" if isinstance(use, float) else use


def fleet(notebook: float | None = 0.04, train: float | None = 0.95) -> Snapshot:
    readings: Any = {"pod.gpu": {"notebook": long(notebook), "train": long(train)}}
    before = picture(DRAWN, requests=ASKED, readings=readings, policies=[POLICY])
    for pod in before.pods:
        pod.status.startTime = before.taken - timedelta(days=1)
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
    assert (told.use, told.hours) == pytest.approx((0.02, 39.2))
    assert told == IdleHolder(
        namespace="default",
        owner="Deployment notebook",
        pods=2,
        gpus=4.0,
        use=told.use,
        hours=told.hours,
    )
    (finding,) = bound.findings()
    assert finding.subject == "Deployment default/notebook"
    assert finding.message == (
        "2 pods have 4 GPUs and used 2.0% of them in the last 10 h: 39.2 GPU-hours were idle"
    )
    assert (bound.cost(), bound.worst(), bound.scope()) == (2.0, 4.0, 4)


def test_a_short_time_is_told_as_it_is_and_never_as_zero_hours() -> None:
    span = 20.0
    before = fleet()
    held = np.array([2.0, 2.0, 1.0, 1.0])
    idle = np.array([True, True, False, False])
    bound = IdleGPUsTerm(before, held, np.full(4, 0.01), idle, np.full(4, True), span)
    (finding,) = bound.findings()
    assert finding.message == (
        "2 pods have 4 GPUs and used 1.0% of them in the last 20 s: under 0.1 GPU-hours were idle"
    )
    made = planned(before)
    short = msgspec.structs.replace(made.policies[0], idle=bound.idle())
    changed = msgspec.structs.replace(made, policies=[short])
    shown = render_table(changed, width=120, color=False)
    assert "1 owner, under 0.1 GPU-hours in the last 20 s, 95 a day" in shown
    assert "0.0 " not in shown.partition("Idle GPUs")[2].partition("Left alone")[0]


def test_no_pod_is_moved_for_it() -> None:
    made = planned(fleet())
    assert made.moves == []
    assert made.totals.candidates == 0


def test_what_no_move_repairs_is_not_left_to_gain() -> None:
    """The bound on what moves gain counts only what they can lower."""
    bound = term(fleet())
    assert bound.cost() > 0
    assert not bound.joint_bound().values.any()


def test_a_young_pod_is_not_judged() -> None:
    before = fleet()
    for pod in before.pods:
        pod.status.startTime = before.taken - timedelta(hours=9)
    assert term(before).scope() == 0


def test_half_of_the_pods_without_a_value_tell_nothing() -> None:
    problem = POLICY.compile(fleet(train=None))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG003"


def test_old_and_impossible_values_are_none() -> None:
    before = fleet()
    (reading,) = before.readings.entries
    for fields in ({"ages": np.full(4, 999.0)}, {"range_samples": np.full((30, 4), 9.0)}):
        altered = replace(reading, problem=None, **fields)
        problem = POLICY.compile(replace(before, readings=Readings((altered,))))
        assert isinstance(problem, Problem)
        assert problem.code == "RDG003"


MIG = "nvidia.com/mig-1g.10gb"
MIXED = """
    zone a | n1 gpu 2 nvidia.com/mig-1g.10gb 7 | train part
"""


def holders(
    drawn: str, asked: Any, labels: dict[str, str] | None = None, **use: Any
) -> dict[str, IdleHolder]:
    """Who is told, by the name of the owner, where the nodes have these labels."""
    readings: Any = {"pod.gpu": {name: long(load) for name, load in use.items()}}
    before = picture(drawn, requests=asked, readings=readings, policies=[POLICY])
    for node in before.nodes:
        node.metadata.labels = {**(node.metadata.labels or {}), **(labels or {})}
    for pod in before.pods:
        pod.status.startTime = before.taken - timedelta(days=1)
    return {holder.owner.partition(" ")[2]: holder for holder in term(before).idle()}


def test_a_partition_is_as_much_of_a_gpu_as_it_has_slices() -> None:
    asked: Any = {"train": {"nvidia.com/gpu": 1}, "part": {MIG: 1}}
    told = holders(MIXED, asked, train=0.0, part=round(0.01 / 7, 9))
    assert told["train"].gpus == 1.0
    assert told["part"].gpus == pytest.approx(1 / 7)
    assert told["part"].use == pytest.approx(0.01)
    assert told["part"].hours == pytest.approx(0.99 * 10 / 7)
    assert "part" not in holders(MIXED, asked, train=0.0, part=0.043), "it uses 30 % of it"
    assert "part" not in holders(MIXED, asked, train=0.0, part=0.142857), "it uses all of it"


@pytest.mark.parametrize(
    "labels",
    [
        {
            "nvidia.com/mig.strategy": "single",
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-2g.20gb",
        },
        {"cloud.google.com/gke-gpu-partition-size": "2g.20gb"},
    ],
)
def test_partitions_that_are_offered_as_gpus_are_none(labels: dict[str, str]) -> None:
    told = holders("zone a | n1 gpu 3 | part", {"part": {"nvidia.com/gpu": 1}}, labels, part=0.0)
    assert told["part"].gpus == pytest.approx(2 / 7)


def test_who_has_a_gpu_of_its_own_is_told_beside_others_that_share_one() -> None:
    drawn = MIXED.replace("10gb", "10gb.shared")
    asked: Any = {"train": {"nvidia.com/gpu": 1}, "part": {f"{MIG}.shared": 1}}
    told = holders(drawn, asked, {f"{MIG}.replicas": "4"}, train=0.0, part=0.0)
    assert list(told) == ["train"]
    both: Any = {"train": {"nvidia.com/gpu": 1, f"{MIG}.shared": 1}}
    assert not holders(drawn.replace(" part", ""), both, train=0.0)


def test_a_pod_with_bursts_uses_its_gpus() -> None:
    """On average it used 3 % of them, but all of them for a quarter of an hour."""
    burst = "0x400 100%x15 0x200"
    assert not holders(DRAWN, ASKED, notebook=burst, train=0.95)
    assert holders(DRAWN, ASKED, notebook="3%x700", train=0.95)


def test_a_time_in_which_nobody_measured_is_not_idle() -> None:
    before = fleet()
    (reading,) = before.readings.entries
    assert reading.range_samples is not None
    past = reading.range_samples.copy()
    past[3, 0] = np.nan
    gap = replace(reading, range_samples=past)
    problem = POLICY.compile(replace(before, readings=Readings((gap,))))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG003"
    assert "at all times of the last 10 h for 3 of 4 pods" in problem.message
    made = POLICY.model_copy(update={"minCoverage": 0.7})
    gap = replace(gap, request=made.requests()[0])
    one = made.compile(replace(before, readings=Readings((gap,))))
    assert not isinstance(one, Problem)
    assert one.scope() == 3
    nothing = replace(reading, range_samples=None, notes=("the past is not known: too long",))
    problem = POLICY.compile(replace(before, readings=Readings((nothing,))))
    assert isinstance(problem, Problem)
    assert "the past is not known: too long" in problem.message


def test_others_without_a_value_do_not_matter() -> None:
    before = fleet()
    (reading,) = before.readings.entries
    partial = replace(
        reading, problem=Problem("RDG003", "3 of 9 pods have a value"), low_coverage=True
    )
    assert term(replace(before, readings=Readings((partial,)))).scope() == 4


def test_every_report_has_the_hours_and_the_metrics_the_gpus() -> None:
    made = planned(fleet())
    assert "39.2" in render_table(made, width=120, color=False)
    page = render_page(made)
    assert "Deployment notebook" in page
    assert "GPU-hours idle" in page
    telemetry = Telemetry()
    telemetry.observe(made)
    line = 'rescheduler_idle_gpus{namespace="default",policy="idle"}'
    assert lines(telemetry)[line] == pytest.approx(39.2 / 10)
