"""Upper bound of what a number of moves could gain, to say how good a plan is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.planning.evaluation.evaluation import NOTHING
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.allowances import Allowances
from rescheduler.policies.terms import JointBound

_ROUNDS = 24
"""How often the multipliers are worked out again, at most."""
_AMONG = 16
"""Among so many times as many pods as may move the greatest are looked for first."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one policy gains, weighted. whole: all that it costs."""

    weight: float
    bound: JointBound
    whole: float


class Best:
    """What so many moves could gain at most from a state of the working copy.

    Of policies that prove what moves gain together, each move counts with its part, and all of a
    place together with no more than the place costs. The others count with all of their cost; of
    one move alone with what it could gain on the best node. The limits allow no more of a workload,
    a node or what else they count together.

    A place p of which the chosen gain min(cap, sum of values) gains at most
    (1 - m) cap + m times the sum, for any multiplier m from 0 to 1. With the multipliers given the
    best choice is that of the greatest sums; the multipliers follow it, and the least bound counts.
    """

    def __init__(
        self, copy: WorkingCopy, best: Mapping[int, float], refused: Mapping[int, object]
    ) -> None:
        """best: pod to what it could gain alone. refused: pods that cannot be moved."""
        self._cost = copy.cost()
        self._alone = max([0.0, *best.values()])
        self._rest, self._parts = 0.0, list[_Part]()
        free = np.ones(len(copy.snapshot.pods), dtype=np.bool_)
        free[list(refused)] = False
        free[list(copy.moved)] = False
        worth = np.zeros(len(free), dtype=np.bool_)
        for binding in copy.active:
            if binding.term is None:
                continue
            weight, cost = binding.policy.weight, binding.term.cost()
            bound = binding.joint_bound()
            if bound is None:
                self._rest += weight * cost
            else:
                self._parts.append(_Part(weight, bound, weight * cost))
                worth |= free & (bound.values > NOTHING)
        self._pods = np.flatnonzero(worth).astype(np.int32)
        self._limits = self._groups(copy)

    def _groups(self, copy: WorkingCopy) -> list[tuple[IntArray, IntArray]]:
        """Of each limit the group of each pod, and how many of each group may move."""
        allowances, limits = Allowances(copy.snapshot, copy.limits), copy.limits
        pairs = []
        for row in limits.move_limits:
            # Where gangs move whole, one of them is one move of its workload.
            if row.overall or (row.per.gang_is_one and limits.gangs == "Whole"):
                continue
            groups = allowances.groups(row.per)
            most = [allowances.allowance_of(row, group).most for group in range(len(groups.names))]
            pairs.append((groups.of_pods[self._pods], np.array(most, dtype=np.int32)))
        return pairs

    def max_gain(self, moves: int) -> float:
        """What so many moves could gain at most."""
        if not moves:
            return 0.0
        least = min(self._cost, self._rest + self._joint_gain(moves))
        return min(least, self._alone) if moves == 1 else least

    def _joint_gain(self, moves: int) -> float:
        """What the policies gain that prove it."""
        multipliers = [np.ones(len(part.bound.caps) + 1) for part in self._parts]
        every = [np.ones(1) for _ in self._parts]
        least = np.inf
        for number in range(_ROUNDS):
            values = np.zeros(len(self._pods))
            fixed = 0.0
            for part, of_place, of_all in zip(self._parts, multipliers, every, strict=True):
                place = part.bound.place[self._pods]
                values += part.weight * (of_all * of_place[place]) * part.bound.values[self._pods]
                capped = part.weight * float((1.0 - of_place[:-1]) @ part.bound.caps)
                fixed += float(of_all[0]) * capped + (1.0 - float(of_all[0])) * part.whole
            chosen = self._greatest(values, moves)
            for limit in self._limits:
                other = self._greatest(values, moves, *limit)
                if values[other].sum() < values[chosen].sum():
                    chosen = other
            least = min(least, fixed + float(values[chosen].sum()))
            if not self._follow(chosen, multipliers, every, 1.0 / (1.0 + number / 4)):
                break
        return least

    def _follow(
        self, chosen: IntArray, multipliers: list[FloatArray], every: list[FloatArray], step: float
    ) -> bool:
        """Lower the multipliers of what the chosen would gain too much of, and raise the others.

        Answers whether any has changed.
        """
        pods, changed = self._pods[chosen], False
        for part, of_place, of_all in zip(self._parts, multipliers, every, strict=True):
            caps, place = part.bound.caps, part.bound.place[pods]
            gained = np.bincount(place + 1, part.bound.values[pods], len(caps) + 1)
            whole = part.weight * float(gained[0] + np.minimum(gained[1:], caps).sum())
            for multiplier, sums, most in (
                (of_place[:-1], gained[1:], caps),
                (of_all, np.array([whole]), np.array([part.whole])),
            ):
                over = np.clip((sums - most) / np.maximum(most, NOTHING), -1.0, 1.0)
                new = np.clip(multiplier - step * over, 0.0, 1.0)
                changed |= bool((new != multiplier).any())
                multiplier[:] = new
        return changed

    @staticmethod
    def _greatest(
        values: FloatArray, moves: int, group: IntArray | None = None, most: IntArray | None = None
    ) -> IntArray:
        """The places of the greatest values, of each group no more than allowed."""
        some = _AMONG * moves
        while True:
            order = np.arange(len(values), dtype=np.int32)
            if len(values) > some:
                order = np.argpartition(-values, some)[:some].astype(np.int32)
            order = order[values[order] > 0]
            order = order[np.argsort(-values[order], kind="stable")]
            if group is not None and most is not None:
                by_group = np.argsort(group[order], kind="stable")
                its = group[order][by_group]
                rank = np.empty(len(order), dtype=np.int64)
                rank[by_group] = np.arange(len(order)) - np.searchsorted(its, its)
                order = order[rank < most[group[order]]]
            if len(order) >= moves or some >= len(values):
                return order[:moves]
            some *= _AMONG
