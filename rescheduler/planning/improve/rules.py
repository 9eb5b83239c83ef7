"""Rules of a placement, as counters over nodes and domains: where each pod may go now."""

from typing import Protocol

import numpy as np

from rescheduler.model.move import Shift
from rescheduler.model.readings import BoolArray, FloatArray, IntArray


class Rule(Protocol):
    """What forbids pods some nodes, depending on where the others are."""

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether each pod, it alone, may go from where it is to each node."""
        ...

    def commit(self, shift: Shift) -> None:
        """Move the pod; -1 is no node."""
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

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether it fits."""
        free, demands = self.free[nodes], self.demands[pods]
        fits = np.ones((len(pods), len(nodes)), dtype=np.bool_)
        for resource in range(free.shape[1]):
            fits &= free[:, resource] >= demands[:, resource, None]
        if self._held:
            for row, column in zip(*np.nonzero(self._home[pods][:, None] == nodes), strict=True):
                fits[row, column] = bool((free[column] >= self._kept[pods[row]]).all())
        return fits

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        pod, home = shift.pod, self._home[shift.pod]
        for node, sign in ((shift.source, 1.0), (shift.destination, -1.0)):
            if node >= 0:
                self.free[node] += sign * (self._kept if node == home else self.demands)[pod]


class Accepted:
    """What no move changes. masks: (shapes, nodes). shape: (pods,) the row of each."""

    def __init__(self, masks: BoolArray, shape: IntArray) -> None:
        self._masks = masks
        self._shape = shape

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether the node accepts it."""
        found: BoolArray = self._masks[self._shape[pods][:, None], nodes]
        return found

    def commit(self, shift: Shift) -> None:
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

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether none of its group is there."""
        found: BoolArray = self._count[self._group[pods][:, None], nodes] == 0
        return found

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = self._group[shift.pod]
        if group:
            for node, sign in ((shift.source, -1), (shift.destination, 1)):
                if node >= 0:
                    self._count[group, node] += sign


class LeastDomains:
    """A group stays in at least so many domains.

    group: (pods,). least: (groups,). domain: (nodes,).
    """

    def __init__(self, group: IntArray, least: IntArray, domain: IntArray, where: IntArray) -> None:
        bound = least > 1
        number = np.where(bound, np.cumsum(bound), 0)
        self._group = np.where(group >= 0, number[group], 0)
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

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = self._group[shift.pod]
        for node, sign in ((shift.source, -1), (shift.destination, 1)):
            if group and node >= 0:
                domain = self._domain[node]
                before = self._count[group, domain]
                self._count[group, domain] = before + sign
                self._domains[group] += int(before + sign > 0) - int(before > 0)
        self._where[shift.pod] = shift.destination


class Beside:
    """Groups that run only in domains where the groups that they need run, too.

    group: (pods,), -1 for none. needs: pairs of a group and one that it needs. domain: (nodes,).
    """

    def __init__(self, group: IntArray, needs: IntArray, domain: IntArray, where: IntArray) -> None:
        groups = int(max(group.max(initial=0), needs.max(initial=0))) + 2
        shape = (groups, int(domain.max(initial=0)) + 1)
        # Pods without a group are of the last one, which needs nobody and is needed by nobody.
        self._group = np.where(group >= 0, group, groups - 1).astype(np.int32)
        self._domain, self._where = domain, where.copy()
        self._needs: list[list[int]] = [[] for _ in range(groups)]
        self._needed_by: list[list[int]] = [[] for _ in range(groups)]
        for one, other in needs.tolist():
            self._needs[one].append(other)
            self._needed_by[other].append(one)
        self._count = np.zeros(shape, dtype=np.int32)
        placed = where >= 0
        np.add.at(self._count, (self._group[placed], domain[where[placed]]), 1)
        self._missing = np.zeros(shape, dtype=np.int32)
        self._wanting = np.zeros(shape, dtype=np.int32)
        if len(needs):
            np.add.at(self._missing, needs[:, 0], (self._count == 0)[needs[:, 1]].astype(np.int32))
            np.add.at(self._wanting, needs[:, 1], (self._count > 0)[needs[:, 0]].astype(np.int32))

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether all that it needs is there, and nobody needs it where it is."""
        groups, domains = self._group[pods], self._domain[nodes]
        here = self._domain[self._where[pods]]
        allowed: BoolArray = self._missing[groups[:, None], domains] == 0
        pinned = (self._count[groups, here] == 1) & (self._wanting[groups, here] > 0)
        allowed &= ~pinned[:, None]
        allowed |= here[:, None] == domains
        return allowed

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        group = int(self._group[shift.pod])
        for node, sign in ((shift.source, -1), (shift.destination, 1)):
            if node < 0:
                continue
            domain = self._domain[node]
            before = int(self._count[group, domain])
            self._count[group, domain] = before + sign
            if (before > 0) != (before + sign > 0):
                for other in self._needed_by[group]:
                    self._missing[other, domain] -= sign
                for other in self._needs[group]:
                    self._wanting[other, domain] += sign
        self._where[shift.pod] = shift.destination
