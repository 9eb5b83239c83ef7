"""Cron expressions mean what they mean to Kubernetes, also in the nights when clocks change."""

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.service.cron import parse_cron
from tests.cases import every
from tests.runtime.firings import NIGHTS, firings, on


@every(
    [
        ("0 9 * * 1-5", "Mon Tue Wed Thu Fri"),
        ("0 9 * * mon-fri", "Mon Tue Wed Thu Fri"),
        ("0 9 * * 0", "Sun"),
        ("0 9 * * 7", "Sun"),
        ("0 9 * * 5-7", "Fri Sat Sun"),
        ("0 9 * * 6,SUN", "Sat Sun"),
        ("0 9 * * */3", "Wed Sat Sun"),
        ("0 9 * * ?", "Mon Tue Wed Thu Fri Sat Sun"),
        ("0 9 ? * 2/2", "Tue Thu Sat"),
    ]
)
def test_weekdays_are_those_of_kubernetes(expression: str, fires: str) -> None:
    monday = date(2026, 6, 1)
    found = on(parse_cron(expression, "UTC"), monday, 7)
    assert found == [f"{day} 09:00" for day in fires.split()]


@every(
    [
        ("*/20 3 * * *", "03:00 03:20 03:40"),
        ("5-15/5 3 * * *", "03:05 03:10 03:15"),
        ("50/4 3 * * *", "03:50 03:54 03:58"),
        ("0 0,12 * * *", "00:00 12:00"),
        ("@daily", "00:00"),
    ]
)
def test_minutes_and_hours(expression: str, times: str) -> None:
    found = on(parse_cron(expression, "UTC"), date(2026, 6, 1))
    assert found == [f"Mon {time}" for time in times.split()]


def test_either_day_field_may_hold_when_both_are_restricted() -> None:
    found = on(parse_cron("0 9 13 * fri", "UTC"), date(2026, 6, 1), 15)
    assert found == ["Fri 09:00", "Fri 09:00", "Sat 09:00"]


def test_a_leap_day_comes_even_when_it_is_far() -> None:
    cron = parse_cron("0 0 29 2 *", "UTC")
    assert cron.next_after(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)


@every(
    [
        ("* * * *", "UTC", "has 4 fields"),
        ("60 * * * *", "UTC", "minute '60'"),
        ("0 24 * * *", "UTC", "hour '24'"),
        ("0 0 0 * *", "UTC", "day '0'"),
        ("0 0 * 13 *", "UTC", "month '13'"),
        ("0 0 * * 8", "UTC", "weekday '8'"),
        ("0 0 * * fri-mon", "UTC", "runs backwards"),
        ("*/0 * * * *", "UTC", "minute '*/0'"),
        ("0 0 * * monday", "UTC", "weekday 'monday'"),
        ("0 0 30 2 *", "UTC", "never comes true"),
        ("0 ٣ * * *", "UTC", "hour"),
        ("0 0 , * *", "UTC", "day"),
        ("0 9 * * *", "Europe/Pariss", "Europe/Pariss"),
        ("0 9 * * *", "../etc/passwd", "not known"),
    ]
)
def test_what_cannot_be_used_is_named(expression: str, zone: str, said: str) -> None:
    with pytest.raises(SettingsError, match="Maybe") as caught:
        parse_cron(expression, zone)
    assert said in caught.value.message


@pytest.mark.parametrize("zone", NIGHTS)
@pytest.mark.parametrize("hour", range(4))
@pytest.mark.parametrize("minute", [0, 15, 30, 45])
def test_a_daily_slot_runs_once_each_day_also_when_the_clock_changes(
    zone: str, hour: int, minute: int
) -> None:
    cron = parse_cron(f"{minute} {hour} * * *", zone)
    for night in NIGHTS[zone]:
        before = datetime(night.year, night.month, night.day, 12, tzinfo=cron.zone)
        found = firings(cron, before - timedelta(days=2), before + timedelta(days=1))
        assert [instant.date() for instant in found] == [
            night - timedelta(days=1),
            night,
            night + timedelta(days=1),
        ]
        assert all(instant.fold == 0 for instant in found)


@pytest.mark.parametrize("zone", NIGHTS)
def test_a_schedule_of_every_hour_follows_the_real_hours(zone: str) -> None:
    cron = parse_cron("0,30 * * * *", zone)
    for night in NIGHTS[zone]:
        begin = datetime(night.year, night.month, night.day, tzinfo=cron.zone) - timedelta(hours=6)
        found = firings(cron, begin, begin + timedelta(hours=24))
        gaps = {
            later.astimezone(UTC) - earlier.astimezone(UTC)
            for earlier, later in itertools.pairwise(found)
        }
        assert gaps == {timedelta(minutes=30)}


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    at=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made aware below
    zone=st.sampled_from(sorted(NIGHTS)),
)
def test_the_next_firing_is_later_and_within_two_days(
    minute: int, hour: int, at: datetime, zone: str
) -> None:
    instant = at.replace(tzinfo=UTC)
    following = parse_cron(f"{minute} {hour} * * *", zone).next_after(instant)
    assert following is not None
    assert instant < following <= instant + timedelta(hours=49)
    local = following.astimezone(ZoneInfo(zone))
    assert (
        local.minute == minute
        or local.utcoffset()
        != (local - timedelta(hours=2))
        .replace(tzinfo=None)
        .replace(tzinfo=ZoneInfo(zone))
        .utcoffset()
    )
