"""The strategies of NodeResourcesFit, against Kubernetes' own tables and a plain reading of it."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.scheduler.plugins.node_resources.balanced_allocation import balance
from rescheduler.scheduler.plugins.node_resources.scoring_strategy import (
    broken_line,
    most_allocated,
    scorer,
)
from rescheduler.scheduler.profile import ScoringStrategy, Strategy
from tests.cases import every

RISING = ((0, 0), (100, 10))


def rows(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64).reshape(-1, 1)


@every(
    [
        ((3000, 5000), (4000, 10000), (1, 1), 62),
        ((6000, 5000), (4000, 10000), (1, 1), 75),
        ((3000, 5000), (4000, 10000), (1, 3), 56),
        ((3000, 0), (4000, 0), (1, 2), 75),
        ((0, 0), (0, 0), (1, 1), 0),
        ((0, 0), (4000, 10000), (1, 1), 0),
    ]
)
def test_most_allocated(used: Any, room: Any, weights: Any, expected: int) -> None:
    assert most_allocated(rows(*used), rows(*room), weights).tolist() == [expected]


@every(
    [
        (((10, 1), (90, 9)), {0: 10, 10: 10, 15: 15, 20: 20, 89: 89, 90: 90, 100: 90}),
        (
            ((0, 2), (40, 10), (100, 0)),
            {0: 20, 20: 60, 30: 80, 39: 98, 40: 100, 41: 99, 70: 50, 71: 49, 99: 2, 100: 0},
        ),
        (((0, 2), (40, 2), (100, 2)), {0: 20, 20: 20, 40: 20, 70: 20, 100: 20}),
        (((0, 0), (7, 1)), {1: 1, 2: 2, 3: 4, 6: 8, 7: 10, 8: 10}),
        (((0, 1), (7, 0)), {1: 9, 2: 8, 3: 6, 6: 2, 7: 0}),
    ]
)
def test_the_broken_line_rounds_each_piece_towards_its_start(shape: Any, values: Any) -> None:
    line = broken_line(shape)
    assert {percent: int(line[percent]) for percent in values} == values


@every(
    [
        # foo 2 of 8 and bar 0 of 4: what scores 0 leaves the mean.
        ((2, 0), (8, 4), (3, 5), RISING, 25),
        # (25 * 3 + 50 * 5) / 8 = 40.6
        ((2, 2), (8, 4), (3, 5), RISING, 41),
        # (25 * 1 + 50 * 1) / 2 = 37.5 is rounded up.
        ((2, 2), (8, 4), (1, 1), RISING, 38),
        ((9, 2), (8, 4), (1, 1), RISING, 75),
        ((0, 0), (0, 0), (1, 1), RISING, 0),
        ((0, 0), (8, 0), (1, 1), ((0, 10), (100, 0)), 100),
    ]
)
def test_requested_to_capacity_ratio(
    used: Any, room: Any, weights: Any, shape: Any, expected: int
) -> None:
    score = scorer(ScoringStrategy("RequestedToCapacityRatio", (), shape))
    assert score(rows(*used), rows(*room), weights).tolist() == [expected]


def by_hand(kind: str, used: list[int], room: list[int], weights: list[int], line: Any) -> int:
    """The Go source, one node and one resource at a time."""
    total = weight = 0
    for asked, has, resource_weight in zip(used, room, weights, strict=True):
        if has == 0:
            continue
        if kind == "LeastAllocated":
            score = 0 if asked > has else (has - asked) * 100 // has
        elif kind == "MostAllocated":
            score = min(asked, has) * 100 // has
        else:
            score = int(line[100 if asked > has else asked * 100 // has])
            if score <= 0:
                continue
        total += score * resource_weight
        weight += resource_weight
    if weight == 0:
        return 0
    if kind == "RequestedToCapacityRatio":
        quotient, rest = divmod(total, weight)
        return quotient + (2 * rest >= weight)
    return total // weight


amounts = st.lists(st.integers(0, 10**12), min_size=3, max_size=3)
kinds = st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, unique_by=lambda p: p[0]
).map(lambda points: tuple(sorted(points)))


@given(
    kind=kinds,
    used=st.lists(amounts, min_size=1, max_size=6),
    room=amounts,
    weights=st.lists(st.integers(1, 100), min_size=3, max_size=3),
    shape=shapes,
)
def test_every_node_is_scored_as_the_source_scores_it(
    kind: Any, used: Any, room: Any, weights: Any, shape: Any
) -> None:
    strategy = ScoringStrategy(kind, (("cpu", 1),), shape)
    table = np.array(used, dtype=np.int64).T
    rooms = np.repeat(rows(*room), len(used), axis=1)
    line = broken_line(shape)
    expected = [by_hand(kind, used_amounts, room, weights, line) for used_amounts in used]
    found = scorer(strategy)(table, rooms, weights)
    assert found.tolist() == expected
    assert all(0 <= score <= 100 for score in expected)


@given(used=amounts, room=amounts, more=st.integers(0, 10**12))
def test_most_allocated_prefers_fuller_nodes_and_least_emptier_ones(
    used: Any, room: Any, more: int
) -> None:
    fuller = [used[0] + more, *used[1:]]
    signs: dict[Strategy, int] = {"MostAllocated": 1, "LeastAllocated": -1}
    for kind, sign in signs.items():
        score = scorer(ScoringStrategy(kind))
        before, after = (score(rows(*u), rows(*room), [1, 2, 3]) for u in (used, fuller))
        assert sign * int(after[0]) >= sign * int(before[0])


def test_three_resources_deviate_by_their_population() -> None:
    # Fractions 1/4, 1/2 and 3/4: the deviation is sqrt(1/24), 0.204.
    assert balance(rows(1, 2, 3), rows(4, 4, 4)).tolist() == [79]
    # Without the third: half of the difference of 1/4 and 1/2.
    assert balance(rows(1, 2, 3), rows(4, 4, 0)).tolist() == [87]
    assert balance(rows(1, 2, 3), rows(4, 0, 0)).tolist() == [100]
