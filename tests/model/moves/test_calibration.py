"""Landings beside their predictions: what one comparison says, and what is kept of many."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.moves.calibration import LandingRecord, compare, scheduler_version
from rescheduler.model.moves.history import COMPARED_NODES, MOST_RECORDS, History
from rescheduler.model.moves.past_move import PastMove
from tests.cases import every

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


def past(**more: Any) -> PastMove:
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": "u",
        "namespace": "default",
        "pod": "web",
        "workload": "w",
        "controllerKind": "ReplicaSet",
        "source": "n1",
        "at": NOW,
        "state": "ready",
        "scheduler": "1.36",
        "landing": {"n2": 0.75, "n3": 0.25},
        "replacement": "r",
        "landedOn": "n2",
        **more,
    }
    return PastMove(**fields)


@st.composite
def landings(draw: st.DrawFn) -> tuple[dict[str, float], float]:
    """Probabilities of up to six nodes, and of staying Pending."""
    weights = draw(st.lists(st.integers(0, 9), min_size=2, max_size=7).filter(any))
    shares = [weight / sum(weights) for weight in weights]
    return {f"n{number}": share for number, share in enumerate(shares[1:])}, shares[0]


@given(landings())
def test_the_expected_score_is_the_mean_over_the_prediction_itself(
    predicted: tuple[dict[str, float], float],
) -> None:
    landing, unschedulable = predicted
    chances = {**landing, "": unschedulable}
    found = {place: compare(landing, unschedulable, place) for place in chances}
    mean = sum(chances[place] * found[place].brier for place in chances)
    for place, comparison in found.items():
        assert 0 <= comparison.brier <= 2
        assert comparison.expected == pytest.approx(mean)
        assert comparison.within == (chances[place] > 0)
        assert comparison.likeliest == (chances[place] == max(chances.values()))


@given(landings())
def test_a_node_that_was_not_predicted_is_a_miss(predicted: tuple[dict[str, float], float]) -> None:
    comparison = compare(*predicted, "elsewhere")
    assert not comparison.within
    assert not comparison.likeliest
    assert 1 <= comparison.brier <= 2


def test_equally_likely_nodes_are_all_the_likeliest() -> None:
    third = 1 / 3
    found = [compare({"a": third, "b": third, "c": third}, 0.0, place) for place in "abc"]
    assert all(comparison.likeliest and comparison.within for comparison in found)
    assert found[0].brier == pytest.approx(found[0].expected)


def test_nodes_that_are_not_named_contradict_nothing_unless_all_are_named() -> None:
    assert compare({"a": 0.5}, 0.0, "z").within
    assert not compare({"a": 0.5, "b": 0.5}, 0.0, "z").within
    assert not compare({"a": 0.5}, 0.5, "z").within
    assert not compare({"a": 0.5, "b": 0.0}, 0.0, "b").within, "it was named, with nothing"


@every([("v1.36.3", "1.36"), ("1.34.4-gke.1", "1.34"), ("v1.35+", "1.35"), ("", "unknown")])
def test_a_version_is_that_of_the_minor_release(said: str, version: str) -> None:
    assert scheduler_version(said) == version


def test_each_move_is_counted_once() -> None:
    history, move = History(), past()
    assert history.learn(move, NOW)
    assert not history.learn(move, NOW)
    (record,) = history.landings
    assert (record.kind, record.version, record.compared) == ("ReplicaSet", "1.36", 1)
    assert (record.within, record.likeliest, record.at) == (1.0, 1.0, NOW)
    assert record.brier == pytest.approx(0.0625 * 2)


def test_a_replacement_that_stays_pending_is_a_landing_too() -> None:
    history = History()
    history.learn(past(state="lost", landedOn="", unschedulable=0.0), NOW)
    assert (history.landings[0].compared, history.landings[0].within) == (1, 0.0)


@every(
    [
        {"state": "lost", "landedOn": "", "replacement": ""},
        {"state": "evicted", "landedOn": ""},
        {"state": "refused", "landedOn": "", "replacement": ""},
        {"scheduler": ""},
    ]
)
def test_what_says_nothing_of_the_scheduler_is_not_counted(more: dict[str, Any]) -> None:
    history = History()
    assert not history.learn(past(**more), NOW)
    assert history.landings == []


def test_a_landing_that_was_not_predicted_is_kept_as_such() -> None:
    def unpredicted(**more: Any) -> bool:
        move = past(**more)
        History().learn(move, NOW)
        return move.unpredicted

    assert not unpredicted(landedOn="n2")
    assert not unpredicted(landedOn="n3"), "though another was likelier"
    assert unpredicted(landedOn="n1"), "it came back, which was not predicted"
    assert not unpredicted(landedOn="n1", landing={"n1": 0.4, "n2": 0.6}), "a chance that was taken"
    assert not unpredicted(landedOn="n9", landing={"n2": 0.5}), (
        "nodes that are not named have the rest"
    )
    assert not unpredicted(landedOn="", state="lost"), "it landed nowhere"


def test_a_compared_move_keeps_only_its_likeliest_nodes() -> None:
    landing = {f"n{number:03}": (number + 1) / 5050 for number in range(100)}
    move = past(landing=landing, landedOn="n000")
    history = History()
    history.learn(move, NOW)
    assert history.landings[0].within == 1.0, "all were considered before"
    assert list(move.landing) == [f"n{number:03}" for number in range(99, 99 - COMPARED_NODES, -1)]


@given(st.lists(st.booleans(), max_size=600))
def test_the_sums_are_bounded_and_follow_the_latest(hits: list[bool]) -> None:
    record = LandingRecord(kind="ReplicaSet", version="1.36")
    for hit in hits:
        record.add(compare({"n2": 1.0}, 0.0, "n2" if hit else "n3"), NOW)
    assert record.compared == len(hits)
    assert 0 <= record.within <= record.weight <= 200 + 1e-6
    for hit in [True] * 600:
        record.add(compare({"n2": 1.0}, 0.0, "n2" if hit else "n3"), NOW)
    assert record.within / record.weight > 0.9


def test_no_more_records_are_kept_than_there_is_room_for() -> None:
    history = History()
    for minor in range(MOST_RECORDS + 10):
        history.learn(past(scheduler=f"1.{minor}"), NOW + timedelta(days=minor))
    assert [record.version for record in history.landings] == [
        f"1.{minor}" for minor in range(10, MOST_RECORDS + 10)
    ]
