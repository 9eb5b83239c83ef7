"""What was found in every cycle since a time is remembered, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model import finding_history as module
from rescheduler.model.finding_history import LONGEST_GAP, FindingHistory, Observation
from tests.cases import every

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def key(number: int) -> bytes:
    return number.to_bytes(8, "big")


def observed(
    *findings: int, policy: str = "p", meaning: str = "m", patience: timedelta = 10 * MINUTE
) -> Observation:
    return Observation(policy, meaning, patience, tuple(key(finding) for finding in findings))


def since(finding_history: FindingHistory, policy: str = "p") -> dict[int, timedelta]:
    """Each finding, and how long after START it was found first."""
    watch = finding_history.watch_of(policy)
    found = {} if watch is None else watch.first_times()
    return {int.from_bytes(key, "big"): at - START for key, at in found.items()}


def test_what_is_found_again_keeps_its_time() -> None:
    first = FindingHistory().remember([observed(1, 2)], START)
    assert since(first.remember([observed(1, 2)], START + MINUTE)) == {
        1: timedelta(0),
        2: timedelta(0),
    }


def test_what_one_cycle_does_not_find_starts_anew() -> None:
    gone = FindingHistory().remember([observed(1)], START).remember([observed()], START + MINUTE)
    assert since(gone) == {}
    assert since(gone.remember([observed(1)], START + 2 * MINUTE)) == {1: 2 * MINUTE}


def test_a_policy_that_means_something_else_starts_anew() -> None:
    first = FindingHistory().remember([observed(1)], START)
    assert since(first.remember([observed(1, meaning="n")], START + MINUTE)) == {1: MINUTE}


@every(
    [
        (10 * MINUTE, LONGEST_GAP, True),
        (10 * MINUTE, LONGEST_GAP + MINUTE, False),
        (24 * 60 * MINUTE, LONGEST_GAP + MINUTE, True),
        (24 * 60 * MINUTE, 25 * 60 * MINUTE, False),
    ]
)
def test_so_long_without_a_cycle_starts_anew(
    patience: timedelta, pause: timedelta, kept: bool
) -> None:
    first = FindingHistory().remember([observed(1, patience=patience)], START)
    later = first.remember([observed(1, patience=patience)], START + pause)
    assert since(later) == {1: timedelta(0) if kept else pause}


def test_a_policy_that_was_not_asked_keeps_what_it_knows() -> None:
    """It was not evaluated for lack of data, or another process asks for it."""
    both = FindingHistory().remember([observed(1), observed(2, policy="q")], START)
    assert since(both.remember([observed(1)], START + MINUTE), "q") == {2: timedelta(0)}
    assert since(both.remember([observed(1)], START + module.KEEP + MINUTE), "q") == {}


def test_a_clock_that_was_ahead_makes_nothing_older() -> None:
    ahead = FindingHistory().remember([observed(1)], START + 60 * MINUTE)
    assert since(ahead.remember([observed(1)], START)) == {1: timedelta(0)}


def test_where_it_is_full_the_old_stay_and_the_worst_of_the_new_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_FINDINGS", 4)
    first = FindingHistory().remember([observed(1, 2), observed(9, policy="q")], START)
    later = first.remember([observed(7, 6, 2, 1, 5)], START + MINUTE)
    assert since(later) == {1: timedelta(0), 2: timedelta(0), 7: MINUTE}
    assert since(later, "q") == {9: timedelta(0)}
    assert since(later.remember([observed(6, 2)], START + 2 * MINUTE)) == {
        2: timedelta(0),
        6: 2 * MINUTE,
    }


HISTORY = st.lists(
    st.tuples(st.integers(0, 300), st.frozensets(st.integers(0, 5))), min_size=1, max_size=12
)


@given(HISTORY)
def test_it_is_the_time_of_the_first_of_the_cycles_that_all_found_it(
    observations: list[tuple[int, frozenset[int]]],
) -> None:
    """Against the plain reading of the rule: back from the last cycle until one did not find it, or
    came too long before the next."""
    found, at, times = FindingHistory(), START, []
    for minutes, findings in observations:
        at += minutes * MINUTE
        found = found.remember([observed(*sorted(findings))], at)
        times.append((at, findings))
    expected = {}
    for finding in times[-1][1]:
        first = times[-1][0]
        for when, findings in reversed(times[:-1]):
            if finding not in findings or first - when > LONGEST_GAP:
                break
            first = when
        expected[finding] = first - START
    assert since(found) == expected


@given(HISTORY)
def test_runs_make_no_finding_younger_and_pauses_none_older(
    observations: list[tuple[int, frozenset[int]]],
) -> None:
    """Monotone in time: what is known in a cycle is known at the next, or is gone."""
    found, at = FindingHistory(), START
    for minutes, findings in observations:
        before, at = since(found), at + minutes * MINUTE
        found = found.remember([observed(*sorted(findings))], at)
        for finding, when in since(found).items():
            assert when in (before.get(finding), at - START)
