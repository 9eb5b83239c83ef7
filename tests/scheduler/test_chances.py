"""The landing over windows against the slow way: score every window by itself."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.scheduler import chances as module
from rescheduler.scheduler.chances import chances
from rescheduler.scheduler.normalizing import ByMaximum, ByRange, Relative
from rescheduler.scheduler.plugins.spread_score import BySpread, SpreadCount
from rescheduler.scheduler.windows import Windows
from tests.draws import tries

Maker = Callable[[Any], Relative]
"""Makes the score of some of the nodes, by their indices."""


def ints(data: Any, count: int, low: int, high: int) -> Any:
    values = data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    return np.array(values, dtype=np.int64)


def by_maximum(data: Any, count: int) -> Maker:
    raw, reverse = ints(data, count, 0, 4), data.draw(st.booleans())
    return lambda chosen: ByMaximum(raw[chosen], reverse=reverse)


def by_range(data: Any, count: int) -> Maker:
    raw = ints(data, count, -3, 5)
    return lambda chosen: ByRange(raw[chosen])


def by_spread(data: Any, count: int) -> Maker:
    strict, many = data.draw(st.booleans()), data.draw(st.booleans())
    zones = ints(data, count, -1, 25 if many else 2).astype(np.int32)
    scored = zones >= 0 if strict else np.ones(count, dtype=np.bool_)
    on_node = ints(data, count, 0, 2).astype(np.int32)
    in_zone = ints(data, 27, 0, 9).astype(np.int32)

    def make(chosen: Any) -> Relative:
        mine = zones[chosen]
        return BySpread(
            [
                SpreadCount(on_node[chosen], None, 3),
                SpreadCount(np.where(mine >= 0, in_zone[mine], -1).astype(np.int32), mine, 5),
            ],
            scored[chosen],
        )

    return make


def one_by_one(
    base: Any, makers: list[tuple[int, Maker]], ranks: Any, nodes: int, found: int
) -> Any:
    """The same by trying every start of the scan."""
    count = len(base)
    answer = np.zeros(count)
    for start in range(nodes):
        first = int(np.searchsorted(ranks, start)) % count
        window = (first + np.arange(min(found, count))) % count
        total = base[window].copy()
        for weight, make in makers:
            total += weight * make(window).points()
        tied = window[total == total.max()]
        answer[tied] += 1 / len(tied) / nodes
    return answer


@settings(max_examples=tries(500))
@given(st.data())
def test_chances_are_those_of_scoring_every_window_by_itself(data: Any) -> None:
    nodes = data.draw(st.integers(1, 24))
    places = data.draw(st.sets(st.integers(0, nodes - 1), min_size=1))
    ranks = np.array(sorted(places), dtype=np.int32)
    count = len(ranks)
    found = data.draw(st.integers(1, nodes))
    base = ints(data, count, 0, data.draw(st.sampled_from([0, 3, 60])))
    kinds = data.draw(st.lists(st.sampled_from([by_maximum, by_range, by_spread]), max_size=3))
    makers = [(data.draw(st.integers(1, 6)), kind(data, count)) for kind in kinds]
    everyone = np.arange(count)
    relatives = [(weight, make(everyone)) for weight, make in makers]
    with patch.object(module, "_FEW_STRETCHES", data.draw(st.sampled_from([0, 64]))):
        answer = chances(base, relatives, ranks, nodes, found)
    assert np.allclose(answer, one_by_one(base, makers, ranks, nodes, found))


@given(st.data())
def test_windows_answer_as_slices_do(data: Any) -> None:
    count = data.draw(st.integers(1, 20))
    width = data.draw(st.integers(1, count))
    values, codes = ints(data, count, -5, 5), ints(data, count, -1, 3).astype(np.int32)
    flags = ints(data, count, 0, 1).astype(np.bool_)
    windows = Windows(count, width)
    slices = [(start + np.arange(width)) % count for start in range(count)]
    assert windows.maximum(values).tolist() == [values[window].max() for window in slices]
    assert windows.minimum(values).tolist() == [values[window].min() for window in slices]
    around = [[start for start in range(count) if node in slices[start]] for node in range(count)]
    assert windows.least_around(values).tolist() == [values[window].min() for window in around]
    assert windows.total(flags).tolist() == [flags[window].sum() for window in slices]
    seen = set(codes[flags].tolist())
    whole = all(set(codes[window][flags[window]].tolist()) == seen for window in slices)
    assert windows.have_all_codes(codes, flags) is whole
    distinct = [len(np.unique(codes[window][flags[window]])) for window in slices]
    assert windows.distinct(codes, flags).tolist() == distinct


def test_circumstances_differ_however_far_apart_they_are() -> None:
    """Their numbers side by side do not fit into 64 bits."""
    one = np.array([0, 2**32] * 50, dtype=np.int64)
    other = np.array([0] * 99 + [2**32 - 1], dtype=np.int64)
    rows, which = module._distinct([one, other], np.arange(100, dtype=np.int32))
    assert rows[which].tolist() == np.stack([one, other], axis=1).tolist()
