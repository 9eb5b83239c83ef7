"""Steepest descent where pods are of few kinds: what each kind costs on each node is a table.

A move changes two of its columns, so the best move is always known, without asking pod by pod.
"""

from collections.abc import Iterator

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.planning.improve.descent import AT_ONCE
from rescheduler.planning.improve.placement import NOTHING, Placement


class KindDescent:
    """The single move that lowers the cost most, again and again.

    pods: which; their places in it number the arrays. most: how many may be elsewhere than at home.
    kinds: (pods,) as the placement tells them.
    """

    def __init__(self, placement: Placement, pods: IntArray, most: int, kinds: IntArray) -> None:
        self._placement, self._pods, self._most = placement, pods, most
        self._place = np.full(len(placement.home), -1, dtype=np.int32)
        self._place[pods] = np.arange(len(pods), dtype=np.int32)
        self._leaving = placement.leaving(pods)
        self._offers = KindOffers(placement, pods, kinds)

    def run(self) -> Iterator[FloatArray]:
        """Descend until nothing gains; yields what each move changed."""
        placement = self._placement
        while len(self._pods):
            total = self._leaving + self._offers.best
            if len(placement.moved) >= self._most:
                inside = self._place[list(placement.moved)]
                outside = np.ones(len(total), dtype=np.bool_)
                outside[inside[inside >= 0]] = False
                total[outside] = np.inf
            place = int(total.argmin())
            change = float(total[place])
            if not change < -NOTHING:
                return
            pod, to = int(self._pods[place]), int(self._offers.to[place])
            source = int(placement.where[pod])
            placement.move(pod, to)
            self._offers.renew(np.array([source, to], dtype=np.int32), place)
            here = placement.where[self._pods]
            (changed,) = np.nonzero((here == source) | (here == to))
            self._leaving[changed] = placement.leaving(self._pods[changed])
            yield np.array([change])


class KindOffers:
    """The best node of each of some pods. best, to: (k,) what it costs to come there, and which.

    kinds: (pods,) as the placement tells them. But for the nodes where a pod is and where it was at
    home it costs what any of its kind does; what coming home costs is asked for by itself.
    """

    def __init__(self, placement: Placement, pods: IntArray, kinds: IntArray) -> None:
        self._placement, self._pods = placement, pods
        different, self._kind = np.unique(kinds[pods], return_inverse=True)
        self._order = np.argsort(self._kind, kind="stable")
        self._begin = np.searchsorted(self._kind[self._order], np.arange(len(different) + 1))
        self._asked = np.empty(len(different), dtype=np.int32)
        for kind in range(len(different)):
            self._choose(kind)
        every = np.arange(len(different), dtype=np.int32)
        step = max(1, AT_ONCE // max(1, len(placement.nodes)))
        parts = [
            self._told(every[start : start + step], placement.nodes)
            for start in range(0, len(every), step)
        ]
        self._table = np.concatenate(parts) if parts else np.empty((0, len(placement.nodes)))
        ranks = min(3, len(placement.nodes))
        self._least = np.empty((ranks, len(different)))
        self._first = np.empty((ranks, len(different)), dtype=np.int32)
        self._rank(every)
        self._back = np.full(len(pods), np.inf)
        self._ask_back(np.flatnonzero(self._away()).astype(np.int32))
        self._offer()

    def renew(self, ends: IntArray, place: int) -> None:
        """These two nodes have changed: the pod at that place has moved."""
        self._choose(int(self._kind[place]))
        every = np.arange(len(self._table), dtype=np.int32)
        self._table[:, ends] = told = self._told(every, ends)
        changed = np.isin(self._first, ends).any(axis=0)
        changed |= (told < self._least[-1][:, None]).any(axis=1)
        self._rank(every[changed])
        away = self._away()
        self._back[place] = np.inf
        asked = away & np.isin(self._placement.home[self._pods], ends)
        asked[place] = away[place]
        self._ask_back(np.flatnonzero(asked).astype(np.int32))
        self._offer()

    def _away(self) -> BoolArray:
        found: BoolArray = self._placement.where[self._pods] != self._placement.home[self._pods]
        return found

    def _members(self, kind: int) -> IntArray:
        found: IntArray = self._pods[self._order[self._begin[kind] : self._begin[kind + 1]]]
        return found

    def _choose(self, kind: int) -> None:
        """Choose who is asked for its kind, at home if one is."""
        pods = self._members(kind)
        at_home = self._placement.where[pods] == self._placement.home[pods]
        self._asked[kind] = pods[int(at_home.argmax())]

    def _told(self, kinds: IntArray, nodes: IntArray) -> FloatArray:
        """(kinds, n) what coming there costs; infinite where it may not.

        Of the nodes where it is and where it is at home a pod tells nothing: another of its kind
        is asked. If all are there, or at home there, nobody need know.
        """
        asked = self._asked[kinds]
        table = self._placement.arriving(asked, nodes)
        where, home = self._placement.where, self._placement.home
        silent = (where[asked][:, None] == nodes) | (home[asked][:, None] == nodes)
        for column in np.flatnonzero(silent.any(axis=0)).tolist():
            node, others, rows = nodes[column], [], []
            for row in np.flatnonzero(silent[:, column]).tolist():
                pods = self._members(int(kinds[row]))
                telling = (where[pods] != node) & (home[pods] != node)
                table[row, column] = np.inf
                if telling.any():
                    others.append(pods[int(telling.argmax())])
                    rows.append(row)
            if rows:
                told = self._placement.arriving(
                    np.array(others, dtype=np.int32), nodes[column : column + 1]
                )
                table[rows, column] = told[:, 0]
        return table

    def _rank(self, kinds: IntArray) -> None:
        """The best three nodes of these kinds."""
        table = self._table[kinds]
        rows = np.arange(len(kinds))
        for rank in range(len(self._first)):
            first = table.argmin(axis=1)
            self._first[rank, kinds], self._least[rank, kinds] = first, table[rows, first]
            table[rows, first] = np.inf

    def _ask_back(self, places: IntArray) -> None:
        pods = self._pods[places]
        homes, column = np.unique(self._placement.home[pods], return_inverse=True)
        for number, home in enumerate(homes.tolist()):
            some = column == number
            at = np.array([home], dtype=np.int32)
            self._back[places[some]] = self._placement.arriving(pods[some], at)[:, 0]

    def _offer(self) -> None:
        where, home = self._placement.where[self._pods], self._placement.home[self._pods]
        to = self._first[0][self._kind]
        best = self._least[0][self._kind]
        for rank in range(1, len(self._first)):
            own = (to == where) | (to == home)
            to = np.where(own, self._first[rank][self._kind], to)
            best = np.where(own, self._least[rank][self._kind], best)
        best = np.where((to == where) | (to == home), np.inf, best)
        back = self._back < best
        self.best, self.to = np.where(back, self._back, best), np.where(back, home, to)


def candidates(placement: Placement, pods: IntArray, count: int) -> IntArray:
    """At most so many of these pods, ascending, that save most by leaving."""
    saved: FloatArray = placement.leaving(pods)
    if len(pods) <= count:
        return pods
    return np.sort(pods[np.argpartition(saved, count)[:count]])
