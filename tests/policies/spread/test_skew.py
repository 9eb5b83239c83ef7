"""The fewest moves, against a search through all of them."""

import itertools

import numpy as np
import pytest

from rescheduler.policies.spread import skew
from rescheduler.policies.spread.skew import Counts, SkewBounds

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
        if any(distribution[-1] - distribution[0] <= allowed for distribution in front):
            return moves
        front = {
            tuple(sorted(n - (i == a) + (i == b) for i, n in enumerate(distribution)))
            for distribution in front
            for a, b in itertools.permutations(range(len(distribution)), 2)
            if distribution[a]
        }
    raise AssertionError


def needed(counts: tuple[int, ...] | Counts, rule: SkewBounds) -> int:
    return skew.moves_needed(skew.histogram(np.array(counts, dtype=np.int64)), rule)


def capped(counts: tuple[int, ...], cap: int) -> int:
    """The pods above the cap, or above the fair share rounded up."""
    most = max(cap, -(-sum(counts) // len(counts)))
    return sum(max(count - most, 0) for count in counts)


RULES = [
    (counts, rule)
    for counts, allowed in SMALL
    for rule in (SkewBounds(allowed), SkewBounds(allowed, floored=True), SkewBounds(cap=allowed))
]


def test_moves_needed_is_the_fewest() -> None:
    for counts, allowed in SMALL:
        assert needed(counts, SkewBounds(allowed)) == fewest(counts, allowed), counts


def test_with_too_few_domains_every_pod_above_the_skew_must_leave() -> None:
    for counts, allowed in SMALL:
        above = sum(max(count - allowed, 0) for count in counts)
        assert needed(counts, SkewBounds(allowed, floored=True)) == above


def test_a_cap_below_the_fair_share_is_the_fair_share() -> None:
    for counts, cap in SMALL:
        assert needed(counts, SkewBounds(cap=cap)) == capped(counts, cap)


def test_surplus_sums_to_the_moves_and_takes_only_what_is_there() -> None:
    for distribution, rule in RULES:
        counts = np.array(distribution)
        gives = skew.surplus(counts, skew.histogram(counts), rule)
        assert gives.sum() == needed(distribution, rule)
        assert (gives <= counts).all()


def test_changes_predict_every_move() -> None:
    for counts, rule in RULES:
        domains = skew.histogram(np.array(counts))
        before = needed(counts, rule)
        for source, destination in itertools.permutations(range(len(counts)), 2):
            if counts[source]:
                after = np.array(counts)
                after[source] -= 1
                change = skew.changes(domains, rule, counts[source])
                assert change[-1] == needed(after, rule) - before
                after[destination] += 1
                assert change[counts[destination]] == needed(after, rule) - before


def test_empty_domains_count() -> None:
    assert skew.histogram(np.array([2, 2]), 1).tolist() == [1, 0, 2]


@pytest.mark.parametrize("counts", [[], [7]])
def test_fewer_than_two_domains_cannot_be_uneven(counts: list[int]) -> None:
    held = np.array(counts, dtype=np.int64)
    domains = skew.histogram(held)
    assert skew.moves_needed(domains, SkewBounds()) == 0
    assert skew.surplus(held, domains, SkewBounds()).sum() == 0
