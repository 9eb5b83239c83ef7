"""The budget of a cycle fits how often cycles run, unless the Limits say another period."""

from dataclasses import replace
from datetime import timedelta

import pytest

from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import plan_in
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.cycle_period import with_cycle_period
from rescheduler.runtime.settings import Settings
from tests.fakes.stage import START, Process, Stage
from tests.runtime.cycles import enforcing, populate
from tests.runtime.skewed import spread

MINUTE = timedelta(minutes=1)


def past(*minutes: float) -> History:
    """Two moves of each of the plans that were made at these times."""
    return History(
        moves=[
            PastMove(
                plan=f"plan at {minute}",
                podUid=f"{minute} {number}",
                namespace="shop",
                pod="web",
                workload="w",
                source="n1",
                at=START + (minute + number / 10) * MINUTE,
            )
            for minute in minutes
            for number in range(2)
        ]
    )


def period(settings: Settings, history: History, limits: Limits | None = None) -> timedelta:
    return with_cycle_period(policy_set([], limits), settings, history).limits.cyclePeriod


def test_it_is_a_little_less_than_the_interval_of_a_service() -> None:
    assert period(Settings(every=5 * MINUTE), History()) == 4.5 * MINUTE
    assert period(Settings(every=15 * MINUTE), past(0, 1, 2, 3, 4)) == 13.5 * MINUTE
    assert period(Settings(every=600 * MINUTE), History()) == 60 * MINUTE


def test_however_often_cycles_run_a_restart_finds_the_last_moves() -> None:
    assert period(Settings(every=MINUTE / 60), History()) == MINUTE
    assert period(Settings(once=True), past(0, 0.1, 0.2, 0.3, 0.4, 0.5)) == 5 * MINUTE


def test_cycles_whose_evictions_were_refused_are_no_schedule() -> None:
    refused = past(0, 15, 30, 75, 90)
    for move in refused.moves:
        move.refuse("ACT004", START)
    assert period(Settings(once=True), refused) == 5 * MINUTE


def test_what_is_written_in_the_limits_counts() -> None:
    written = Limits(cyclePeriod=5 * MINUTE)
    assert period(Settings(every=MINUTE), History(), written) == 5 * MINUTE


@pytest.mark.parametrize("settings", [Settings(once=True), Settings(cron="*/15 * * * *")])
def test_of_a_cron_job_it_follows_from_the_cycles_that_moved_pods(settings: Settings) -> None:
    assert period(settings, past(0, 15, 30, 75, 90)) == 13.5 * MINUTE
    assert period(settings, past(0, 15, 30, 45, 60, 60.2, 75.2, 90.2, 105.2)) == 13.5 * MINUTE, (
        "a person's"
    )
    assert period(settings, past(0, 15, 30, 45)) == 5 * MINUTE, "too few are known"
    assert period(settings, past(0, 300, 600, 900, 1200)) == 60 * MINUTE
    assert period(Settings(), past(0, 1, 2, 3, 4)) == 5 * MINUTE, "a plan has no schedule"


def test_a_cycle_plans_with_it_and_its_plan_has_it() -> None:
    stage = Stage()
    populate(stage)
    settings = Settings(every=2 * MINUTE)
    parts = enforcing(stage, Process(stage, "one"))

    def scheduled(policies: object, history: History) -> object:
        return with_cycle_period(policies, settings, history)  # type: ignore[arg-type]

    made = policy_set([spread()])
    report = run_cycle(
        replace(parts, policies=lambda: made, fit_schedule=scheduled)  # type: ignore[arg-type]
    )
    assert plan_in(report).limits["cyclePeriod"] == "1m48s"
