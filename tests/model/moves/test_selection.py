"""What is known of what a policy selects: when it acts, when it is shown first, and forgotten."""

from datetime import UTC, datetime, timedelta

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from rescheduler.model.moves.selection import (
    FEW_NODES,
    FEW_PODS,
    GROWTH,
    KEEP,
    MOST_GONE,
    PERIOD,
    REFRESH,
    TRIAL_KEPT,
    Selection,
    SelectionRecord,
    records_to_keep,
)
from tests.draws import tries

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def known(pods: int = 100, nodes: int | None = 20) -> SelectionRecord:
    return SelectionRecord.accept_selection("hot", "a", Selection(pods, nodes), START)


def after(
    record: SelectionRecord, pods: int, later: timedelta, *, meaning: str = "a"
) -> SelectionRecord:
    return record.next_record(meaning, Selection(pods, 20), START + later, HOUR)


@pytest.mark.parametrize(
    ("before", "now", "jump"),
    [
        (Selection(100, 20), Selection(500, 100), False),
        (Selection(100, 20), Selection(501, 20), True),
        (Selection(100, 20), Selection(1, 101), True),
        (Selection(0, 0), Selection(GROWTH * FEW_PODS, GROWTH * FEW_NODES), False),
        (Selection(0, 0), Selection(GROWTH * FEW_PODS + 1, 0), True),
        (Selection(0, 0), Selection(0, GROWTH * FEW_NODES + 1), True),
        (Selection(100), Selection(500), False),
        (Selection(100), Selection(501), True),
    ],
)
def test_a_jump_is_more_than_five_times_what_was_known_and_not_little(
    before: Selection, now: Selection, *, jump: bool
) -> None:
    assert now.exceeds(before) == jump


def test_a_jump_is_shown_for_an_hour_and_known_from_then_on() -> None:
    jumped = after(known(), 501, MINUTE)
    assert jumped.demoted
    assert after(jumped, 501, HOUR).demoted, "from when it was first seen, not from before"
    accepted = after(jumped, 501, HOUR + MINUTE)
    assert not accepted.demoted
    assert accepted.acceptedSelection == Selection(501, 20)


def test_another_jump_meanwhile_is_shown_for_as_long() -> None:
    jumped = after(after(known(), 501, MINUTE), 2506, 50 * MINUTE)
    assert after(jumped, 2506, HOUR + 49 * MINUTE).demoted
    assert not after(jumped, 2506, HOUR + 50 * MINUTE).demoted


def test_what_is_usual_again_acts_at_once() -> None:
    back = after(after(known(), 501, MINUTE), 500, 2 * MINUTE)
    assert not back.demoted
    assert back.acceptedSelection == Selection(100, 20)
    edited = after(known(), 100, MINUTE, meaning="b")
    assert edited.demoted
    assert not after(edited, 100, 2 * MINUTE).demoted
    assert after(after(edited, 100, 2 * MINUTE), 100, 2 * HOUR, meaning="b").demoted, (
        "what was taken back and comes again is shown again"
    )


def test_a_jump_that_comes_and_goes_is_shown_once() -> None:
    """Jobs that start every hour and end within it."""
    record = known()
    for hour in range(1, 5):
        record = after(record, 900, hour * HOUR)
        assert record.demoted == (hour == 1), hour
        record = after(record, 100, hour * HOUR + 10 * MINUTE)
        assert not record.demoted


def test_a_jump_that_was_over_for_long_is_shown_again() -> None:
    over = after(after(known(), 501, MINUTE), 100, 2 * MINUTE)
    assert not after(over, 501, TRIAL_KEPT).demoted
    forgotten = after(over, 100, TRIAL_KEPT + 2 * MINUTE)
    assert after(forgotten, 501, TRIAL_KEPT + 3 * MINUTE).demoted
    rare = after(after(known(), 501, MINUTE), 501, 2 * TRIAL_KEPT)
    assert not rare.demoted, "where no cycle has seen it to be over it never was"


def test_growth_within_a_period_adds_up() -> None:
    """A label that comes with a rollout reaches a few pods more in each cycle."""
    record, pods = known(), 100
    for minute in range(5, 60, 5):
        pods = pods * 3 // 2
        record = after(record, pods, minute * MINUTE)
        assert record.demoted == (pods > 500), pods
    steady = after(known(), 400, MINUTE)
    assert steady.acceptedSelection.pods == 100
    assert after(steady, 400, PERIOD).acceptedSelection.pods == 400


def test_what_rises_and_falls_every_day_is_known_at_its_most() -> None:
    record = known(pods=400)
    for day in range(1, 30):
        record = after(record, 15, timedelta(days=day))
        assert not record.demoted
        record = after(record, 400, timedelta(days=day, hours=12))
        assert not record.demoted, day


def test_what_has_been_small_for_two_weeks_is_known_to_be_small() -> None:
    record = known(pods=400)
    for day in range(1, 16):
        record = after(record, 15, timedelta(days=day))
    assert record.acceptedSelection.pods == 15
    assert after(record, 400, timedelta(days=16)).demoted


def test_a_clock_that_was_ahead_makes_no_trial_longer() -> None:
    ahead = after(known(), 100, 5 * HOUR, meaning="b")
    back = after(ahead, 100, MINUTE, meaning="b")
    assert back.demoted
    assert not after(back, 100, HOUR + MINUTE, meaning="b").demoted


def test_nothing_is_on_trial_where_that_is_not_wanted() -> None:
    record = known().next_record("b", Selection(9000, 900), START, timedelta(0))
    assert not record.demoted
    assert record.acceptedSelection == Selection(9000, 900)


def test_times_alone_are_stored_once_an_hour() -> None:
    assert after(known(), 100, REFRESH - MINUTE) == known()
    assert after(known(), 100, REFRESH).seen == START + REFRESH
    jumped = after(known(), 501, MINUTE)
    assert after(jumped, 501, 2 * MINUTE) == jumped


STEPS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.sampled_from("aab"),
        st.sampled_from([0, 10, 51, 100, 400, 501, 600, 2600, 9000]),
    ),
    max_size=25,
)


@settings(max_examples=tries(500))
@given(STEPS)
def test_nothing_new_acts_before_it_was_shown_for_the_whole_time(
    steps: list[tuple[int, str, int]],
) -> None:
    """Steps: quarters of an hour since the last one, what the policy means, pods that it matches.

    What acts was known from the start; or that meaning with no much smaller selection was found
    so long ago, or is no jump from what acted before.
    """
    record, now = known(), START
    acted = [(START - 2 * HOUR, "a", Selection(100, 20))]
    found = list(acted)
    for quarters, meaning, pods in steps:
        now += quarters * 15 * MINUTE
        selection = Selection(pods, 20)
        record = record.next_record(meaning, selection, now, HOUR)
        if not record.demoted:
            earlier = [s for at, m, s in found if m == meaning and now - at >= HOUR]
            before = [s for _, m, s in acted if m == meaning]
            assert not all(
                selection.exceeds(past_selection) for past_selection in (*earlier, *before)
            )
            acted.append((now, meaning, selection))
        found.append((now, meaning, selection))


@given(STEPS, st.sampled_from("ab"), st.integers(0, 9000))
def test_what_stays_as_it_is_acts_after_the_whole_time(
    steps: list[tuple[int, str, int]], meaning: str, pods: int
) -> None:
    record, now = known(), START
    for quarters, other, number in steps:
        now += quarters * 15 * MINUTE
        record = record.next_record(other, Selection(number, 20), now, HOUR)
    for _ in range(6):
        record = record.next_record(meaning, Selection(pods, 20), now, HOUR)
        now += 15 * MINUTE
    assert not record.demoted


def test_policies_that_no_run_has_are_kept_for_a_while_and_bounded() -> None:
    def one(name: str, seen: datetime) -> SelectionRecord:
        return SelectionRecord.accept_selection(name, "a", Selection(1), seen)

    now = START + KEEP
    old = [one(f"p{number:03}", START + number * MINUTE) for number in range(MOST_GONE + 50)]
    current = [one("p001", now), one("q", now)]
    kept = records_to_keep([*old, one("gone", START - MINUTE)], current, now)
    assert [record.policy for record in kept] == [
        "p001",
        *(f"p{number:03}" for number in range(50, MOST_GONE + 50)),
        "q",
    ]
    assert next(record for record in kept if record.policy == "p001").seen == now
    few = [one("gone", START - MINUTE), one("kept", START)]
    assert records_to_keep(few, [], now) == few[1:]
    many = [one(f"p{number:03}", now) for number in range(MOST_GONE + 50)]
    assert records_to_keep([], many, now) == many, "those of the run are never dropped"
