"""Rules of a placement, as counters over nodes and domains: where each pod may go now."""

from typing import Protocol, runtime_checkable

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray

_ENOUGH = 1e300
_CHUNK = 1 << 18
"""Numbers that are worked on at once, so that they stay in the cache."""


class PlacementRule(Protocol):
    """What forbids pods some nodes, depending on who is on the node; or it is `Wide`, too."""

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether each pod, it alone, may go from where it is to each node."""
        ...

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether each pod, it alone, may go to its own node when the other there leaves.

        others: (k,) who leaves, -1 for nobody. A wide rule may leave them out of
        account, for it tells by `couplings` which moves are not for one batch.
        """
        ...

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move each pod, all of them different, to its node; -1 is no node."""
        ...


@runtime_checkable
class Wide(PlacementRule, Protocol):
    """A rule that reaches beyond nodes: one move may make another one forbidden, wherever that is.

    groups: the number of its groups.
    """

    groups: int

    def couplings(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(k,) three times, -1 for none, of moves that are allowed one by one.

        The pod's group: of each no two pods are moved at once. The domain that the last one of what
        others might need leaves, and the domain where one comes that needs others: no two moves at
        once leave and need the same.
        """
        ...


class ResourceRule:
    """What nodes have left of each resource.

    demands: (pods, resources). free: (nodes, resources) with all pods where they are. What a pod
    takes nothing of may be short where it goes. home, where: (pods,) nodes. lenient: (resources,)
    where a pod may always come home, however full that is.
    """

    def __init__(
        self,
        demands: FloatArray,
        free: FloatArray,
        home: IntArray,
        where: IntArray,
        lenient: BoolArray,
    ) -> None:
        self._free = free.copy()
        self._asked = np.where(demands > 0, demands, -_ENOUGH)
        self._asked_at_home = np.where(lenient, -_ENOUGH, self._asked)
        self._eased = bool(lenient.any())
        self._home = home
        self._where = where.astype(np.int32, copy=True)
        # The last row is nobody's.
        self._demands = np.concatenate([demands, np.zeros((1, demands.shape[1]))])
        self._ones = np.ones(demands.shape[1])  # a product with it sums faster

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether it fits."""
        free, requests = np.ascontiguousarray(self._free[nodes].T), self._asked[pods]
        fits = np.ones((len(pods), len(nodes)), dtype=np.bool_)
        step = max(1, _CHUNK // max(1, len(nodes)))
        for start in range(0, len(pods), step):
            some = fits[start : start + step]
            for number, remaining in enumerate(free):
                some &= requests[start : start + step, number, None] <= remaining
        if self._eased:
            homes = self._home[pods]
            (away,) = np.nonzero(homes != self._where[pods])
            if len(away):
                at, columns = np.nonzero(homes[away, None] == nodes)
                rows = away[at]
                remaining = self._free[nodes[columns]]
                fits[rows, columns] = (remaining >= self._asked_at_home[pods[rows]]).all(axis=1)
        return fits

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether it fits."""
        lacking: FloatArray = self._asked[pods]
        if self._eased:
            (back,) = np.nonzero(self._home[pods] == nodes)
            lacking[back] = self._asked_at_home[pods[back]]
        lacking -= self._free[nodes]
        lacking -= self._demands[others]
        np.maximum(lacking, 0.0, out=lacking)
        enough: BoolArray = (lacking @ self._ones) == 0.0
        return enough

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        for at, sign in ((self._where[pods], 1.0), (nodes, -1.0)):
            placed = at >= 0
            np.add.at(self._free, at[placed], sign * self._demands[pods[placed]])
        self._where[pods] = nodes


class Accepted:
    """What no move changes. masks: (shapes, nodes). shape: (pods,) the row of each."""

    def __init__(self, masks: BoolArray, shape: IntArray) -> None:
        self._masks = masks
        self._shape = shape

    def allows(self, pods: IntArray, nodes: IntArray) -> BoolArray:
        """(k, n) whether the node accepts it."""
        accepted: BoolArray = self._masks[self._shape[pods][:, None], nodes]
        return accepted

    def admits(self, pods: IntArray, nodes: IntArray, _: IntArray) -> BoolArray:
        """(k,) whether the node accepts it."""
        accepted: BoolArray = self._masks[self._shape[pods], nodes]
        return accepted

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
        allowed: BoolArray = self._count[self._group[pods][:, None], nodes] == 0
        return allowed

    def admits(self, pods: IntArray, nodes: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether none of its group is there, but for the one that leaves."""
        group = self._group[pods]
        alike = (others >= 0) & (self._group[others] == group) & (group > 0)
        admitted: BoolArray = self._count[group, nodes] - alike == 0
        return admitted

    def commit(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        some = self._group[pods] > 0
        pods, nodes = pods[some], nodes[some]
        first, count = self._group[pods] * self._count.shape[1], self._count.reshape(-1)
        for at, sign in ((self._where[pods], np.int16(-1)), (nodes, np.int16(1))):
            placed = at >= 0
            np.add.at(count, first[placed] + at[placed], sign)
        self._where[pods] = nodes
