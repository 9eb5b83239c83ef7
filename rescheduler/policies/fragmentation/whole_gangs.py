"""Which pending gangs have places for all of their pods at once: all of a gang, or nothing.

A gang whose last pod finds no place waits with all of them, so each of its pods costs 1.0 until
there is room for every one. What is free goes to the gangs in their order; one for which it is too
little leaves it to those after it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import FloatArray

Parts = Sequence[tuple[int, int]]
"""The gangs of a shape's pods, in their order, with how many are of each."""


class WholeGangs:
    """The gangs of some shapes, by how many places there are for each shape."""

    def __init__(self, shapes: Sequence[Parts]) -> None:
        self._shapes: dict[int, list[tuple[int, int]]] = {}
        for number, parts in enumerate(shapes):
            for gang, count in parts:
                self._shapes.setdefault(gang, []).append((number, count))
        self.pods = {
            gang: sum(count for _, count in self._shapes[gang]) for gang in sorted(self._shapes)
        }
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def gangs_without_room(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The gangs without room where each shape has so many places, in their order."""
        if places not in self._known:
            self._known[places] = tuple(self._first_fit(list(places)))
        return self._known[places]

    def cost(self, places: tuple[int, ...]) -> float:
        """How many pods the gangs without room have."""
        return float(sum(self.pods[gang] for gang in self.gangs_without_room(places)))

    def costs(self, places: npt.NDArray[np.int64]) -> FloatArray:
        """(rows,) the cost for each column of (shapes, rows) places."""
        distinct, which = np.unique(places, axis=1, return_inverse=True)
        costs = np.array([self.cost(tuple(column)) for column in distinct.T.tolist()])
        answer: FloatArray = costs[which.reshape(-1)]
        return answer

    def needed_places(self, gang: int, places: tuple[int, ...]) -> list[tuple[int, int]]:
        """Each shape of a gang without room, and of how many places it would have room."""
        lacking = set(self.gangs_without_room(places))
        taken = [0] * len(places)
        for other, parts in self._shapes.items():
            if other not in lacking:
                for shape, count in parts:
                    taken[shape] += count
        return [(shape, taken[shape] + count) for shape, count in self._shapes[gang]]

    def _first_fit(self, free_places: list[int]) -> list[int]:
        lacking = []
        for gang in self.pods:
            parts = self._shapes[gang]
            if any(free_places[shape] < count for shape, count in parts):
                lacking.append(gang)
                continue
            for shape, count in parts:
                free_places[shape] -= count
        return lacking
