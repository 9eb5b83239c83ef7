"""Who exchanges traffic: pairs of sides, sides of pods, and groups of pods that are at the same."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rescheduler.model.cluster.readings import IntArray


class TrafficSides(Protocol):
    """Two sets of pods that exchange traffic, and what that amounts to."""

    @property
    def one(self) -> IntArray:
        """One side."""
        ...

    @property
    def other(self) -> IntArray:
        """The other side."""
        ...

    @property
    def amount(self) -> float:
        """What it costs if none of the traffic is near."""
        ...


def by_sides(pairs: Sequence[TrafficSides]) -> tuple[list[TrafficSides], IntArray, list[IntArray]]:
    """The pairs in an order that brings those with a side in common near each other.

    With them (pairs, 2) the side at each end, by the same order, and the pods of each side.
    """
    side_numbers: dict[bytes, int] = {}
    pods: list[IntArray] = []
    ends: list[tuple[int, int]] = []
    for pair in pairs:
        for array in (pair.one, pair.other):
            if side_numbers.setdefault(array.tobytes(), len(side_numbers)) == len(pods):
                pods.append(array)
        ends.append((side_numbers[pair.one.tobytes()], side_numbers[pair.other.tobytes()]))
    order = _neighbors(ends)
    numbers: dict[int, int] = {}
    for number in order:
        for side in ends[number]:
            numbers.setdefault(side, len(numbers))
    sides = np.array([[numbers[side] for side in ends[pair]] for pair in order], dtype=np.int32)
    return [pairs[pair] for pair in order], sides.reshape(-1, 2), [pods[side] for side in numbers]


def _neighbors(ends: Sequence[tuple[int, int]]) -> list[int]:
    """The pairs, each followed by those that have a side in common with it (breadth first)."""
    of_side: dict[int, list[int]] = {}
    for number, sides in enumerate(ends):
        for side in sides:
            of_side.setdefault(side, []).append(number)
    order: dict[int, None] = {}
    for start in range(len(ends)):
        waiting = deque([start])
        while waiting:
            number = waiting.popleft()
            if number not in order:
                order[number] = None
                for side in ends[number]:
                    waiting.extend(of_side.pop(side, ()))
    return list(order)


def group_by_sides(
    ends: IntArray, sides: Sequence[IntArray], pods: int
) -> tuple[IntArray, list[tuple[int, ...]], list[tuple[int, int, int]]]:
    """(pods,) the group of each, -1 for none; the sides of each group; and its rows.

    ends: (pairs, 2) sides. A row is a group, a pair and the end of it that the group is at; they
    ascend.
    """
    held: dict[int, tuple[int, ...]] = {}
    for number, its in enumerate(sides):
        for pod in its.tolist():
            held[pod] = (*held.get(pod, ()), number)
    numbers: dict[tuple[int, ...], int] = {}
    group = np.full(pods, -1, dtype=np.int32)
    for pod, group_sides in held.items():
        group[pod] = numbers.setdefault(group_sides, len(numbers))
    at: list[list[tuple[int, int]]] = [[] for _ in sides]
    for pair, both in enumerate(ends.tolist()):
        for end, side in enumerate(both):
            at[side].append((pair, end))
    rows = [
        (number, *row)
        for number, group_sides in enumerate(numbers)
        for row in sorted(row for side in group_sides for row in at[side])
    ]
    return group, list(numbers), rows
