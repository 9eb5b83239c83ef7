from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.scheduler.sampling import RACES, sample_size, scan_order, shares, with_races
from tests.cases import every
from tests.cluster import node


@every(
    [
        (5, 5),
        (99, 99),
        (100, 100),
        (250, 120),
        (500, 230),
        (1000, 420),
        (2000, 680),
        (3000, 780),
        (5000, 500),
        (10_000, 500),
    ]
)
def test_how_many_feasible_nodes_are_searched(nodes: Any, found: Any) -> None:
    assert sample_size(nodes) == found


def test_a_configured_percentage_is_used() -> None:
    assert sample_size(1000, 100) == 1000
    assert sample_size(1000, 1) == 100


def test_the_scan_takes_one_node_of_each_zone_in_turn() -> None:
    zones = ["x", "x", "y", "x", "z", "y"]
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate(zones)]
    assert scan_order(nodes).tolist() == [0, 2, 4, 1, 5, 3]


def test_ties_share_equally() -> None:
    answer = shares(np.array([7, 9, 9, 3]), np.arange(4, dtype=np.int32), 4, 4)
    assert answer.tolist() == [0, 0.5, 0.5, 0]


def enumerated(scores: list[int], ranks: list[int], nodes: int, found: int) -> list[float]:
    """The same by trying every start."""
    answer = [0.0] * len(scores)
    for start in range(nodes):
        window = sorted(range(len(scores)), key=lambda node: (ranks[node] - start) % nodes)
        window = window[:found]
        best = max(scores[node] for node in window)
        tied = [node for node in window if scores[node] == best]
        for node_object in tied:
            answer[node_object] += 1 / nodes / len(tied)
    return answer


@given(st.data())
def test_the_shares_are_those_of_trying_every_start(data: Any) -> None:
    nodes = data.draw(st.integers(1, 30))
    ranks = sorted(data.draw(st.sets(st.integers(0, nodes - 1), min_size=1)))
    scores = data.draw(st.lists(st.integers(0, 5), min_size=len(ranks), max_size=len(ranks)))
    found = data.draw(st.integers(1, nodes))
    answer = shares(np.array(scores), np.array(ranks, dtype=np.int32), nodes, found)
    assert np.allclose(answer, enumerated(scores, ranks, nodes, found))
    assert (answer > 0).tolist() == [share > 0 for share in enumerated(scores, ranks, nodes, found)]


def test_races_let_what_is_next_best_win_now_and_then() -> None:
    likely = np.array([0.0, 1.0, 0.0, 0.0])
    totals = np.array([5, 9, 7, 5], dtype=np.int64)
    ranks = np.arange(4, dtype=np.int32)
    raced = with_races(likely, totals, ranks, 4, 3)
    assert raced == pytest.approx([0, 1 - RACES, RACES, 0])
    raced = with_races(likely, totals, ranks, 4, 2)
    # Windows of two, without the best: 5 and 7, 7 and 5, 5 and 5.
    assert raced[2] > raced[0] > 0
    assert raced.sum() == pytest.approx(1.0)


def test_races_keep_the_probabilities_of_equal_nodes_equal() -> None:
    equal = np.full(300, 1 / 300)
    totals, ranks = np.zeros(300, dtype=np.int64), np.arange(300, dtype=np.int32)
    assert with_races(equal, totals, ranks, 300, 150) == pytest.approx(equal)
