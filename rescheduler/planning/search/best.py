"""The most that a number of moves could gain: how far from the best a plan can be."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rescheduler.planning.limits.allowances import Allowances
from rescheduler.planning.search.working_copy import WorkingCopy


class Best:
    """What so many moves could gain at most from a state of the working copy.

    Each could gain as much as it could alone, wherever it went, and the limits allow no more of a
    workload, node or namespace. All are counted together only as far as there is cost. It holds for
    moves that do not make each other worth more than they are alone.
    """

    def __init__(self, copy: WorkingCopy, best: Mapping[int, float]) -> None:
        """best: pod to at most how much moving it could lower the weighted cost."""
        self._cost = copy.cost()
        pods = np.fromiter(best, np.int32, len(best))
        worth = np.fromiter(best.values(), np.float64, len(best))
        order = np.lexsort((pods, -worth))[: int((worth > 0).sum())]
        self._order: list[int] = pods[order].tolist()
        self._best = best
        self._copy = copy
        self._allowances = Allowances(copy.snapshot, copy.limits)

    def of(self, moves: int) -> float:
        """What so many moves could gain at most."""
        snapshot, allowed = self._copy.snapshot, self._allowances
        node, workload = snapshot.pod_node, snapshot.pod_workload
        sums = [
            self._sum(moves, lambda pod: int(node[pod]), lambda its: allowed.node(its).most),
            self._sum(
                moves,
                lambda pod: snapshot.pods[pod].metadata.namespace,
                lambda its: allowed.namespace(its).most,
            ),
        ]
        if self._copy.limits.gangs != "Whole":  # there a whole gang is one move of its workload
            sums.append(
                self._sum(
                    moves,
                    lambda pod: int(workload[pod]),
                    lambda its: allowed.workload(its).most,
                )
            )
        return min(self._cost, *sums)

    def _sum(self, moves: int, kind: Callable[[int], Any], most: Callable[[Any], int]) -> float:
        """The sum of the greatest, of each kind no more than allowed."""
        taken: Counter[Any] = Counter()
        total, left = 0.0, moves
        for pod in self._order:
            if left == 0:
                break
            its = kind(pod)
            if taken[its] < most(its):
                taken[its] += 1
                total += self._best[pod]
                left -= 1
        return total
