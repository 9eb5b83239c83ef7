"""In which batch each move is sent: the run waits for replacements between batches."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat


def number(
    moves: Iterable[tuple[int, Sequence[Hashable]]],
    size: int,
    groups: Sequence[str] = (),
    after: Sequence[Sequence[int]] = (),
) -> list[int]:
    """The batch of each move, counted from 1 and never falling along the plan.

    moves: workload index of each move, in the order of the plan, and what it shares with others:
    indices of PodDisruptionBudgets, and images to pull. A batch holds at most `size` moves, and
    never two of one workload or that share something, because evictions under one budget must not
    race, and a registry throttles who pulls an image everywhere at once. The order of the plan is
    kept, because each landing was predicted with the moves before it done.

    groups: the group of each move, "" alone. A group has a batch of its own and is never split,
    whatever its size: from the first eviction on it is not whole, so the others follow at once.
    after: the places in the plan of the moves that make room for each: they come in batches before.
    """
    answer: list[int] = []
    batch, held, current = 1, 0, ""
    workloads: set[int] = set()
    taken: set[Hashable] = set()
    rows = zip(moves, groups or repeat(""), after or repeat(()), strict=False)
    for (workload, shared), group, first in rows:
        races = held >= size or workload in workloads or not taken.isdisjoint(shared)
        races = races or any(answer[place] == batch for place in first)
        if held and (group != current or (races and not group)):
            batch, held = batch + 1, 0
            workloads, taken = set(), set()
        answer.append(batch)
        held, current = held + 1, group
        workloads.add(workload)
        taken.update(shared)
    return answer
