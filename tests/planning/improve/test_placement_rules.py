"""Rules as counters: where pods may go while others come and go, against the rule read out loud."""

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.planning.improve.colocation_rule import Beside
from rescheduler.planning.improve.placement_rules import Apart, PlacementRule, ResourceRule
from tests.draws import tries

DOMAIN = np.array([0, 0, 1, 2], dtype=np.int32)
NODES = np.arange(4, dtype=np.int32)
NEEDS = [(0, 1), (1, 2)]


def apart(groups: list[int], where: list[int]) -> bool:
    pairs = [pair for pair in zip(groups, where, strict=True) if pair[0] >= 0]
    return len(set(pairs)) == len(pairs)


def beside(groups: list[int], where: list[int]) -> bool:
    places = {
        g: {DOMAIN[n] for h, n in zip(groups, where, strict=True) if h == g} for g in range(3)
    }
    return all(places[one] <= places[other] for one, other in NEEDS)


placements = st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 3)), min_size=1, max_size=7)


@settings(max_examples=tries(500))
@given(
    rule=st.sampled_from(["apart", "beside"]),
    pods=placements,
    tries=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=6),
)
def test_what_is_allowed_is_what_keeps_the_rule(
    rule: str, pods: list[tuple[int, int]], tries: list[tuple[int, int]]
) -> None:
    groups, where = [pod[0] for pod in pods], [pod[1] for pod in pods]
    group, at = np.array(groups, dtype=np.int32), np.array(where, dtype=np.int32)
    rules: dict[str, tuple[Callable[[], PlacementRule], Callable[[list[int], list[int]], bool]]] = {
        "apart": (lambda: Apart(group, 4, at), apart),
        "beside": (lambda: Beside(group, np.array(NEEDS, dtype=np.int32), DOMAIN, at), beside),
    }
    made, kept = rules[rule]
    if not kept(groups, where):
        return
    counters = made()
    for pod, node in tries:
        if pod >= len(pods):
            continue
        table = counters.allows(np.arange(len(pods), dtype=np.int32), NODES)
        for one in range(len(pods)):
            for there in range(4):
                if there == where[one]:
                    continue
                after = [*where[:one], there, *where[one + 1 :]]
                assert not table[one, there] or kept(groups, after), (one, there)
                if rule != "beside":  # which is stricter: the last one that others need stays
                    assert table[one, there] or not kept(groups, after), (one, there)
        if table[pod, node]:
            counters.commit(np.array([pod], dtype=np.int32), np.array([node], dtype=np.int32))
            where[pod] = node


def test_pods_without_a_group_are_none_of_the_last_group() -> None:
    group = np.array([0, 1, -1], dtype=np.int32)
    needs = np.array([(0, 1)], dtype=np.int32)
    domain = np.array([0, 1], dtype=np.int32)
    rule = Beside(group, needs, domain, np.array([0, 0, 1], dtype=np.int32))
    allowed = rule.allows(np.arange(3, dtype=np.int32), np.arange(2, dtype=np.int32))
    assert allowed.tolist() == [[True, False], [True, False], [True, True]]


@settings(max_examples=tries(100))
@given(seed=st.integers(0, 1000), lenient=st.booleans())
def test_room_for_many_is_room_for_each(seed: int, *, lenient: bool) -> None:
    chance = np.random.default_rng(seed)
    demands = chance.integers(0, 5, size=(6, 3)).astype(np.float64)
    free = chance.integers(-3, 6, size=(4, 3)).astype(np.float64)
    home = chance.integers(4, size=6).astype(np.int32)
    eased = np.array([lenient, False, lenient])
    rule = ResourceRule(demands, free, home, home, eased)
    rule.commit(np.array([0, 1], dtype=np.int32), np.array([2, 3], dtype=np.int32))
    where = np.array([2, 3, *home[2:]])
    left = free.copy()
    np.add.at(left, home[:2], demands[:2])
    np.subtract.at(left, where[:2], demands[:2])
    pods = np.arange(6, dtype=np.int32)
    allowed = rule.allows(pods, NODES[::-1])
    for row, column in np.ndindex(allowed.shape):
        one, to = pods[row : row + 1], NODES[::-1][column : column + 1]
        if to[0] == where[row]:
            continue  # it is there
        asked = (demands[row] > 0) & ~(eased & (to[0] == home[row]))
        assert allowed[row, column] == (demands[row] <= left[to[0]])[asked].all()
        assert allowed[row, column] == rule.admits(one, to, np.array([-1], dtype=np.int32))[0]
