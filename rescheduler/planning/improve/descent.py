"""Steepest descent: the single move that lowers the cost most, again and again.

For each pod a few of its best nodes are kept, and a bound on what all others cost. A pod is asked
for them only when its bound says that it might be next: of many pods most never are. A move changes
two nodes; what is kept of others stays right, and who listed one of the two is told its new cost.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.planning.improve.placement import NOTHING, Placement

AT_ONCE = 1 << 20
"""Pairs of pods and nodes that are asked for at once."""
_LISTED = 8
"""Nodes that are kept for each pod."""
_TRIED = 32
"""Of so many nodes that cost a pod least rules are asked first; of all only if they allow none."""
_ASKED = 1 << 14
"""Pairs of pods and nodes that are asked for at first when bounds are not enough; then more."""
_NODES_OF_MOVE, _NEARLY = 100, 0.8
"""Moves are made one by one, but on many nodes one for each so many at once: those that gain at
least this share of what the best gains, each on two nodes of its own."""
_NEAR, _RENEW = 4_000, 100
"""Of the pods that were asked so many of the best are told of nodes that change; chosen anew each
so many moves. The others are asked again when they might be next."""

_CONFINED, _PAIRS = 4, 1 << 16
"""A pod that may come to at most one in so many nodes is asked about these alone, and so many pairs
of such pods and nodes are asked for at once."""

_Places = npt.NDArray[np.intp]


class Descent:
    """The best moves of some pods, kept while the placement changes through it.

    pods: which; their places in it number the arrays. most: how many may be elsewhere than at home.
    """

    def __init__(self, placement: Placement, pods: IntArray, most: int) -> None:
        self._placement, self._pods, self._most = placement, pods, most
        self._place = np.full(len(placement.home), -1, dtype=np.int32)
        self._place[pods] = np.arange(len(pods), dtype=np.int32)
        self._batch = max(1, len(placement.nodes) // _NODES_OF_MOVE)
        listed = min(_LISTED, len(placement.nodes))
        self._nodes = np.full((len(pods), listed), -1, dtype=np.int32)
        self._values = np.full((len(pods), listed), np.inf)
        self._best = np.full(len(pods), np.inf)
        self._asked = np.zeros(len(pods), dtype=np.bool_)
        self._near = np.zeros(len(pods), dtype=np.bool_)
        self._leaving = placement.leaving(pods)
        self._bound = placement.hopes(pods)

    def run(self) -> Iterator[FloatArray]:
        """Descend until nothing gains; yields what the moves changed, some at a time."""
        count = 0
        while len(places := self._next()):
            changes = self._leaving[places] + self._best[places]
            to = self._nodes[places, self._values[places].argmin(axis=1)]
            if count // _RENEW != (count + len(places)) // _RENEW:
                self._choose_near()
            self._move(self._pods[places], to)
            count += len(places)
            yield changes

    def _next(self) -> _Places:
        """The places of pods whose best moves are made next, together; none if nothing gains."""
        placement = self._placement
        many = max(1, min(self._batch, self._most - len(placement.moved)))
        share = 1.0 if many == 1 else _NEARLY
        total = self._leaving + np.minimum(self._best, self._bound)
        if len(placement.moved) >= self._most:
            inside = self._place[list(placement.moved)]
            outside = np.ones(len(total), dtype=np.bool_)
            outside[inside[inside >= 0]] = False
            total[outside] = np.inf
        while True:
            places = self._known(total, share)
            if not len(places):
                return places
            pods, nobody = self._pods[places], np.full(len(places), -1, dtype=np.int32)
            to = self._nodes[places, self._values[places].argmin(axis=1)]
            allowed = np.flatnonzero(placement.admits(pods, to, nobody))
            if len(allowed):
                made = placement.together(pods[allowed], to[allowed], nobody[allowed])
                found: _Places = places[allowed[made[:many]]]
                return found
            self._ask(places)  # rules that reach beyond nodes hold now
            total[places] = self._leaving[places] + np.minimum(self._best, self._bound)[places]

    def _known(self, total: FloatArray, share: float) -> _Places:
        """Places of pods that gain at least that share of the best gain, the best first.

        Those are asked whose bounds are not enough to tell.
        """
        count = max(1, _ASKED // len(self._placement.nodes))
        while True:
            known = self._best <= self._bound
            least = share * float(total[known].min(initial=0.0))
            (some,) = np.nonzero(total <= min(least, -NOTHING))
            asked = some[~known[some]]
            if not len(asked):
                return some[np.argsort(total[some], kind="stable")]
            if len(asked) > count:
                asked = asked[np.argpartition(total[asked], count - 1)[:count]]
            count *= 2
            self._ask(asked)
            total[asked] = self._leaving[asked] + np.minimum(self._best, self._bound)[asked]

    def _ask(self, places: _Places) -> None:
        """Find the best nodes of each anew."""
        placement = self._placement
        most = len(placement.nodes) // _CONFINED
        few, rows, nodes = placement.confined(self._pods[places], most)
        if len(few):
            self._ask_confined(places[few], rows, nodes)
            places = np.delete(places, few)
        step = max(1, AT_ONCE // len(placement.nodes))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            pods = self._pods[some]
            table = placement.adding(pods, placement.nodes)
            nodes = np.broadcast_to(placement.nodes, table.shape)
            (left,) = np.nonzero(~self._list(some, nodes, table, _TRIED))
            if len(left):
                table = table[left]
                placement.forbid(pods[left], placement.nodes, table)
                self._list(some[left], nodes[left], table, self._nodes.shape[1])
        self._asked[places] = self._near[places] = True

    def _ask_confined(self, places: _Places, rows: IntArray, nodes: IntArray) -> None:
        """The same of pods that may come to few nodes. rows, nodes: pairs, by place in places."""
        self._asked[places] = self._near[places] = True
        listed = self._nodes.shape[1]
        count = np.bincount(rows, minlength=len(places))
        begin = np.cumsum(count) - count
        step = max(1, _PAIRS // max(1, int(count.max())))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            pairs = slice(begin[start], begin[start] + int(count[start : start + step].sum()))
            row, to = rows[pairs] - start, nodes[pairs]
            column = np.arange(len(row)) + (begin[start] - begin[start + row])
            width = max(listed, int(count[start : start + step].max()))
            table = np.full((len(some), width), np.inf)
            table[row, column] = self._placement.adding_to(self._pods[some][row], to)
            own = np.zeros(table.shape, dtype=np.int32)
            own[row, column] = to
            (left,) = np.nonzero(~self._list(some, own, table, _TRIED))
            if len(left):
                table, own, some = table[left], own[left], some[left]
                self._forbid(self._pods[some], own, table)
                self._list(some, own, table, listed)

    def _list(self, places: _Places, nodes: IntArray, table: FloatArray, tried: int) -> BoolArray:
        """Keep the least of those columns that are least in each row, and allowed.

        nodes, table: (k, n) which, and what they cost. (k,) whether one is, or none is anywhere.
        """
        order = _least(table, tried)
        values = np.take_along_axis(table, order, axis=1)
        nodes = np.take_along_axis(nodes, order, axis=1)
        bound = np.full(len(places), np.inf)
        if table.shape[1] > tried:
            bound = values.max(axis=1)
        self._forbid(self._pods[places], nodes, values)
        self._keep(places, nodes, values, bound)
        found: BoolArray = np.isfinite(self._best[places]) | np.isinf(bound)
        return found

    def _keep(
        self, places: _Places, nodes: IntArray, values: FloatArray, bound: FloatArray
    ) -> None:
        """Keep the best of these nodes. bound: (k,) what all others cost at least."""
        order = _least(values, self._nodes.shape[1])
        self._nodes[places] = np.take_along_axis(nodes, order, axis=1)
        self._values[places] = kept = np.take_along_axis(values, order, axis=1)
        self._best[places] = kept.min(axis=1)
        np.put_along_axis(values, order, np.inf, axis=1)
        self._bound[places] = np.minimum(bound, values.min(axis=1))

    def _forbid(self, pods: IntArray, nodes: IntArray, values: FloatArray) -> None:
        """Make what rules do not allow infinite. nodes, values: (k, few)."""
        rows, columns = np.nonzero(np.isfinite(values))
        nobody = np.full(len(rows), -1, dtype=np.int32)
        allowed = self._placement.admits(pods[rows], nodes[rows, columns], nobody)
        values[rows[~allowed], columns[~allowed]] = np.inf

    def _choose_near(self) -> None:
        (asked,) = np.nonzero(self._asked)
        total = self._leaving[asked] + np.minimum(self._best, self._bound)[asked]
        near = asked if len(asked) <= _NEAR else asked[np.argpartition(total, _NEAR)[:_NEAR]]
        self._near[:] = False
        self._near[near] = True

    def _move(self, pods: IntArray, to: IntArray) -> None:
        """Make them, and keep the best moves right."""
        placement = self._placement
        ends = np.concatenate([placement.where[pods], to])
        touched = np.zeros(len(placement.nodes) + 1, dtype=np.bool_)  # the last is no node
        touched[ends] = True
        placement.move_all(pods, to, np.full(len(pods), -1, dtype=np.int32))
        (changed,) = np.nonzero(touched[placement.where[self._pods]])
        self._leaving[changed] = placement.leaving(self._pods[changed])
        (near,) = np.nonzero(self._near)
        step = max(1, AT_ONCE // len(ends))
        for start in range(0, len(near), step):
            self._renew(near[start : start + step], ends, touched)
        (far,) = np.nonzero(self._asked & ~self._near)
        far = far[touched[self._nodes[far]].any(axis=1)]
        self._bound[far] = np.minimum(self._best[far], self._bound[far])
        self._best[far] = np.inf
        places = self._place[pods]
        self._ask(places[places >= 0].astype(np.intp))

    def _renew(self, places: _Places, ends: IntArray, touched: BoolArray) -> None:
        """Put the new costs of these nodes into the lists of those pods."""
        table = self._placement.adding(self._pods[places], ends)
        listed = touched[self._nodes[places]]
        better = table < self._bound[places][:, None]
        (rows,) = np.nonzero(listed.any(axis=1) | better.any(axis=1))
        places = places[rows]
        new = np.where(better[rows], table[rows], np.inf)
        ends = np.broadcast_to(ends, new.shape)
        self._forbid(self._pods[places], ends, new)
        old = np.where(listed[rows], np.inf, self._values[places])
        values = np.concatenate([old, new], axis=1)
        nodes = np.concatenate([self._nodes[places], ends], axis=1)
        self._keep(places, nodes, values, self._bound[places])


def _least(table: FloatArray, count: int) -> _Places:
    """(k, count) the columns with the least numbers of each row."""
    if table.shape[1] <= count:
        return np.broadcast_to(np.arange(table.shape[1]), table.shape)
    found: _Places = np.argpartition(table, count - 1, axis=1)[:, :count]
    return found
