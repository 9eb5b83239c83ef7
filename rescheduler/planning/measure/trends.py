"""How load has changed by itself since before a batch: as on the nodes that no move touched."""

import numpy as np

from rescheduler.model.gains import Baseline
from rescheduler.model.readings import BoolArray, FloatArray
from rescheduler.model.snapshot import Snapshot

_NOTHING = 1e-9


class Trends:
    """The change of a reading's mean over the nodes besides those of a group, since each batch."""

    def __init__(self, snapshot: Snapshot, touched: frozenset[int]) -> None:
        """touched: indices of the nodes of the group."""
        self._snapshot = snapshot
        self._names = {snapshot.nodes[node].metadata.name: node for node in touched}
        self._ages: dict[tuple[str, int], BoolArray] = {}

    def of(self, key: str, values: FloatArray, since: Baseline) -> float:
        """Now divided by then; NaN where no other node shows it.

        values: (nodes,) now, without the moves on nodes of which the batch has no value. Younger
        nodes do not count. Where nothing was then, what is now says nothing: 1.
        """
        total, count = since.totals.get(key, (0.0, 0))
        then = since.nodes.get(key, {})
        ours = self._names.keys() & then.keys()
        theirs = self._there(since) & ~np.isnan(values)
        theirs[[self._names[name] for name in ours]] = False
        if count - len(ours) <= 0 or not theirs.any():
            return float("nan")
        before = (total - sum(then[name] for name in ours)) / (count - len(ours))
        return float(values[theirs].mean()) / before if before > _NOTHING else 1.0

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
