"""A workload whose eviction broke off a run rests from the next one on (ELG022)."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from tests.cluster import NOW
from tests.planning.eligibility.back_off import COOL, cluster, code, past, verdict


def intended(before: Snapshot, ago: timedelta, app: str = "web", **changed: Any) -> PastMove:
    return past(before, ago, app, state="intended", landedOn="", **changed)


def broken_off(before: Snapshot, ago: timedelta, app: str = "web", **changed: Any) -> PastMove:
    move = intended(before, ago, app, brokeOff=True, **changed)
    move.give_back(NOW - ago)
    return move


@given(times=st.integers(1, 12), minutes=st.integers(0, 40 * 60))
def test_what_broke_off_runs_rests_twice_as_long_each_time_up_to_the_cap(
    times: int, minutes: int
) -> None:
    before = cluster()
    ago = timedelta(minutes=minutes)
    moves = [
        broken_off(before, ago + timedelta(minutes=number), fence=number) for number in range(times)
    ]
    quiet = min(COOL * 2 ** (times - 1), timedelta(hours=24))
    assert code(before, *moves) == ("ELG022" if ago < quiet else "")
    assert code(before, *moves, on="n2", coolDownCap="24h", coolDown="0s") == (
        "ELG022" if ago < min(timedelta(minutes=2) * 2 ** (times - 1), timedelta(hours=24)) else ""
    )


def test_what_rests_is_said_and_is_its_workload_alone() -> None:
    before = cluster()
    moves = [broken_off(before, timedelta(minutes=5), fence=fence) for fence in (1, 2)]
    refused = verdict(before, *moves)
    assert refused is not None
    assert refused.message == (
        "Deployment web rests until 2026-11-21 12:55:00 UTC: 2 evictions of it got no clear answer"
    )
    others = [broken_off(before, timedelta(minutes=5), "db", fence=fence) for fence in (1, 2)]
    assert code(before, *others) == ""
    refused_by_a_budget = past(before, timedelta(minutes=5), state="refused", code="ACT005")
    assert code(before, refused_by_a_budget) == ""


def test_none_takes_its_turn_right_after_another_broke_off_a_run() -> None:
    before = cluster()
    own, other = broken_off(before, timedelta(days=3)), timedelta(minutes=29)
    assert code(before, own) == ""
    assert code(before, own, broken_off(before, other, "db")) == "ELG022"
    assert code(before, own, broken_off(before, COOL, "db")) == ""
    assert code(before, broken_off(before, other, "db")) == "", "it broke off none itself"


def test_what_has_not_begun_to_rest_does_until_a_run_begins() -> None:
    before = cluster()
    move = intended(before, timedelta(days=2))
    move.break_off("ACT005", NOW)
    assert code(before, move) == "ELG022"
    assert move.begin_rest(NOW - timedelta(minutes=29))
    assert not move.begin_rest(NOW), "it has begun"
    assert code(before, move) == "ELG022"
    move.settled = NOW - COOL
    assert code(before, move) == ""
    assert not past(before, COOL, state="refused", settled=None).begin_rest(NOW)


def test_what_is_not_known_yet_rests_too_and_begins_no_rest() -> None:
    """Also where more than one replacement of a workload may be awaited."""
    before = cluster()
    unknown = past(before, timedelta(days=2), state="intended", settled=None, landedOn="")
    assert code(before, unknown, inFlightPerWorkload=5, coolDown="0s", coolDownCap="0s") == ""
    unknown.brokeOff = True
    assert code(before, unknown, inFlightPerWorkload=5, coolDown="0s", coolDownCap="0s") == "ELG022"
    assert not unknown.begin_rest(NOW)


def test_what_was_never_sent_does_not_rest_when_it_is_given_back() -> None:
    before = cluster()
    move = intended(before, timedelta(minutes=5))
    move.give_back(NOW)
    assert code(before, move) == ""
