"""Rule: groups that may only run in domains where the groups that they need run."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray


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
        self._needs: list[list[int]] = [[] for _ in range(groups)]
        self._needed_by: list[list[int]] = [[] for _ in range(groups)]
        for one, other in needs.tolist():
            self._needs[one].append(other)
            self._needed_by[other].append(one)
        self._is_needed = np.array([bool(dependents) for dependents in self._needed_by])
        self._is_needing = np.array([bool(need) for need in self._needs])
        self._count = np.zeros(shape, dtype=np.int32)
        placed = where >= 0
        np.add.at(self._count, (self._group[placed], domain[where[placed]]), 1)
        one, other = needs[:, 0], needs[:, 1]
        self._missing = np.empty(shape, dtype=np.int32)
        self._missing[:] = np.bincount(one, minlength=groups)[:, None]
        np.subtract.at(self._missing, self._running_partners(other, one), 1)
        self._wanting = np.zeros(shape, dtype=np.int32)
        np.add.at(self._wanting, self._running_partners(one, other), 1)

    def _running_partners(self, groups: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
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

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether all that it needs is there, and nobody needs it where it is."""
        groups, there = self._group[pods], self._domain[nodes]
        here = self._domain[self._where[pods]]
        pinned = (self._count[groups, here] == 1) & (self._wanting[groups, here] > 0)
        admitted: BoolArray = (self._missing[groups, there] == 0) & ~pinned
        admitted |= here == there
        return admitted

    def couplings(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
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
