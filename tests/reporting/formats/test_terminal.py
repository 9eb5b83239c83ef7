import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from rich.cells import cell_len

from rescheduler.model.moves.plan import Change, Cost, LandingShare, Plan, plan_in
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.plan_json import from_json, to_json
from rescheduler.reporting.formats.terminal import render_table
from rescheduler.reporting.phrasing import amount, change, percent, signed_gain
from tests.draws import tries
from tests.reporting.samples import SAMPLES, move, plan, policies

STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [72, 80, 100, 110, 120, 160, 240])
@pytest.mark.parametrize("name", SAMPLES)
def test_it_fits_the_screen(name: str, width: int) -> None:
    table = render_table(SAMPLES[name](), width=width, color=False)
    commands = ("rescheduler ", ":")
    for line in table.splitlines():
        assert cell_len(line) <= width or all(part in line for part in commands), line
        assert line == line.rstrip()


@pytest.mark.parametrize("name", SAMPLES)
def test_color_adds_nothing_but_color(name: str) -> None:
    plain = render_table(SAMPLES[name](), width=100, color=False)
    colored = render_table(SAMPLES[name](), width=100, color=True)
    assert "\x1b" not in plain
    assert "\x1b" in colored
    stripped = "\n".join(line.rstrip() for line in STYLE.sub("", colored).splitlines())
    assert stripped.split() == plain.split()


def test_a_guard_comes_before_the_tables() -> None:
    table = render_table(SAMPLES["held"](), width=80, color=False)
    order = [
        f"PLAN {plan_in(SAMPLES['held']()).id}",
        "HELD GRD001",
        "31 of 60 nodes",
        "NOTE DAT002",
        "  policy ",
        "No move",
    ]
    places = [table.index(heading) for heading in order]
    assert places == sorted(places)
    assert "Apply:" not in table


def test_a_policy_without_data_says_so_and_shows_no_cost() -> None:
    table = render_table(SAMPLES["no-data"](), width=80, color=False)
    assert "PROBLEM RDG009 Policy gpu-utilization was not evaluated" in table
    row = next(line for line in table.splitlines() if line.startswith("  gpu-utilization"))
    assert "not evaluated" in row
    assert "0.00" not in row
    assert "from a recording" in table
    assert "Apply:" not in table


def test_an_empty_plan_says_why() -> None:
    table = " ".join(render_table(SAMPLES["empty"](), width=80, color=False).split())
    assert "Nothing to do: no candidate is worth a move. Most often (9 of 14)" in table


def test_an_empty_plan_of_findings_that_must_last_says_that_it_waits() -> None:
    plan = SAMPLES["empty"]()
    waits = "zones: known to hold since 12:00 (4m), and stableFor is 10m: it may act from 12:10 on"
    assert isinstance(plan, Plan)
    plan = structs.replace(
        plan,
        refused=[structs.replace(plan.refused[0], code="STB001", message=waits)],
        totals=structs.replace(plan.totals, refused={"STB001": 3}),
    )
    table = " ".join(render_table(plan, width=80, color=False).split())
    assert "Nothing to do yet: no candidate may move now. Most often (all): The finding" in table
    assert waits in table


def test_a_slow_start_says_what_waits_for_it() -> None:
    plan = SAMPLES["empty"]()
    slow = "slow start: one pod in each of the first 3 cycles that move anything, 2 to go"
    assert isinstance(plan, Plan)
    plan = structs.replace(
        plan,
        refused=[structs.replace(plan.refused[0], code="PAC007", message=slow)],
        totals=structs.replace(plan.totals, refused={"PAC007": 35}),
    )
    table = " ".join(render_table(plan, width=80, color=False).split())
    assert f"Waiting: {slow}; 35 pods wait." in table


def test_an_outcome_tells_what_became_of_each_move() -> None:
    table = render_table(SAMPLES["outcome"](), width=120, color=False)
    for part in (
        "gpu-b-04 as predicted",
        "gpu-b-17 less likely",
        "gpu-a-11 came back",
        "!  refused",
        "?  unknown",
        "?  skipped",
        "Verdict  ACT009",
    ):
        assert part in table


def test_moves_for_audit_policies_only_are_marked_and_not_offered() -> None:
    table = render_table(plan(moves=[move(5)]), width=80, color=False)
    assert "Audit only" in table
    assert "Apply:" not in table


def numbers(value: Any) -> set[float]:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return set()
    if isinstance(value, int | float):
        return {float(value)}
    parts = value.values() if isinstance(value, dict) else value
    return set().union(*(numbers(part) for part in parts))


costs = st.floats(0, 1e6, allow_nan=False).map(lambda value: round(value, 4))
gains = st.floats(-100, 1e5, allow_nan=False).map(lambda value: round(value, 4))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    first = draw(st.floats(0, 1))
    moves = [
        move(
            number,
            gain=draw(gains),
            disruption=draw(costs),
            batch=draw(st.integers(1, 3)),
            landing=[
                LandingShare(node="n1", probability=first),
                LandingShare(node="n2", probability=1 - first),
            ],
        )
        for number in range(draw(st.integers(0, 6)))
    ]
    judged = [
        structs.replace(policy, cost=Cost(before=draw(costs), after=draw(costs)))
        for policy in policies(moved=True)
    ]
    score = Change(before=draw(st.floats(0, 100)), after=draw(st.floats(0, 100)))
    return plan(moves=moves, policies=judged, score=score)


@settings(max_examples=tries(100))
@given(plans())
def test_the_table_has_nothing_that_the_json_has_not(drawn: Plan) -> None:
    data = to_json(drawn)
    table = render_table(drawn, width=160, color=False)
    assert table == render_table(from_json(data), width=160, color=False)

    known = numbers(json.loads(data))
    written = {signed_gain(value) for value in known} | {amount(value) for value in known}
    shares = {percent(value) for value in known}
    for line in table.splitlines():
        row = re.match(r"  \d  (\S+/\S+) +\S+ +(.*?)  +(\S+) +(\S+)  ", line)
        if row:
            assert {row[3], row[4]} <= written
            assert set(re.findall(r"[<>]?\d+ %", row[2])) <= shares
    for policy in drawn.policies:
        before, after = policy.cost.before, policy.cost.after
        row_text = next(line for line in table.splitlines() if line.startswith(f"  {policy.name}"))
        for part in (amount(before), amount(after), change(before, after)):
            assert part in row_text


def test_a_gang_of_kueue_is_stopped_and_started_and_not_evicted() -> None:
    gang: dict[str, Any] = {
        "group": "default/train (job)",
        "stops": StopRef(name="job-train-1", uid="u"),
    }
    moves = [structs.replace(move(number), batch=1, **gang) for number in (1, 2)]
    made = plan(moves=moves)
    namespace = moves[0].pod.namespace
    said = f"Kueue stops and starts the whole Workload {namespace}/job-train-1 (2 pods)"
    table = render_table(made, width=200, color=False)
    assert f"batch 1: gang default/train (job), all or none: {said}" in table
    assert said in re.sub(r"<[^>]+>", "", render_page(made))
    other = plan(moves=[structs.replace(move, stops=None) for move in moves])
    assert "Kueue" not in render_table(other, width=200, color=False)
