"""The placement that an improvement works on: where pods are, what that costs, what may move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.planning.improve.placement_rules import PlacementRule, Wide
from rescheduler.policies.shared.separable_terms import Attracting, Exchanging, Kernel

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
        rules: Sequence[PlacementRule],
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
        self.movable = self.rank_pods(np.flatnonzero(movable & (home >= 0)).astype(np.int32))
        self.nodes = self.nodes_ranked(every[1])
        self.price = np.zeros(len(home)) if price is None else price
        self.moved: dict[int, None] = {}
        self.settle()
        self.kernels = tuple(kernels)
        self.rules = tuple(rules)
        self._wide = [rule for rule in rules if isinstance(rule, Wide)]
        self._priced = bool(self.price.any())
        self._exchanging: list[tuple[float, Exchanging]] = []
        self._other: list[Kernel] = []
        for kernel in kernels:
            if isinstance(kernel.kernel, Exchanging):
                self._exchanging.append((kernel.weight, kernel.kernel))
            else:
                self._other.append(kernel.kernel)
        self.exchanges = not self._other

    def rank_pods(self, pods: IntArray) -> IntArray:
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
        kernels = [
            kernel.kernel for kernel in self.kernels if isinstance(kernel.kernel, Attracting)
        ]
        if len(kernels) < len(self.kernels) or not self.exchanges:
            return self.movable[:0]
        return self.movable[self.savings()[self.movable] > 0.0]

    def savings(self) -> FloatArray:
        """(pods,) at most what each can take from the cost."""
        saved = np.zeros(len(self.home))
        for kernel in self.kernels:
            saved += kernel.weight * kernel.kernel.savings()
        return saved

    def attracting_nodes(self, pods: IntArray, random: np.random.Generator) -> IntArray:
        """(k,) a node for each that attracts it, by one of the kernels. Only if some are."""
        kernels = [
            kernel.kernel for kernel in self.kernels if isinstance(kernel.kernel, Attracting)
        ]
        nodes: IntArray = kernels[int(random.integers(len(kernels)))].attracting_nodes(pods, random)
        return nodes

    def cost(self) -> float:
        """The weighted cost, and what the moves cost by themselves."""
        total = sum(kernel.weight * kernel.kernel.cost() for kernel in self.kernels)
        return float(total + self.price[list(self.moved)].sum())

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod left its node."""
        total = np.zeros(len(pods))
        for kernel in self.kernels:
            total += kernel.weight * kernel.kernel.departure_deltas(pods)
        away = self.where[pods] != self.home[pods]
        total -= np.where(away, self.price[pods], 0.0)
        return total

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) change of the cost if each pod came to each node; infinite where it may not."""
        total = self.raw_arrival_deltas(pods, nodes)
        self.forbid(pods, nodes, total)
        return total

    def forbid(self, pods: IntArray, nodes: IntArray, total: FloatArray) -> None:
        """Make what the rules do not allow infinite. total: (k, n)."""
        allowed = np.ones(total.shape, dtype=np.bool_)
        for rule in self.rules:
            allowed &= rule.allows(pods, nodes)
        np.copyto(total, np.inf, where=~allowed)

    def raw_arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) the same, but for rules: infinite only where the pod is."""
        first, *others = self.kernels
        total = first.kernel.arrival_deltas(pods, nodes)
        total *= first.weight
        for term in others:
            total += term.weight * term.kernel.arrival_deltas(pods, nodes)
        if self._priced:
            total += np.where(self.home[pods][:, None] == nodes, 0.0, self.price[pods][:, None])
        np.copyto(total, np.inf, where=self.where[pods][:, None] == nodes)
        return total

    def adding_at(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) `raw_arrival_deltas` of each pod to its own node; only if `exchanges` is true."""
        nobody = np.full(len(pods), -1, dtype=np.int32)
        added = self.exchange_deltas(pods, nodes, nobody) - self.departure_deltas(pods)
        added[self.where[pods] == nodes] = np.inf
        return added

    def move(self, pod: int, destination: int) -> None:
        """Move the pod for now."""
        shift = Shift(pod, int(self.where[pod]), destination)
        for kernel in self.kernels:
            kernel.kernel.commit(shift)
        pods, nodes = np.array([pod], dtype=np.int32), np.array([destination], dtype=np.int32)
        for rule in self.rules:
            rule.commit(pods, nodes)
        self.where[pod] = destination
        self._note(pod, destination)

    def settle(self) -> None:
        """Find out who is away from home, after `where` was changed with all that depends on it."""
        away = np.flatnonzero(self.where != self.home).astype(np.int32)
        self.moved = dict.fromkeys(self.rank_pods(away).tolist())

    def _note(self, pod: int, destination: int) -> None:
        if destination == self.home[pod]:
            self.moved.pop(pod, None)
        else:
            self.moved[pod] = None

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) change of the cost if each pod, it alone, went to its own, other node.

        others: (k,) the pod there that comes to where this one is, -1 for none. Rules are left out.
        Only where `exchanges` is true.
        """
        change = np.zeros(len(pods))
        for weight, kernel in self._exchanging:
            change += weight * kernel.exchange_deltas(pods, nodes, others)
        if self._priced:
            change += self._displacement(pods, nodes) * self.price[pods]
            coming = np.flatnonzero(others >= 0)
            other = others[coming]
            change[coming] += (
                self._displacement(other, self.where[pods[coming]]) * self.price[other]
            )
        return change

    def displacement(self, pods: IntArray, nodes: IntArray, others: IntArray) -> IntArray:
        """(k,) how many more pods are away from home then, below 0 for fewer."""
        coming = self._displacement(others, self.where[pods])
        coming[others < 0] = 0
        return self._displacement(pods, nodes) + coming

    def _displacement(self, pods: IntArray, nodes: IntArray) -> IntArray:
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
        """(k,) whether every rule does; the first, of room, is slowest, so it comes last."""
        admitted = np.arange(len(pods))
        for rule in reversed(self.rules):
            admitted = admitted[rule.admits(pods[admitted], nodes[admitted], others[admitted])]
        allowed = np.zeros(len(pods), dtype=np.bool_)
        allowed[admitted] = True
        return allowed

    def compatible_moves(self, pods: IntArray, nodes: IntArray, others: IntArray) -> IntArray:
        """Which moves, of some that are admitted one by one, can be made at once.

        In their order; no two share a node, nor anything that a rule looks at.
        """
        apart = _disjoint_moves(self.where[pods].tolist(), nodes.tolist())
        if not self._wide:
            return apart
        pods, nodes, others = pods[apart], nodes[apart], others[apart]
        here, coming = self.where[pods], others >= 0
        kept = np.ones(len(pods), dtype=np.bool_)
        order = np.arange(len(pods))
        for rule in self._wide:
            group, vacated, needed = rule.couplings(pods, nodes)
            back = [np.where(coming, array, -1) for array in rule.couplings(others, here)]
            first = np.full(rule.groups + 1, len(pods))  # the last is of those without a group
            for array in (group, back[0]):
                np.minimum.at(first, array, order)
            for array in (group, back[0]):
                kept &= (array < 0) | (first[array] == order)
            emptied = np.concatenate([vacated, back[1]])
            emptied = emptied[emptied >= 0]
            if len(emptied):
                for array in (needed, back[2]):
                    kept &= ~(array[:, None] == emptied).any(axis=1)
        return apart[kept]

    def move_all(self, pods: IntArray, nodes: IntArray, others: IntArray) -> None:
        """Move each pod to its node and the other there back, as `compatible_moves` allows."""
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


def _disjoint_moves(sources: list[int], targets: list[int]) -> IntArray:
    """Which of the moves share no node with those before them that are among these."""
    touched: set[int] = set()
    chosen = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source not in touched and target not in touched:
            touched.add(source)
            touched.add(target)
            chosen.append(number)
    return np.array(chosen, dtype=np.int32)
