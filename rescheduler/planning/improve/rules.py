"""Rules of a placement, as counters over nodes and domains: where each pod may go now."""

from typing import Protocol, runtime_checkable

import numpy as np

from rescheduler.model.readings import BoolArray, FloatArray, IntArray

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


class Beside:
    """Groups that run only in domains where the groups that they need run, too.

    group: (pods,), -1 for none. needs: pairs of a group and one that it needs. domain: (nodes,).
    """

    def __init__(self, group: IntArray, needs: IntArray, domain: IntArray, where: IntArray) -> None:
        groups = int(max(group.max(initial=0), needs.max(initial=0))) + 2
        self.groups = groups
        shape = (groups, int(domain.max(initial=0)) + 1)
        # Pods without a group are of the last one, which needs nobody and is needed by nobody.
        self._group = np.where(group >= 0, group, groups - 1).astype(np.int32)
        self._domain, self._where = domain, where.copy()
        self._nodes = np.argsort(domain, kind="stable").astype(np.int32)
        self._size = np.bincount(domain, minlength=shape[1])
        self._first = np.cumsum(self._size) - self._size
        self._needs: list[list[int]] = [[] for _ in range(groups)]
        self._needed_by: list[list[int]] = [[] for _ in range(groups)]
        for one, other in needs.tolist():
            self._needs[one].append(other)
            self._needed_by[other].append(one)
        self._is_needed = np.array([bool(each) for each in self._needed_by])
        self._is_needing = np.array([bool(each) for each in self._needs])
        self._count = np.zeros(shape, dtype=np.int32)
        placed = where >= 0
        np.add.at(self._count, (self._group[placed], domain[where[placed]]), 1)
        one, other = needs[:, 0], needs[:, 1]
        self._missing = np.empty(shape, dtype=np.int32)
        self._missing[:] = np.bincount(one, minlength=groups)[:, None]
        np.subtract.at(self._missing, self._running(other, one), 1)
        self._wanting = np.zeros(shape, dtype=np.int32)
        np.add.at(self._wanting, self._running(one, other), 1)

    def _running(self, groups: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
        """For each domain where a group of a pair runs: the other of the pair, and that domain."""
        running, domain = np.nonzero(self._count)
        order = np.argsort(groups, kind="stable")
        begin = np.searchsorted(groups[order], np.arange(self.groups + 1))
        count = begin[running + 1] - begin[running]
        before = np.cumsum(count) - count
        pair = np.repeat(begin[running] - before, count) + np.arange(int(count.sum()))
        return others[order[pair]], np.repeat(domain, count)

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether all that it needs is there, and nobody needs it where it is."""
        return self._open(pods, self._domain[nodes])

    def _open(self, pods: IntArray, domains: IntArray) -> BoolArray:
        groups, here = self._group[pods], self._domain[self._where[pods]]
        allowed: BoolArray = self._missing[groups[:, None], domains] == 0
        pinned = (self._count[groups, here] == 1) & (self._wanting[groups, here] > 0)
        allowed &= ~pinned[:, None]
        allowed |= here[:, None] == domains
        return allowed

    def confined(self, pods: IntArray, most: int) -> tuple[IntArray, IntArray, IntArray]:
        """Those that may come to few domains, as `allows` tells."""
        allowed = self._open(pods, np.arange(len(self._size), dtype=np.int32))
        (few,) = np.nonzero(allowed @ self._size <= most)
        place, domain = np.nonzero(allowed[few])
        size = self._size[domain]
        skipped = np.cumsum(size) - size
        at = np.repeat(self._first[domain] - skipped, size) + np.arange(int(size.sum()))
        places = np.repeat(place, size).astype(np.int32)
        return few.astype(np.int32), places, self._nodes[at]

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether all that it needs is there, and nobody needs it where it is."""
        groups, there = self._group[pods], self._domain[nodes]
        here = self._domain[self._where[pods]]
        pinned = (self._count[groups, here] == 1) & (self._wanting[groups, here] > 0)
        found: BoolArray = (self._missing[groups, there] == 0) & ~pinned
        found |= here == there
        return found

    def coupled(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """What `allows` asks of the others."""
        groups = self._group[pods]
        here, there = self._domain[self._where[pods]], self._domain[nodes]
        last = self._is_needed[groups] & (self._count[groups, here] == 1) & (here != there)
        group = np.where(self._is_needed[groups], groups, -1)
        return group, np.where(last, here, -1), np.where(self._is_needing[groups], there, -1)

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        groups = self._group[pods].tolist()
        here, there = self._where[pods], nodes
        from_domains = np.where(here >= 0, self._domain[here], -1).tolist()
        to_domains = np.where(there >= 0, self._domain[there], -1).tolist()
        for group, one, other in zip(groups, from_domains, to_domains, strict=True):
            if one != other:
                self._count_pod(group, one, -1)
                self._count_pod(group, other, 1)
        self._where[pods] = nodes

    def _count_pod(self, group: int, domain: int, sign: int) -> None:
        if domain < 0:
            return
        before = int(self._count[group, domain])
        self._count[group, domain] = before + sign
        if (before > 0) != (before + sign > 0):
            for other in self._needed_by[group]:
                self._missing[other, domain] -= sign
            for other in self._needs[group]:
                self._wanting[other, domain] += sign
