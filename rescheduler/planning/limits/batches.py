"""In which batch each move is sent: replacements are awaited between batches."""

from collections.abc import Iterable, Sequence


def number(
    moves: Iterable[tuple[int, Sequence[int]]],
    size: int,
) -> list[int]:
    """The batch of each move, counted from 1 and never falling along the plan.

    moves: workload index and PodDisruptionBudget indices of each move, in the order of the plan.
    A batch holds at most `size` moves, and never two of one workload or of one budget, because
    evictions under one budget must not race. The order of the plan is kept, because each landing
    was predicted with the moves before it done.
    """
    answer: list[int] = []
    batch, held = 1, 0
    workloads: set[int] = set()
    budgets: set[int] = set()
    for workload, selected in moves:
        if held >= size or workload in workloads or budgets.intersection(selected):
            batch, held = batch + 1, 0
            workloads, budgets = set(), set()
        answer.append(batch)
        held += 1
        workloads.add(workload)
        budgets.update(selected)
    return answer
