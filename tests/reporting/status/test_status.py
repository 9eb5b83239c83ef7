"""The status as people and programs see it, and what it concludes."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs

import rescheduler.reporting
from rescheduler.model.kept_cycles import CycleLog, KeptCycles
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan_basis import CountedPods
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import SpentBudget
from rescheduler.planning.limits.spent_budgets import spent_budgets
from rescheduler.policies.limits import Limits
from rescheduler.reporting.status.standing_reasons import reasons_of
from rescheduler.reporting.status.status_building import status_of
from rescheduler.reporting.status.status_facts import CronFacts
from rescheduler.reporting.status.status_json import status_json, status_schema
from rescheduler.reporting.status.status_table import render_status
from tests.reporting import samples
from tests.reporting.full import SUGGESTION
from tests.reporting.schema_fields import undescribed_fields
from tests.reporting.status.status_samples import (
    LIMITS,
    NOBODY,
    NOW,
    SAMPLES,
    ago,
    facts,
    held,
    past_move,
    record,
    status,
)

Golden = Callable[[Path, str], None]


def test_the_status_table_is_as_approved(golden: Golden) -> None:
    text = render_status(status("status-broken"), width=100, color=False)
    golden(Path("status-broken.txt"), text)


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_of_a_status_is_wider_than_the_screen(name: str, width: int) -> None:
    plain = render_status(status(name), width=width, color=False)
    assert max(len(line) for line in plain.splitlines()) <= width
    assert "\x1b" not in plain


@pytest.mark.parametrize("name", SAMPLES)
def test_a_status_fits_its_schema(name: str) -> None:
    document = json.loads(status_json(status(name)))
    jsonschema.Draft202012Validator(status_schema()).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(status_schema()).validate({**document, "moves": None})


def test_the_schema_of_a_status_is_fresh_and_describes_every_field(golden: Golden) -> None:
    schema = status_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not undescribed_fields(schema)
    golden(
        Path(rescheduler.reporting.__path__[0]) / "status.schema.json",
        json.dumps(schema, indent=2) + "\n",
    )


def codes(**changes: Any) -> list[str]:
    return [reason.code for reason in reasons_of(facts(**changes))]


def log(*records: Any) -> KeptCycles:
    return KeptCycles(log=CycleLog(records=list(records)), report=samples.outcome())


def test_nothing_holds_evictions_where_the_last_cycle_moved_pods() -> None:
    assert codes() == []


def test_a_pause_comes_first_and_is_told_once() -> None:
    kept = log(held(3, "GRD006", "Evictions are paused."))
    assert codes(paused=True, kept=kept) == ["GRD006"]
    assert codes(paused=False, kept=kept) == [], "it has ended since"
    assert codes(paused=True, doubt="it is lost") == ["GRD006", "GRD004"]


def test_the_cause_of_the_last_cycle_is_told_and_of_no_earlier_one() -> None:
    kept = log(held(3, "GRD001", "5 of 6 nodes are hot"), held(8, "GRD002", "x"))
    (reason,) = reasons_of(facts(kept=kept))
    assert reason.code == "GRD001"
    assert reason.message == "The cycle of 14:02 UTC moved nothing: 5 of 6 nodes are hot"
    assert codes(kept=log(record(3), held(8, "GRD002", "x"))) == []


def test_a_cycle_that_does_not_come_is_late() -> None:
    kept = log(record(30))
    (reason,) = reasons_of(facts(kept=kept))
    assert reason.message.startswith("The next cycle is 25 min late.")
    assert status_of(facts(kept=kept)).next.overdueSeconds == 25 * 60
    assert codes(kept=log(record(10))) == [], "a cycle may take its time"
    (gone,) = reasons_of(facts(kept=log(record(10)), lock=NOBODY))
    assert gone.message.startswith("The next cycle is 5 min late."), "who ran it is gone"
    assert codes(kept=log(record(6)), lock=NOBODY) == [], "another one may take over"


@pytest.mark.parametrize(("suspended", "late"), [(False, True), (True, False)])
def test_a_suspended_cronjob_is_not_late(suspended: bool, late: bool) -> None:
    cron = CronFacts("*/15 * * * *", suspended=suspended, due=ago(40), next=ago(-5))
    kept = log(record(60))
    changed = status_of(facts(kept=KeptCycles(log=CycleLog(records=[_endless(kept)])), cron=cron))
    assert (changed.next.overdueSeconds is not None) == late
    assert ("suspended" in changed.next.message) == suspended
    assert any("suspended" in reason.message for reason in changed.reasons) == suspended


def _endless(kept: KeptCycles) -> Any:
    """The record of a process that runs one cycle."""
    (newest,) = kept.log.records
    return type(newest)(cycle=newest.cycle, instance=newest.instance)


def row(budgets: list[SpentBudget], limit: str, group: str = "") -> SpentBudget:
    (answer,) = [budget for budget in budgets if budget.limit == limit and budget.group == group]
    return answer


def test_budgets_are_those_that_planning_would_spend() -> None:
    refused = past_move(9, 1, state="refused")
    moves = [past_move(1, 70), past_move(2, 59), past_move(3, 4), refused]
    budgets = spent_budgets(History(moves=moves), LIMITS, NOW)
    hour = row(budgets, "movesPerHour")
    assert (hour.used, hour.most, hour.remaining) == (2, 4, 2)
    assert hour.free == ago(59) + timedelta(hours=1)
    cycle = row(budgets, "movesPerCycle")
    assert (cycle.used, cycle.since) == (1, NOW - LIMITS.cyclePeriod)
    day = row(budgets, "movesPerDay")
    assert (day.used, day.most, day.remaining, day.amount) == (3, None, None, "10%")
    assert row(budgets, "movesPerNamespace", "namespace shop").used == 1
    assert row(budgets, "movesPerWorkload", "workload of pod shop/web-3").used == 1


def test_a_percentage_is_shown_as_moves_where_the_last_plan_counted_pods() -> None:
    counted = [
        CountedPods(limit="movesPerDay", group="", pods=39),
        CountedPods(limit="movesPerNamespace", group="shop", pods=9),
    ]
    limits = Limits.model_validate({"movesPerDay": "10%", "movesPerNamespace": "30%"})
    kept = KeptCycles(log=CycleLog(records=[record(3)]), report=samples.plan(countedPods=counted))
    moves = [past_move(number, 40 - number) for number in range(3)] + [past_move(5, 1)]
    seen = status_of(facts(history=History(moves=moves[:3]), limits=limits, kept=kept))
    day = row(seen.budgets, "movesPerDay")
    assert (day.amount, day.most, day.used, day.remaining) == ("10%", 3, 3, 0)
    assert [reason.code for reason in seen.reasons] == ["PAC006"]
    assert "3 (10%)" in render_status(seen, width=100, color=False)
    later = status_of(facts(history=History(moves=moves[3:]), limits=limits, kept=kept))
    shop = row(later.budgets, "movesPerNamespace", "namespace shop")
    assert (shop.most, shop.remaining) == (2, 1)
    assert not any("percentage" in note for note in later.notes)


def test_a_percentage_that_nobody_counted_says_why_it_is_not_known() -> None:
    (note,) = [note for note in status("status-at-work").notes if "percentage" in note]
    assert note == (
        "What is left of movesPerDay is not known: it is a percentage, and the plan of 14:02 UTC "
        "has not counted its pods."
    )
    alone = status_of(facts(kept=KeptCycles(log=CycleLog(records=[record(3)]))))
    (note,) = [note for note in alone.notes if "percentage" in note]
    assert "no report of the last cycle is kept" in note


def test_suggestions_of_the_last_report_are_in_table_and_json() -> None:
    seen = status("status-only-reporting")
    assert seen.suggestions == [SUGGESTION]
    text = render_status(seen, width=200, color=False)
    assert "What would help most, by the plan of 14:02 UTC" in text
    assert "Turn on steering: 35 more moves, worst GPU of a node 95 % \u2192 46 %" in text
    assert json.loads(status_json(seen))["suggestions"][0]["trial"]["moves"] == 41


@pytest.mark.parametrize(("mode", "shown"), [("Enforce", False), ("Audit", True)])
def test_a_report_whose_moves_were_tried_suggests_nothing(mode: str, shown: bool) -> None:
    moves = [structs.replace(move, mode=mode) for move in samples.plan().moves]
    plan = samples.plan(suggestions=[SUGGESTION], moves=moves)
    report = structs.replace(samples.outcome(), plan=plan)
    kept = KeptCycles(log=CycleLog(records=[record(3)]), report=report)
    assert bool(status_of(facts(kept=kept)).suggestions) == shown


def test_a_limit_that_is_reached_says_when_the_next_move_is_possible() -> None:
    (reason,) = reasons_of(facts(history=History(moves=[past_move(n, 50) for n in range(4)])))
    assert reason.message == (
        "Limit reached: 4 of 4 moves in the last 60 min (`movesPerHour`). "
        "The next move is possible from 14:15 UTC on."
    )
    assert reason.code == "PAC005"


def test_the_slow_start_holds_only_once_its_pod_was_moved() -> None:
    waiting = facts(history=History(rampSince=ago(10), rampMade=1))
    assert reasons_of(waiting) == []
    assert status_of(waiting).slowStartCycles == 2
    assert "2 more cycles of one pod each" in render_status(
        status_of(waiting), width=100, color=False
    )
    moved = facts(history=History(moves=[past_move(1, 2)], rampSince=ago(10), rampMade=1))
    (reason,) = reasons_of(moved)
    assert reason.code == "PAC007"


def test_moves_under_way_say_what_they_wait_for() -> None:
    stages: list[dict[str, Any]] = [
        {"state": "intended"},
        {"state": "evicted"},
        {"state": "evicted", "gone": ago(1)},
        {"state": "evicted", "gone": ago(1), "replacement": "uid"},
        {"state": "evicted", "gone": ago(1), "replacement": "uid", "landedOn": "n2"},
        {"state": "ready"},
        {"state": "refused"},
    ]
    moves = [past_move(n, 2, **{"settled": None, **stage}) for n, stage in enumerate(stages)]
    assert [move.state for move in status_of(facts(history=History(moves=moves))).moves] == [
        "no answer to its eviction yet",
        "the pod is terminating",
        "no replacement yet",
        "the replacement is Pending",
        "the replacement is not Ready",
    ]


def test_what_can_be_reset_is_offered_with_the_command() -> None:
    offers = [offer.command for offer in status("status-broken").resets]
    assert offers == [
        "rescheduler reset state",
        "rescheduler reset hold shop/web-1",
        "rescheduler reset hold big",
        "rescheduler reset demotion hot-gpus",
    ]
    assert status("status-at-work").resets == []


def test_a_demoted_policy_says_until_when_it_only_reports() -> None:
    (policy,) = status("status-broken").policies
    assert (policy.policy, policy.code) == ("hot-gpus", "MSR001")
    assert policy.until == ago(60) + timedelta(hours=24)


def test_what_a_run_noted_of_steering_counts_too() -> None:
    assert status_of(facts()).steering.live is True
    note = Problem("STR005", "A replacement came without its affinity.")
    plan = structs.replace(samples.plan(), notes=[note, Problem("DAT001", "x")])
    steering = status_of(facts(kept=KeptCycles(report=plan))).steering
    assert (steering.live, steering.problems) == (False, [note])
    assert status_of(facts(wanted=())).steering.live is None
    assert status_of(facts(wanted=None)).steering.by == []


def test_limits_by_default_have_room() -> None:
    assert all(budget.used == 0 for budget in spent_budgets(History(), Limits(), NOW))
