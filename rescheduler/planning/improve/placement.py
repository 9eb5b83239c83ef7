"""The placement that an improvement works on: where pods are, what that costs, what may move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.move import Shift
from rescheduler.model.readings import BoolArray, FloatArray, IntArray
from rescheduler.planning.improve.rules import Rule
from rescheduler.policies.shared.separable import Kernel


@dataclass(frozen=True, slots=True)
class Priced:
    """A kernel and what one unit of its cost counts."""

    kernel: Kernel
    weight: float


class Placement:
    """A working copy of arrays.

    home: (pods,) their nodes at the start. movable: (pods,) which may move at all.
    price: (pods,) what being elsewhere than at home costs by itself.
    """

    def __init__(
        self,
        home: IntArray,
        movable: BoolArray,
        nodes: int,
        kernels: Sequence[Priced],
        rules: Sequence[Rule],
        price: FloatArray | None = None,
    ) -> None:
        self.home = home
        self.where = home.astype(np.int32, copy=True)
        self.movable = np.flatnonzero(movable & (home >= 0)).astype(np.int32)
        self.nodes = np.arange(nodes, dtype=np.int32)
        self.price = np.zeros(len(home)) if price is None else price
        self.moved: dict[int, None] = {}
        self._kernels = tuple(kernels)
        self._rules = tuple(rules)

    def cost(self) -> float:
        """The weighted cost, and what the moves cost by themselves."""
        total = sum(each.weight * each.kernel.cost() for each in self._kernels)
        return float(total + self.price[list(self.moved)].sum())

    def least(self, most: int) -> float:
        """A bound: at least what the cost is after so many moves of those that may move."""
        relaxed = sum(each.weight * each.kernel.relaxed() for each in self._kernels)
        saved = np.zeros(len(self.home))
        for each in self._kernels:
            saved += each.weight * each.kernel.savings()
        saved = np.maximum((saved - self.price)[self.movable], 0.0)
        if len(saved) > most:
            saved = (
                np.partition(saved, len(saved) - most)[len(saved) - most :] if most else saved[:0]
            )
        return max(float(relaxed), self.cost() - float(saved.sum()))

    def leaving(self, pods: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod left its node."""
        total = np.zeros(len(pods))
        for each in self._kernels:
            total += each.weight * each.kernel.leaving(pods)
        away = self.where[pods] != self.home[pods]
        total -= np.where(away, self.price[pods], 0.0)
        return total

    def arriving(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) change of the cost if each pod came to each node; infinite where it may not."""
        first, *others = self._kernels
        total = first.weight * first.kernel.arriving(pods, nodes)
        for each in others:
            total += each.weight * each.kernel.arriving(pods, nodes)
        total += np.where(self.home[pods][:, None] == nodes, 0.0, self.price[pods][:, None])
        for rule in self._rules:
            total[~rule.allows(pods, nodes)] = np.inf
        total[self.where[pods][:, None] == nodes] = np.inf
        return total

    def allows(self, pod: int, node: int) -> bool:
        """Whether the pod may go there now."""
        pods, nodes = np.array([pod], dtype=np.int32), np.array([node], dtype=np.int32)
        return all(bool(rule.allows(pods, nodes)[0, 0]) for rule in self._rules)

    def move(self, pod: int, destination: int) -> None:
        """Move the pod for now."""
        shift = Shift(pod, int(self.where[pod]), destination)
        for each in self._kernels:
            each.kernel.commit(shift)
        for rule in self._rules:
            rule.commit(shift)
        self.where[pod] = destination
        if destination == self.home[pod]:
            self.moved.pop(pod, None)
        else:
            self.moved[pod] = None
