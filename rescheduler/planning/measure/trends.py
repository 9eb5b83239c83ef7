"""How load has changed by itself since before a batch: as on nodes of the policy without moves."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline, SelectedTotals
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.measure.selected_nodes import EVERY_NODE, SelectedNodes

_NOTHING = 1e-6
"""Of all load then, what is left by rounding where nothing was."""

_LEAST_SHARE = 0.05
"""Of all load then, what the nodes without moves must have had: of less most is noise."""

_MOST_UNKNOWN = 0.05
"""Nodes with moves but without values of then, per node that shows the change."""

_MOST_OTHERS = 0.01
"""Nodes with a value at one time only, per node that shows the change: those hot by chance or
cold would pass for a change."""


class Trends:
    """The change of a reading's mean since each batch, over the selected nodes without moves.

    What the policy does not select shows nothing: its load has other reasons to change. Moves of
    other groups count too: what they leave or reach does not change by itself. Which nodes those
    are becomes known batch by batch, so the change is followed from one to the next.
    """

    def __init__(
        self, snapshot: Snapshot, touched: frozenset[int], history: History, selected: SelectedNodes
    ) -> None:
        """touched: indices of the nodes of the group that is measured."""
        self._snapshot = snapshot
        self._selected = selected
        self._group = {snapshot.nodes[node].metadata.name for node in touched}
        self._baselines = history.baselines
        self._order = {(b.plan, b.batch): n for n, b in enumerate(history.baselines)}
        self._moves = [move for move in history.moves if move.charged]

    def change_ratio(self, request: ReadingRequest, values: FloatArray, since: Baseline) -> float:
        """Now divided by then; NaN where too few other nodes show it.

        values: (nodes,) now, without the moves on nodes of the group that have no value in the
        batch. Younger nodes do not count. Where nothing was then, what is now says nothing: 1.
        """
        if not self._lists_absent(request, since):
            return float("nan")
        stations = self._stations(request, since)
        apart = self._group_apart(request, since, stations[-1])
        theirs = self._comparable(request, stations[-1], apart)
        if self._too_many_lack(theirs, request, values):
            return float("nan")
        theirs &= ~np.isnan(values)
        before = self._mean(request, stations[-1], apart)
        if np.isnan(before) or not theirs.any():
            return float("nan")
        changed = float(values[theirs].mean()) / before if before > 0 else 1.0
        return changed * self._change_between(request, stations)

    def is_shown(self, request: ReadingRequest, since: Baseline) -> bool:
        """Whether enough nodes had the reading then for others to show how it changes."""
        stations = self._stations(request, since)
        apart = self._group_apart(request, since, stations[-1])
        last = self._mean(request, stations[-1], apart)
        return self._lists_absent(request, since) and not np.isnan(
            last * self._change_between(request, stations)
        )

    def count_lacking(self, request: ReadingRequest, values: FloatArray, since: Baseline) -> int:
        """How many of the nodes that show the change have no value now; 0 where they are few."""
        if not self._lists_absent(request, since):
            return 0
        last = self._stations(request, since)[-1]
        apart = self._group_apart(request, since, last)
        return self._too_many_lack(self._comparable(request, last, apart), request, values)

    def is_relabelled(self, request: ReadingRequest, since: Baseline) -> bool:
        """Whether the policy selects other nodes now than before the batch, or before a later one.

        Younger nodes do not count. Of nodes that are gone it is not known whether they were
        selected: so many fewer are no sign of other labels.
        """
        return any(self._has_changed(station) for station in self._stations(request, since))

    def _has_changed(self, then: Baseline) -> bool:
        totals, selected = self._totals_of(then), self._selected
        if selected.key == EVERY_NODE:
            return False
        key = then.plan, then.batch
        if key not in selected.changed:
            old = self._existing_nodes(then)
            fewer = totals.count - int((selected.chosen & old).sum())
            gone = totals.there - int(old.sum())
            same = selected.digest(self._snapshot, old) == totals.digest
            selected.changed[key] = not same and not 0 < fewer <= gone
        return selected.changed[key]

    def _stations(self, request: ReadingRequest, since: Baseline) -> list[Baseline]:
        """The batch, and all later ones before which the same nodes had the reading."""
        first = self._order[since.plan, since.batch]
        return [
            since,
            *(
                baseline
                for baseline in self._baselines[first + 1 :]
                if self._have_same_nodes(request, since, baseline)
            ),
        ]

    def _have_same_nodes(self, request: ReadingRequest, one: Baseline, other: Baseline) -> bool:
        """Whether the nodes that have the reading before both batches are the same, but for few."""
        if request.key not in self._totals_of(other).totals:
            return False
        if not self._lists_absent(request, other):
            return False
        if one.absent.get(request.key) == other.absent.get(request.key):
            return True
        unlike = set(one.absent.get(request.key, ())) ^ set(other.absent.get(request.key, ()))
        _, count = self._totals_of(other).totals[request.key]
        return sum(map(self._may_be_selected, unlike)) <= _MOST_OTHERS * count

    @staticmethod
    def _lists_absent(request: ReadingRequest, then: Baseline) -> bool:
        """Whether it is known which nodes had no value; of readings of pods it need not be."""
        return request.subject != "node" or request.key in then.absent

    def _comparable(
        self, request: ReadingRequest, then: Baseline, apart: frozenset[str]
    ) -> BoolArray:
        """(nodes,) the selected ones besides these that had the reading before that batch."""
        comparable = self._existing_nodes(then) & self._selected.chosen
        index = self._snapshot.node_index
        without = apart | set(then.absent.get(request.key, ()))
        comparable[[index[name] for name in without if name in index]] = False
        return comparable

    def _too_many_lack(self, theirs: BoolArray, request: ReadingRequest, values: FloatArray) -> int:
        """How many of these nodes ought to have a value and have none; 0 where they are few.

        Of a reading of pods none: a node without pods has no sum.
        """
        reading = self._snapshot.readings.find(request)
        if request.subject != "node" or reading is None:
            return 0
        present = ~np.isnan(values)
        lacking = int((theirs & ~present & reading.expected).sum())
        return lacking if lacking > _MOST_OTHERS * int((theirs & present).sum()) else 0

    def _change_between(self, request: ReadingRequest, stations: list[Baseline]) -> float:
        """The change from the first batch to the last."""
        answer = 1.0
        for one, other in pairwise(stations):
            apart = _touched_nodes(
                move for move in self._moves_since(request, one) if self._was_before(move, other)
            )
            before = self._mean(request, one, apart)
            after = self._mean(request, other, apart)
            answer *= after / before if np.isnan(before) or before > 0 else 1.0
        return answer

    def _was_before(self, move: PastMove, later: Baseline) -> bool:
        """Whether it was made before that batch."""
        own = self._order.get((move.plan, move.batch))
        if own is not None:
            return own < self._order[later.plan, later.batch]
        return move.at <= later.at

    def _moves_since(self, request: ReadingRequest, one: Baseline) -> Iterable[PastMove]:
        """The moves that the reading did not show whole before this batch."""
        seen = one.at - timedelta(seconds=request.window + request.max_age)
        return (move for move in self._moves if move.at > seen)

    def _group_apart(
        self, request: ReadingRequest, since: Baseline, last: Baseline
    ) -> frozenset[str]:
        """The nodes that do not show the change since the last batch.

        On nodes of the group that are not known from then the moves are out of the values of now.
        """
        nodes = _touched_nodes(self._moves_since(request, last)) | self._group
        recorded = since.nodes.get(request.key, {}).keys() | last.nodes.get(request.key, {}).keys()
        return frozenset(nodes - (self._group - recorded))

    def _existing_nodes(self, since: Baseline) -> BoolArray:
        """(nodes,) which were there then."""
        return self._snapshot.node_made <= since.at.timestamp()

    def _totals_of(self, then: Baseline) -> SelectedTotals:
        """What was kept of the selected nodes before that batch."""
        if self._selected.key == EVERY_NODE:
            return SelectedTotals(totals=then.totals, nodes=_node_names(then))
        return then.selected.get(self._selected.key, SelectedTotals())

    def _may_be_selected(self, name: str) -> bool:
        """Whether the policy selects the node; of one that is gone nobody knows."""
        node = self._snapshot.node_index.get(name, -1)
        return node < 0 or bool(self._selected.chosen[node])

    def _mean(self, request: ReadingRequest, then: Baseline, apart: frozenset[str]) -> float:
        """Over the selected nodes besides these, before that batch; NaN where they were too few."""
        theirs, values = self._totals_of(then), then.nodes.get(request.key, {})
        total, count = theirs.totals.get(request.key, (0.0, 0))
        excluded = apart & values.keys() & set(theirs.nodes)
        unknown = sum(self._may_be_selected(name) for name in apart - values.keys())
        remaining, load = count - len(excluded), total - sum(values[name] for name in excluded)
        if remaining <= 0 or unknown > _MOST_UNKNOWN * remaining:
            return float("nan")
        if load <= _NOTHING * total:
            return 0.0
        return load / remaining if load >= _LEAST_SHARE * total else float("nan")


def _node_names(then: Baseline) -> list[str]:
    return list({name for values in then.nodes.values() for name in values})


def _touched_nodes(moves: Iterable[PastMove]) -> frozenset[str]:
    return frozenset(name for m in moves for name in (m.source, m.landedOn) if name)
