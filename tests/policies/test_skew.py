"""The fewest moves, against a search through all of them."""

import itertools

import numpy as np
import pytest

from rescheduler.policies import skew

SMALL = [
    (counts, allowed)
    for domains in (1, 2, 3)
    for counts in itertools.product(range(6), repeat=domains)
    for allowed in (1, 2, 3)
]


def fewest(counts: tuple[int, ...], allowed: int) -> int:
    """Breadth-first search over all single moves."""
    front = {tuple(sorted(counts))}
    for moves in itertools.count():
        if any(each[-1] - each[0] <= allowed for each in front):
            return moves
        front = {
            tuple(sorted(n - (i == a) + (i == b) for i, n in enumerate(each)))
            for each in front
            for a, b in itertools.permutations(range(len(each)), 2)
            if each[a]
        }
    raise AssertionError


def test_moves_needed_is_the_fewest() -> None:
    for counts, allowed in SMALL:
        assert skew.moves_needed(np.array(counts), allowed) == fewest(counts, allowed), counts


def test_surplus_sums_to_the_moves_and_takes_only_what_is_there() -> None:
    for counts, allowed in SMALL:
        gives = skew.surplus(np.array(counts), allowed)
        assert gives.sum() == skew.moves_needed(np.array(counts), allowed)
        assert (gives <= counts).all()


def test_changes_foretell_every_move() -> None:
    for counts, allowed in SMALL:
        before = skew.moves_needed(np.array(counts), allowed)
        for source, destination in itertools.permutations(range(len(counts)), 2):
            if counts[source]:
                after = np.array(counts)
                after[source] -= 1
                change = skew.changes(np.array(counts), allowed, counts[source])
                assert change[-1] == skew.moves_needed(after, allowed) - before
                after[destination] += 1
                assert change[counts[destination]] == skew.moves_needed(after, allowed) - before


@pytest.mark.parametrize("counts", [[], [7]])
def test_fewer_than_two_domains_cannot_be_uneven(counts: list[int]) -> None:
    assert skew.moves_needed(np.array(counts, dtype=np.int64), 1) == 0
    assert skew.surplus(np.array(counts, dtype=np.int64), 1).sum() == 0
