"""How load has changed by itself since before a batch: as on the nodes that no move touched."""

from collections.abc import Mapping
from datetime import timedelta

import numpy as np

from rescheduler.model.gains import Baseline
from rescheduler.model.readings import BoolArray, FloatArray
from rescheduler.model.snapshot import Snapshot

_NOTHING = 1e-9


class Trends:
    """The change of a reading's mean over the nodes besides those of a group, since each batch."""

    def __init__(
        self, snapshot: Snapshot, touched: frozenset[int], others: Mapping[int, Baseline]
    ) -> None:
        """touched: indices of the nodes of the group.

        others: of the nodes that other groups touched the first baseline since. What moves did
        there is no change by itself: these nodes count only where there are no more.
        """
        self._snapshot = snapshot
        self._others = others
        self._names = {snapshot.nodes[node].metadata.name: node for node in touched}
        self._ages: dict[tuple[str, int], BoolArray] = {}

    def of(self, key: str, values: FloatArray, since: Baseline, span: timedelta) -> float:
        """Now divided by then; NaN where no other node shows it.

        values: (nodes,) now, without the moves on nodes of which the batch has no value. Younger
        nodes do not count. Where nothing was then, what is now says nothing: 1.
        span: for how long the windows do not see a move whole.
        """
        then = since.nodes.get(key, {})
        ours = {node: then[name] for name, node in self._names.items() if name in then}
        found = self._besides(ours | self._moved(key, since, span), key, values, since)
        return self._besides(ours, key, values, since) if np.isnan(found) else found

    def _besides(
        self, left_out: Mapping[int, float], key: str, values: FloatArray, since: Baseline
    ) -> float:
        """The change over all nodes but these; left_out: index to value then."""
        total, count = since.totals.get(key, (0.0, 0))
        theirs = self._there(since) & ~np.isnan(values)
        theirs[list(left_out)] = False
        if count - len(left_out) <= 0 or not theirs.any():
            return float("nan")
        before = (total - sum(left_out.values())) / (count - len(left_out))
        return float(values[theirs].mean()) / before if before > _NOTHING else 1.0

    def _moved(self, key: str, since: Baseline, span: timedelta) -> dict[int, float]:
        """Index to value then of the nodes that other groups have touched since.

        Also of those touched so shortly before that the windows had not seen it: what was known
        then is partly expected, so that the value right before the node was touched is taken. What
        a move was expected to change cancels out over its two nodes.
        """
        found = {}
        for node, baseline in self._others.items():
            name = self._snapshot.nodes[node].metadata.name
            value = since.nodes.get(key, {}).get(name)
            recent = since.at - span <= baseline.at < since.at
            if recent or (value is None and baseline.at >= since.at):
                value = baseline.nodes.get(key, {}).get(name)
            if value is not None:
                found[node] = value
        return found

    @staticmethod
    def shown(key: str, since: Baseline) -> bool:
        """Whether enough nodes had the reading then for others to show how it changes."""
        return since.totals.get(key, (0.0, 0))[1] > len(since.nodes.get(key, {}))

    def _there(self, since: Baseline) -> BoolArray:
        """(nodes,) which were there then."""
        key = (since.plan, since.batch)
        if key not in self._ages:
            made = (node.metadata.creationTimestamp for node in self._snapshot.nodes)
            old = (each is None or each <= since.at for each in made)
            self._ages[key] = np.fromiter(old, dtype=np.bool_, count=len(self._snapshot.nodes))
        return self._ages[key]
