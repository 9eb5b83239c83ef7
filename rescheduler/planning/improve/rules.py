"""Rules of a placement, as counters over nodes and domains: where each pod may go now."""

from typing import Protocol, runtime_checkable

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.planning.improve.loops.tables import (
    AcceptedTables,
    ApartTables,
    DomainsTables,
    RoomTables,
)

_CHUNK = 1 << 18
"""Numbers that are worked on at once, so that they stay in the cache."""


class Rule(Protocol):
    """What forbids pods some nodes, depending on who is on the node; or it is `Wide`, too."""

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether each pod, it alone, may go from where it is to each node."""
        ...

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether each pod, it alone, may go to its own node when the other there leaves.

        others: (k,) who leaves, -1 for nobody. A wide rule may leave them out of
        account, for it tells by `coupled` which moves are not for one batch.
        """
        ...

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node; -1 is no node."""
        ...


@runtime_checkable
class Wide(Rule, Protocol):
    """A rule that reaches beyond nodes: one move may make another one forbidden, wherever that is.

    groups: the number of its groups.
    """

    groups: int

    def coupled(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(k,) three times, -1 for none, of moves that are allowed one by one.

        The pod's group: of each no two pods are moved at once. The domain that the last one of what
        others might need leaves, and the domain where one comes that needs others: no two moves at
        once leave and need the same.
        """
        ...


@runtime_checkable
class Confining(Rule, Protocol):
    """A rule that lets some pods come to few nodes only, and can name them."""

    def confined(self, pods: IntArray, most: int) -> tuple[IntArray, IntArray, IntArray]:
        """The places in `pods` of those that may come to at most so many nodes, and these nodes.

        As pairs: (pairs,) the place of the pod in that answer, ascending, and (pairs,) the node.
        """
        ...


class Room:
    """What nodes have left of each resource.

    demands: (pods, resources). free: (nodes, resources) with all pods where they are at home.
    held: (resources,) whether a pod keeps its part at home until it runs elsewhere, so that
    leaving frees nothing.
    """

    def __init__(
        self, demands: FloatArray, free: FloatArray, held: BoolArray, home: IntArray
    ) -> None:
        self.demands = demands
        self.free = free.copy()
        self._kept = np.where(held, 0.0, demands)
        self._held = bool(held.any())
        self._home = home
        self._where = home.astype(np.int32, copy=True)
        # What each pod would free where it is; the last row is nobody's.
        self._taken = np.concatenate([self._kept, np.zeros((1, demands.shape[1]))])
        self._ones = np.ones(demands.shape[1])  # a product with it sums faster

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether it fits."""
        free, demands = np.ascontiguousarray(self.free[nodes].T), self.demands[pods]
        fits = np.ones((len(pods), len(nodes)), dtype=np.bool_)
        step = max(1, _CHUNK // max(1, len(nodes)))
        for start in range(0, len(pods), step):
            some = fits[start : start + step]
            for number, left in enumerate(free):
                some &= demands[start : start + step, number, None] <= left
        if self._held:
            homes = self._home[pods]
            (away,) = np.nonzero(homes != self._where[pods])
            if len(away):
                at, columns = np.nonzero(homes[away, None] == nodes)
                rows = away[at]
                left = self.free[nodes[columns]]
                fits[rows, columns] = (left >= self._kept[pods[rows]]).all(axis=1)
        return fits

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether it fits."""
        lacking = self._takes(pods, nodes)
        lacking -= self.free[nodes]
        lacking -= self._taken[others]
        return self._nothing(lacking)

    def _takes(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        taken: FloatArray = self.demands[pods]
        if self._held:
            (back,) = np.nonzero(self._home[pods] == nodes)
            taken[back] = self._kept[pods[back]]
        return taken

    def _nothing(self, lacking: FloatArray) -> BoolArray:
        """Whether nothing is lacking, along the last axis."""
        np.maximum(lacking, 0.0, out=lacking)
        enough: BoolArray = (lacking @ self._ones) == 0.0
        return enough

    def tables(self) -> RoomTables:
        """As loops work on them."""
        return RoomTables(self.demands, self._kept, self._taken, self.free, self._home, self._where)

    def kinds(self) -> IntArray:
        """(pods,) what each asks for."""
        _, number = np.unique(self.demands, axis=0, return_inverse=True)
        return number.ravel().astype(np.int32)

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        here = self._where[pods]
        for at, sign in ((here, 1.0), (nodes, -1.0)):
            taken = self._takes(pods, at)
            placed = at >= 0
            np.add.at(self.free, at[placed], sign * taken[placed])
        self._taken[pods] = taken
        self._where[pods] = nodes


class Accepted:
    """What no move changes. masks: (shapes, nodes). shape: (pods,) the row of each."""

    def __init__(self, masks: BoolArray, shape: IntArray) -> None:
        self._masks = masks
        self._shape = shape

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether the node accepts it."""
        found: BoolArray = self._masks[self._shape[pods][:, None], nodes]
        return found

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether the node accepts it."""
        found: BoolArray = self._masks[self._shape[pods], nodes]
        return found

    def tables(self) -> AcceptedTables:
        """As loops work on them."""
        return AcceptedTables(np.ascontiguousarray(self._masks), self._shape.astype(np.int32))

    def kinds(self) -> IntArray:
        """(pods,) the shape of each."""
        return self._shape

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Nothing changes."""


class Apart:
    """No two pods of a group on one node (required anti-affinity by hostname to its own kind).

    group: (pods,) the group of each pod, -1 for none.
    """

    def __init__(self, group: IntArray, nodes: int, where: IntArray) -> None:
        several = np.bincount(group[group >= 0], minlength=1) > 1
        number = np.where(several, np.cumsum(several), 0)
        self._group = np.where(group >= 0, number[group], 0)
        self._count = np.zeros((int(several.sum()) + 1, nodes), dtype=np.int16)
        placed = where >= 0
        np.add.at(self._count, (self._group[placed], where[placed]), 1)
        self._count[0] = 0
        self._where = where.copy()

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether none of its group is there."""
        found: BoolArray = self._count[self._group[pods][:, None], nodes] == 0
        return found

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether none of its group is there, but for the one that leaves."""
        group = self._group[pods]
        alike = (others >= 0) & (self._group[others] == group) & (group > 0)
        found: BoolArray = self._count[group, nodes] - alike == 0
        return found

    def tables(self) -> ApartTables:
        """As loops work on them."""
        return ApartTables(self._group.astype(np.int32), self._count, self._where)

    def kinds(self) -> IntArray:
        """(pods,) the group of each."""
        return self._group

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        some = self._group[pods] > 0
        pods, nodes = pods[some], nodes[some]
        first, count = self._group[pods] * self._count.shape[1], self._count.reshape(-1)
        for at, sign in ((self._where[pods], np.int16(-1)), (nodes, np.int16(1))):
            placed = at >= 0
            np.add.at(count, first[placed] + at[placed], sign)
        self._where[pods] = nodes


class LeastDomains:
    """A group stays in at least so many domains.

    group: (pods,). least: (groups,). domain: (nodes,).
    """

    def __init__(self, group: IntArray, least: IntArray, domain: IntArray, where: IntArray) -> None:
        bound = least > 1
        number = np.where(bound, np.cumsum(bound), 0)
        self._group = np.where(group >= 0, number[group], 0)
        self.groups = int(bound.sum()) + 1
        self._least = np.concatenate([np.zeros(1, dtype=least.dtype), least[bound]])
        self._domain, self._where = domain, where.copy()
        self._count = np.zeros((len(self._least), int(domain.max(initial=0)) + 1), dtype=np.int32)
        placed = np.flatnonzero((self._group > 0) & (where >= 0))
        np.add.at(self._count, (self._group[placed], domain[where[placed]]), 1)
        self._domains = (self._count > 0).sum(axis=1)

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether enough domains remain: the last pod of one goes to one without any."""
        allowed = np.ones((len(pods), len(nodes)), dtype=np.bool_)
        groups = self._group[pods]
        (rows,) = np.nonzero(groups)
        if not len(rows):
            return allowed
        groups = groups[rows]
        here = self._domain[self._where[pods[rows]]]
        last = (self._count[groups, here] == 1) & (self._domains[groups] <= self._least[groups])
        rows, groups, here = rows[last], groups[last], here[last]
        if len(rows):
            domains = self._domain[nodes]
            allowed[rows] = (self._count[groups][:, domains] == 0) | (here[:, None] == domains)
        return allowed

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether enough domains remain, whoever leaves."""
        groups = self._group[pods]
        here, there = self._domain[self._where[pods]], self._domain[nodes]
        last = (self._count[groups, here] == 1) & (self._domains[groups] <= self._least[groups])
        found: BoolArray = (here == there) | ~last | (self._count[groups, there] == 0)
        found |= groups == 0
        return found

    def tables(self) -> DomainsTables:
        """As loops work on them."""
        return DomainsTables(
            self._group.astype(np.int32),
            self._least.astype(np.int32),
            self._domain.astype(np.int32),
            self._count,
            self._domains,
            self._where,
        )

    def coupled(self, pods: IntArray, _: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Groups alone: what one may depends on no other."""
        group = np.where(self._group[pods] > 0, self._group[pods], -1)
        nobody = np.full(len(pods), -1)
        return group, nobody, nobody

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        some = self._group[pods] > 0
        pods, nodes = pods[some], nodes[some]
        groups = self._group[pods]
        for at, sign in ((self._where[pods], -1), (nodes, 1)):
            placed = at >= 0
            np.add.at(self._count, (groups[placed], self._domain[at[placed]]), sign)
        self._domains[groups] = (self._count[groups] > 0).sum(axis=1)
        self._where[pods] = nodes
