"""The kernel of traffic: what it counts by pods is what the formula says by nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.policies.locality.traffic_kernel import TrafficKernel
from rescheduler.policies.locality.traffic_sides import by_sides

NODES = 4


@dataclass(frozen=True)
class Pair:
    one: IntArray
    other: IntArray
    amount: float


def pods(*numbers: int) -> IntArray:
    return np.array(numbers, dtype=np.int32)


A, B, C, D = pods(0, 1, 2), pods(3, 4), pods(5, 6, 7, 8), pods(9)
PAIRS = [Pair(A, B, 3.0), Pair(C, D, 5.0), Pair(C, A, 2.0), Pair(pods(0, 3, 9), pods(1, 5), 1.0)]
"""The last has pods of several sides, so that some are at two sides."""


def by_formula(pairs: Sequence[Pair], where: IntArray) -> float:
    cost = 0.0
    for pair in pairs:
        near = sum(
            min((where[pair.one] == node).mean(), (where[pair.other] == node).mean())
            for node in range(NODES)
        )
        cost += pair.amount * (1.0 - near)
    return cost


def test_it_costs_what_the_formula_says_wherever_pods_are_and_go() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        where = random.integers(-1, NODES, size=10).astype(np.int32)
        kernel = TrafficKernel(PAIRS, where, NODES, np.ones(10, dtype=np.bool_))
        assert kernel.cost() == pytest.approx(by_formula(PAIRS, where))
        pod, there = int(random.integers(10)), int(random.integers(NODES))
        kernel.commit(Shift(pod, int(where[pod]), there))
        where[pod] = there
        assert kernel.cost() == pytest.approx(by_formula(PAIRS, where))


def test_a_side_of_several_pairs_is_counted_once() -> None:
    found, sides, members = by_sides(PAIRS)
    assert [end.amount for end in found] == [3.0, 2.0, 5.0, 1.0]
    assert sides.tolist() == [[0, 1], [2, 0], [2, 3], [4, 5]]
    assert [member.tolist() for member in members[:4]] == [array.tolist() for array in (A, B, C, D)]
    assert len(members) == 6


def test_no_pairs_cost_nothing() -> None:
    kernel = TrafficKernel([], pods(0, 1), 2, np.ones(2, dtype=np.bool_))
    assert kernel.cost() == 0.0
    assert kernel.departure_deltas(pods(0, 1)).tolist() == [0.0, 0.0]
