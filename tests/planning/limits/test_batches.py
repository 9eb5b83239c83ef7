"""Batches: never two of one workload or budget, never out of order, never too many."""

from hypothesis import given
from hypothesis import strategies as st

from rescheduler.planning.limits.batches import number

MOVES = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 2), max_size=1)))


@given(MOVES, st.integers(1, 4))
def test_a_batch_holds_few_and_no_two_that_could_race(
    moves: list[tuple[int, list[int]]], size: int
) -> None:
    batches = number(moves, size)
    assert batches == sorted(batches)
    assert batches[:1] == [1] * bool(moves)
    assert set(batches) == set(range(1, max(batches, default=0) + 1))
    for batch in set(batches):
        held = [move for move, its in zip(moves, batches, strict=True) if its == batch]
        budgets = [each for _, selected in held for each in selected]
        assert len(held) <= size
        assert len({workload for workload, _ in held}) == len(held)
        assert len(set(budgets)) == len(budgets)


def test_moves_that_cannot_race_go_together() -> None:
    assert number([(0, []), (1, [5]), (0, []), (2, [5]), (3, [])], 2) == [1, 1, 2, 2, 3]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(1, 4)), max_size=6),
       st.integers(1, 4))  # fmt: skip
def test_a_group_has_a_batch_of_its_own_whatever_its_size(
    runs: list[tuple[str, int]], size: int
) -> None:
    groups = [
        f"{group}{number}" if group else ""
        for number, (group, count) in enumerate(runs)
        for _ in range(count)
    ]
    moves = [(0 if group else index, [0] if group else []) for index, group in enumerate(groups)]
    batches = number(moves, size, groups)
    assert batches == sorted(batches)
    for batch in set(batches):
        held = [group for group, its in zip(groups, batches, strict=True) if its == batch]
        assert len(set(held)) == 1
        assert held[0] or len(held) <= size
    for group in set(groups) - {""}:
        pairs = zip(groups, batches, strict=True)
        assert len({batch for each, batch in pairs if each == group}) == 1
