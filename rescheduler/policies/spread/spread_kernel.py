"""Spread as a kernel: what each move changes is a table of what its two domains hold."""

from collections.abc import Sequence
from math import isqrt

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared.compressed_rows import rows_of
from rescheduler.policies.spread import skew
from rescheduler.policies.spread.domain_counts import OUTSIDE, DomainCounts

_MOST, _MOST_GROUPS = 1 << 22, 4_096
"""Up to so many counts of groups and domains are kept, and tables of so many groups."""


class SpreadKernel:
    """The kernel of groups whose domains are all compared with each other.

    Of each group it is kept how many pods each domain holds, and for each two counts that there are
    what one move between such domains changes: domains that hold as many are alike. Place 0 is
    outside of all domains, and level 0 is its level.

    where: (pods,) their nodes.
    """

    def __init__(self, groups: Sequence[DomainCounts], where: IntArray) -> None:
        self._groups = groups
        self._where = where.astype(np.int32, copy=True)
        domains = {id(group.eligible_domains): group.eligible_domains for group in groups}
        numbers = {domain: number for number, domain in enumerate(domains)}
        self._codes = np.stack([domain.codes for domain in domains.values()]).astype(np.int32)
        self._map = np.array([numbers[id(group.eligible_domains)] for group in groups])
        sizes = np.array([len(group.eligible_domains.names) + 1 for group in groups])
        self._first = np.cumsum(sizes) - sizes
        self._counts = np.zeros(int(sizes.sum()), dtype=np.int64)
        self._levels = np.zeros(len(self._counts), dtype=np.int64)
        most = [isqrt(2 * len(group.pods)) + 2 for group in groups]
        self._side = np.minimum(sizes, most) + 1
        self._begin = np.cumsum(self._side**2) - self._side**2
        self._table = np.zeros(int((self._side**2).sum()))
        self._least = np.zeros(int(self._side.sum()))
        self._row = np.cumsum(self._side) - self._side
        self._costs = np.zeros(len(groups))
        pods = np.concatenate([group.pods for group in groups])
        of = np.repeat(np.arange(len(groups)), [len(group.pods) for group in groups])
        order = np.argsort(pods, kind="stable")
        self._of = of[order].astype(np.int32)
        self._rows = np.searchsorted(pods[order], np.arange(len(where) + 1)).astype(np.int32)
        self.movable: BoolArray = np.diff(self._rows) > 0
        for number, group in enumerate(groups):
            places = self._codes[self._map[number], self._where[group.pods]] + 1
            size = int(sizes[number])
            self._counts[self._first[number] :][:size] = np.bincount(places, minlength=size)
            self._renew(number)

    @staticmethod
    def fits(groups: Sequence[DomainCounts]) -> bool:
        """Whether these can be kept so."""
        return (
            0 < len(groups) <= _MOST_GROUPS
            and all(len(group.eligible_domains.sizes) == 1 for group in groups)
            and sum(len(group.eligible_domains.names) for group in groups) <= _MOST
        )

    def cost(self) -> float:
        """Pods that must move, over all groups."""
        return float(self._costs.sum())

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) at best what leaving changes: the rest is a matter of where it goes."""
        rows, owner = rows_of(self._rows, pods)
        group = self._of[rows]
        level = self._level(group, self._where[pods[owner]])[1]
        return _sum_by_owner(owner, self._least[self._row[group] + level], len(pods))

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what going there changes beyond that."""
        movers, to = np.repeat(pods, len(nodes)), np.tile(nodes, len(pods))
        answer = self._move_deltas(movers, self._where[movers], to).reshape(len(pods), len(nodes))
        answer -= self.departure_deltas(pods)[:, None]
        return answer

    def exchange_deltas(self, pods: IntArray, nodes: IntArray, others: IntArray) -> FloatArray:
        """(k,) what changes if each pod went to its node, and the other, if any, came instead.

        Pods that are in some groups together, and not in all, count as if each moved alone.
        """
        here = self._where[pods]
        answer = self._move_deltas(pods, here, nodes)
        coming = np.flatnonzero(others >= 0)
        other = others[coming]
        answer[coming] += self._move_deltas(other, nodes[coming], here[coming])
        answer[coming[self._in_same_groups(pods[coming], other)]] = 0.0
        return answer

    def _in_same_groups(self, pods: IntArray, others: IntArray) -> BoolArray:
        """(k,) whether both are in the same groups; as pods of one workload are, by the first."""
        end = len(self._of) - 1
        one, other = self._rows[pods].clip(max=end), self._rows[others].clip(max=end)
        same_groups: BoolArray = (self._of[one] == self._of[other]) & self.movable[pods]
        return same_groups & self.movable[others]

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        self.commit_all(np.array([shift.pod]), np.array([shift.destination]))

    def commit_all(self, pods: IntArray, nodes: IntArray) -> None:
        """Move the pods."""
        rows, owner = rows_of(self._rows, pods)
        group = self._of[rows]
        for at, sign in ((self._where[pods], -1), (nodes, 1)):
            places = self._codes[self._map[group], at[owner]] + 1
            np.add.at(self._counts, self._first[group] + places, sign)
        self._where[pods] = nodes
        for number in np.unique(group).tolist():
            self._renew(number)

    def savings(self) -> FloatArray:
        """(pods,) one move lowers what a group needs by one at most."""
        weights = np.array([group.weight for group in self._groups])[self._of]
        owner = np.repeat(np.arange(len(self._where)), np.diff(self._rows))
        return _sum_by_owner(owner, weights, len(self._where))

    def _level(self, group: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """(k,) the place of each node in its group, and its level there."""
        places: IntArray = self._codes[self._map[group], nodes] + 1
        return places, self._levels[self._first[group] + places]

    def _move_deltas(self, pods: IntArray, sources: IntArray, nodes: IntArray) -> FloatArray:
        rows, owner = rows_of(self._rows, pods)
        group = self._of[rows]
        place, level = self._level(group, sources[owner])
        to, its = self._level(group, nodes[owner])
        change = self._table[self._begin[group] + level * self._side[group] + its]
        change[place == to] = 0.0
        return _sum_by_owner(owner, change, len(pods))

    def _renew(self, number: int) -> None:
        """What moves between domains of each two counts change in the group."""
        group, first, side = self._groups[number], self._first[number], int(self._side[number])
        held = self._counts[first : self._first[number] + len(group.eligible_domains.names) + 1]
        outside, counts = int(held[0]), held[1:]
        different, level = np.unique(counts, return_inverse=True)
        self._levels[first + 1 : first + len(held)] = level + 1
        domains = skew.histogram(counts)
        free = group.free_outside
        answer = np.zeros((side, side))
        for row, count in enumerate([None, *different.tolist()]):
            if count == 0 or (count is None and not outside):
                continue
            changes = skew.changes(domains, group.rule, count)
            departure = -1 if count is None and outside > free else 0
            answer[row, 1 : len(different) + 1] = [
                changes.get(other_count, 0) + departure for other_count in different.tolist()
            ]
            answer[row, 0] = changes[OUTSIDE] + (outside >= free)
        answer *= group.weight
        begin = self._begin[number]
        self._table[begin : begin + side * side] = answer.ravel()
        least = answer[:, : len(different) + 1].min(axis=1)
        self._least[self._row[number] : self._row[number] + side] = least
        needed = skew.moves_needed(domains, group.rule) + max(0, outside - free)
        self._costs[number] = group.weight * needed


def _sum_by_owner(owner: npt.NDArray[np.integer], values: FloatArray, count: int) -> FloatArray:
    return np.bincount(owner, weights=values, minlength=count).astype(np.float64)
