"""The placement that an improvement works on: where pods are, what that costs, what may move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.planning.improve.rules import Rule, Wide
from rescheduler.policies.shared.separable import Attracting, Exchanging, Kernel

NOTHING = 1e-9
"""A gain up to this is none: sums are no more exact."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A kernel and what one unit of its cost counts."""

    kernel: Kernel
    weight: float


class Placement:
    """A working copy of arrays.

    home: (pods,) their nodes at the start. movable: (pods,) which may move at all.
    price: (pods,) what being elsewhere than at home costs by itself. where: (pods,) the nodes where
    kernels and rules have them already; None: at home. order: (pods,) and (nodes,) where each
    stands in an order that does not depend on its number; None: as they are numbered.
    ordered: whether an order was given. exchanges: whether all kernels can tell what two pods that
    change places change.
    """

    def __init__(  # noqa: PLR0913 - where pods are, may go, and what that costs
        self,
        home: IntArray,
        movable: BoolArray,
        nodes: int,
        kernels: Sequence[Priced],
        rules: Sequence[Rule],
        price: FloatArray | None = None,
        *,
        where: IntArray | None = None,
        order: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        self.home = home
        self.where = (home if where is None else where).astype(np.int32, copy=True)
        every = (np.arange(len(home), dtype=np.int32), np.arange(nodes, dtype=np.int32))
        self.ordered = order is not None
        self.ranks = every if order is None else order
        self.movable = self.ranked(np.flatnonzero(movable & (home >= 0)).astype(np.int32))
        self.nodes = self.nodes_ranked(every[1])
        self.price = np.zeros(len(home)) if price is None else price
        self.moved: dict[int, None] = {}
        self.settle()
        self.kernels = tuple(kernels)
        self.rules = tuple(rules)
        self._wide = [each for each in rules if isinstance(each, Wide)]
        self._priced = bool(self.price.any())
        self._exchanging: list[tuple[float, Exchanging]] = []
        self._other: list[Kernel] = []
        for each in kernels:
            if isinstance(each.kernel, Exchanging):
                self._exchanging.append((each.weight, each.kernel))
            else:
                self._other.append(each.kernel)
        self.exchanges = not self._other

    def ranked(self, pods: IntArray) -> IntArray:
        """The pods in their order."""
        return pods[np.argsort(self.ranks[0][pods], kind="stable")]

    def nodes_ranked(self, nodes: IntArray) -> IntArray:
        """The nodes in their order."""
        return nodes[np.argsort(self.ranks[1][nodes], kind="stable")]

    @property
    def attracted(self) -> IntArray:
        """Movable pods that nodes attract, for their traffic; none if a kernel knows no such thing.

        Only these can change the cost, so a search need ask no others.
        """
        told = [each.kernel for each in self.kernels if isinstance(each.kernel, Attracting)]
        if len(told) < len(self.kernels) or not self.exchanges:
            return self.movable[:0]
        return self.movable[self.savings()[self.movable] > 0.0]

    def savings(self) -> FloatArray:
        """(pods,) at most what each can take from the cost."""
        saved = np.zeros(len(self.home))
        for each in self.kernels:
            saved += each.weight * each.kernel.savings()
        return saved

    def attracting(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each that attracts it, by one of the kernels. Only if some are."""
        kernels = [each.kernel for each in self.kernels if isinstance(each.kernel, Attracting)]
        nodes: IntArray = kernels[int(random.integers(len(kernels)))].attracting(pods, random)
        return nodes

    def cost(self) -> float:
        """The weighted cost, and what the moves cost by themselves."""
        total = sum(each.weight * each.kernel.cost() for each in self.kernels)
        return float(total + self.price[list(self.moved)].sum())

    def leaving(self, pods: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod left its node."""
        total = np.zeros(len(pods))
        for each in self.kernels:
            total += each.weight * each.kernel.leaving(pods)
        away = self.where[pods] != self.home[pods]
        total -= np.where(away, self.price[pods], 0.0)
        return total

    def arriving(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) change of the cost if each pod came to each node; infinite where it may not."""
        total = self.adding(pods, nodes)
        self.forbid(pods, nodes, total)
        return total

    def forbid(self, pods: IntArray, nodes: IntArray, total: FloatArray) -> None:
        """Make what the rules do not allow infinite. total: (k, n)."""
        allowed = np.ones(total.shape, dtype=np.bool_)
        for rule in self.rules:
            allowed &= rule.allows(pods, nodes)
        np.copyto(total, np.inf, where=~allowed)

    def adding(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) the same, but for rules: infinite only where the pod is."""
        first, *others = self.kernels
        total = first.kernel.arriving(pods, nodes)
        total *= first.weight
        for each in others:
            total += each.weight * each.kernel.arriving(pods, nodes)
        if self._priced:
            total += np.where(self.home[pods][:, None] == nodes, 0.0, self.price[pods][:, None])
        np.copyto(total, np.inf, where=self.where[pods][:, None] == nodes)
        return total

    def adding_at(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) as `adding`, of each pod to its own node. Only where `exchanges` is true."""
        nobody = np.full(len(pods), -1, dtype=np.int32)
        added = self.exchanging(pods, nodes, nobody) - self.leaving(pods)
        added[self.where[pods] == nodes] = np.inf
        return added

    def move(self, pod: int, destination: int) -> None:
        """Move the pod for now."""
        shift = Shift(pod, int(self.where[pod]), destination)
        for each in self.kernels:
            each.kernel.commit(shift)
        pods, nodes = np.array([pod], dtype=np.int32), np.array([destination], dtype=np.int32)
        for rule in self.rules:
            rule.commit(pods, nodes)
        self.where[pod] = destination
        self._note(pod, destination)

    def settle(self) -> None:
        """Find out who is away from home, after `where` was changed with all that depends on it."""
        away = np.flatnonzero(self.where != self.home).astype(np.int32)
        self.moved = dict.fromkeys(self.ranked(away).tolist())

    def _note(self, pod: int, destination: int) -> None:
        if destination == self.home[pod]:
            self.moved.pop(pod, None)
        else:
            self.moved[pod] = None

    def exchanging(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod, it alone, went to its own, other node.

        others: (k,) the pod there that comes to where this one is, -1 for none. Rules are left out.
        Only where `exchanges` is true.
        """
        change = np.zeros(len(pods))
        for weight, kernel in self._exchanging:
            change += weight * kernel.exchanging(pods, nodes, others)
        if self._priced:
            change += self._turned(pods, nodes) * self.price[pods]
            coming = np.flatnonzero(others >= 0)
            other = others[coming]
            change[coming] += self._turned(other, self.where[pods[coming]]) * self.price[other]
        return change

    def turning(self, pods: IntArray, nodes: IntArray, others: IntArray) -> IntArray:
        """(k,) how many more pods are away from home then, below 0 for fewer."""
        coming = self._turned(others, self.where[pods])
        coming[others < 0] = 0
        return self._turned(pods, nodes) + coming

    def _turned(self, pods: IntArray, nodes: IntArray) -> IntArray:
        home = self.home[pods]
        after, before = (home != nodes).view(np.int8), (home != self.where[pods]).view(np.int8)
        turned: IntArray = (after - before).astype(np.int32)
        return turned

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether the rules let each pod, it alone, go there and the other come instead.

        Of rules that reach beyond nodes only what each of the two moves is by itself.
        """
        allowed = self._each_admits(pods, nodes, others)
        there = np.flatnonzero((others >= 0) & allowed)
        if len(there):
            allowed[there] = self._each_admits(others[there], self.where[pods[there]], pods[there])
        return allowed

    def _each_admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether every rule does; the first, of room, takes longest, so it is asked last."""
        left = np.arange(len(pods))
        for rule in reversed(self.rules):
            left = left[rule.admits(pods[left], nodes[left], others[left])]
        allowed = np.zeros(len(pods), dtype=np.bool_)
        allowed[left] = True
        return allowed

    def together(self, pods: IntArray, nodes: IntArray, others: IntArray) -> IntArray:
        """Which moves, of some that are admitted one by one, can be made at once.

        In their order; no two share a node, nor anything that a rule looks at.
        """
        apart = _apart(self.where[pods].tolist(), nodes.tolist())
        if not self._wide:
            return apart
        pods, nodes, others = pods[apart], nodes[apart], others[apart]
        here, coming = self.where[pods], others >= 0
        kept = np.ones(len(pods), dtype=np.bool_)
        order = np.arange(len(pods))
        for rule in self._wide:
            group, left, needed = rule.coupled(pods, nodes)
            back = [np.where(coming, each, -1) for each in rule.coupled(others, here)]
            first = np.full(rule.groups + 1, len(pods))  # the last is of those without a group
            for each in (group, back[0]):
                np.minimum.at(first, each, order)
            for each in (group, back[0]):
                kept &= (each < 0) | (first[each] == order)
            emptied = np.concatenate([left, back[1]])
            emptied = emptied[emptied >= 0]
            if len(emptied):
                for each in (needed, back[2]):
                    kept &= ~(each[:, None] == emptied).any(axis=1)
        return apart[kept]

    def move_all(self, pods: IntArray, nodes: IntArray, others: IntArray) -> None:
        """Move each pod to its node, and the other there to where it was, as `together` allows."""
        (coming,) = np.nonzero(others >= 0)
        both = np.concatenate([pods, others[coming]])
        ends = np.concatenate([nodes, self.where[pods[coming]]])
        for _, exchanging in self._exchanging:
            exchanging.commit_all(both, ends)
        for kernel in self._other:
            for shift in zip(both.tolist(), self.where[both].tolist(), ends.tolist(), strict=True):
                kernel.commit(Shift(*shift))
        for rule in self.rules:
            rule.commit(both, ends)
        self.where[both] = ends
        for pod, end, home in zip(
            both.tolist(), ends.tolist(), self.home[both].tolist(), strict=True
        ):
            if end == home:
                self.moved.pop(pod, None)
            else:
                self.moved[pod] = None


def _apart(sources: list[int], targets: list[int]) -> IntArray:
    """Which of the moves share no node with those before them that are among these."""
    touched: set[int] = set()
    found = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source not in touched and target not in touched:
            touched.add(source)
            touched.add(target)
            found.append(number)
    return np.array(found, dtype=np.int32)
