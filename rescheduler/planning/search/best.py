"""The most that a number of moves could gain: how far from the best a plan can be."""

from collections.abc import Mapping

import numpy as np

from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.allowances import Allowances


class Best:
    """What so many moves could gain at most from a state of the working copy.

    Each could gain as much as it could alone, wherever it went, and the limits allow no more of a
    workload, a node or what else they count together. All are counted together only as far as there
    is cost. It holds for moves that do not make each other worth more than they are alone.
    """

    def __init__(self, copy: WorkingCopy, best: Mapping[int, float]) -> None:
        """best: pod to at most how much moving it could lower the weighted cost."""
        self._cost = copy.cost()
        pods = np.fromiter(best, np.int32, len(best))
        worth = np.fromiter(best.values(), np.float64, len(best))
        order = np.lexsort((pods, -worth))[: int((worth > 0).sum())]
        self._order: list[int] = pods[order].tolist()
        self._best = best
        allowances, limits = Allowances(copy.snapshot, copy.limits), copy.limits
        self._limits: list[tuple[list[int], list[int]]] = []
        for row in limits.move_limits:
            # Where gangs move whole, one of them is one move of its workload.
            if row.overall or (row.per.gang_is_one and limits.gangs == "Whole"):
                continue
            groups = allowances.groups(row.per)
            most = [allowances.of(row, group).most for group in range(len(groups.names))]
            self._limits.append((groups.of_pods[self._order].tolist(), most))

    def of(self, moves: int) -> float:
        """What so many moves could gain at most."""
        return min([self._cost, *(self._sum(moves, *limit) for limit in self._limits)])

    def _sum(self, moves: int, groups: list[int], most: list[int]) -> float:
        """The sum of the greatest, of each group no more than allowed.

        groups: of each pod in the order of what it could gain. most: of each group.
        """
        taken = [0] * len(most)
        total, left = 0.0, moves
        for pod, group in zip(self._order, groups, strict=True):
            if left == 0:
                break
            if taken[group] < most[group]:
                taken[group] += 1
                total += self._best[pod]
                left -= 1
        return total
