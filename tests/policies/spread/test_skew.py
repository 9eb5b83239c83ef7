"""The fewest moves, against a search through all of them."""

import itertools

import numpy as np
import pytest

from rescheduler.policies.spread import skew
from rescheduler.policies.spread.skew import Counts, Rule

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


def needed(counts: tuple[int, ...] | Counts, rule: Rule) -> int:
    return skew.moves_needed(skew.histogram(np.array(counts, dtype=np.int64)), rule)


def capped(counts: tuple[int, ...], cap: int) -> int:
    """The pods above the cap, or above the fair share rounded up."""
    most = max(cap, -(-sum(counts) // len(counts)))
    return sum(max(count - most, 0) for count in counts)


RULES = [
    (counts, rule)
    for counts, allowed in SMALL
    for rule in (Rule(allowed), Rule(allowed, floored=True), Rule(cap=allowed))
]


def test_moves_needed_is_the_fewest() -> None:
    for counts, allowed in SMALL:
        assert needed(counts, Rule(allowed)) == fewest(counts, allowed), counts


def test_with_too_few_domains_every_pod_above_the_skew_must_leave() -> None:
    for counts, allowed in SMALL:
        above = sum(max(count - allowed, 0) for count in counts)
        assert needed(counts, Rule(allowed, floored=True)) == above


def test_a_cap_below_the_fair_share_is_the_fair_share() -> None:
    for counts, cap in SMALL:
        assert needed(counts, Rule(cap=cap)) == capped(counts, cap)


def test_surplus_sums_to_the_moves_and_takes_only_what_is_there() -> None:
    for each, rule in RULES:
        counts = np.array(each)
        gives = skew.surplus(counts, skew.histogram(counts), rule)
        assert gives.sum() == needed(each, rule)
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
    assert skew.moves_needed(domains, Rule()) == 0
    assert skew.surplus(held, domains, Rule()).sum() == 0
