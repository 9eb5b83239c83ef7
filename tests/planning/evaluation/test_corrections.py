"""A windowed reading still shows what we moved away; planning must not act on it twice."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.evaluation.corrections import correct_readings
from tests.cluster import NOW, node, pod, reading, snapshot

WINDOW = 300.0


def move(**past: Any) -> PastMove:
    """A move of 2 GPUs from n1, 75 seconds ago."""
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": "u",
        "namespace": "default",
        "pod": "web-1",
        "workload": "w",
        "source": "n1",
        "at": NOW - timedelta(seconds=75),
        "usage": {"pod.gpu": 2.0},
        "landing": {"n2": 0.25, "n3": 0.75},
    }
    return PastMove(**(fields | past))


def loads(**past: Any) -> list[float]:
    """The corrected loads of n1 to n3 (0.5 of 8 GPUs each) after that move."""
    made = correct_readings(before(), History([move(**past)]))
    return [float(value) for value in made.readings.entries[0].values]


def before(*values: float) -> Snapshot:
    return snapshot(
        [node(f"n{i}") for i in (1, 2, 3)],
        [],
        readings=[
            reading(
                "node.gpu", values or (0.5, 0.5, 0.5), capacity=[8, 8, 8], window=WINDOW, age=0.0
            )
        ],
    )


def test_a_replacement_that_is_ready_has_moved_its_load() -> None:
    ready = NOW - timedelta(seconds=30)
    found = loads(state="ready", landedOn="n2", settled=ready)
    assert found == pytest.approx([0.5 - 0.25 * 0.75, 0.5 + 0.25 * 0.9, 0.5])


def test_an_awaited_replacement_is_expected_where_it_was_predicted() -> None:
    assert loads(state="evicted") == pytest.approx([0.3125, 0.5625, 0.6875])


def test_what_the_newest_values_have_not_seen_is_corrected_too() -> None:
    old = before()
    old.readings.entries[0].ages[:] = 15.0
    made = correct_readings(old, History([move(state="ready", settled=NOW, landedOn="n2")]))
    found = made.readings.entries[0].values.tolist()
    assert found == pytest.approx([0.5 - 0.25 * 0.8, 0.75, 0.5])


def test_a_pod_that_is_still_ending_is_still_in_the_whole_reading() -> None:
    here = replace(before(), pods=[pod("web-1", "n1")])
    ending = move(podUid=here.pods[0].metadata.uid, state="ready", settled=NOW, landedOn="n2")
    found = correct_readings(here, History([ending])).readings.entries[0].values.tolist()
    assert found == pytest.approx([0.25, 0.75, 0.5])


def test_an_unknown_outcome_makes_no_node_seem_better() -> None:
    assert loads(state="intended") == pytest.approx([0.5, 0.5625, 0.6875])


@pytest.mark.parametrize(("asked", "left"), [(200, 1 / 3), (400, 0.0)])
def test_a_pod_that_may_have_left_long_ago_makes_no_node_seem_better(
    asked: int, left: float
) -> None:
    """Its budgets count from when it was found to be gone; the readings may have seen all of it."""
    late = move(at=NOW - timedelta(seconds=asked))
    late.give_back(NOW - timedelta(seconds=50))
    late.charge_late(NOW)
    made = correct_readings(before(), History([late])).readings.entries[0].values.tolist()
    assert made == pytest.approx([0.5 - 0.25 * left, 0.5625, 0.6875])


def test_a_pod_that_was_lost_burdens_nobody() -> None:
    assert loads(state="lost") == pytest.approx([0.3125, 0.5, 0.5])


@pytest.mark.parametrize("code", ["ACT023", "ACT009"])
@pytest.mark.parametrize(("leaving", "left"), [(False, 0.5), (True, 0.25)])
def test_a_pod_that_was_charged_unread_and_is_still_there_burdens_its_node(
    leaving: bool, left: float, code: str
) -> None:
    there = pod("web-1", "n1")
    there.metadata.uid = "u"
    there.metadata.deletionTimestamp = NOW if leaving else None
    seen = replace(before(), pods=[there])
    unread = move(state="lost", code=code)
    made = correct_readings(seen, History([unread])).readings.entries[0].values.tolist()
    assert made == pytest.approx([left, 0.5, 0.5])


def test_refused_old_and_other_moves_change_nothing() -> None:
    old = NOW - timedelta(seconds=301)
    assert loads(state="refused") == [0.5, 0.5, 0.5]
    assert loads(state="ready", landedOn="n2", at=old, settled=old) == [0.5, 0.5, 0.5]
    assert loads(state="evicted", usage={"pod.cpu": 1.0}) == [0.5, 0.5, 0.5]
    assert loads(state="ready", landedOn="n9", settled=NOW, source="n8") == [0.5, 0.5, 0.5]


def test_absent_stays_absent_and_nothing_goes_below_zero() -> None:
    big = move(at=NOW, state="ready", settled=NOW, landedOn="n2", usage={"pod.gpu": 7.0})
    made = correct_readings(before(0.5, np.nan, 0.5), History([big])).readings.entries[0]
    assert made.values[0] == 0.0
    assert np.isnan(made.values[1])
    assert "1 of our own moves" in made.notes[-1]


def test_without_moves_the_snapshot_is_the_same_object() -> None:
    made = before()
    assert correct_readings(made, History()) is made
