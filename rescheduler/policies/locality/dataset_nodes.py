"""Which nodes hold a dataset: by labels of the nodes, or by an external catalog."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.problem import Problem
from rescheduler.model.readings import ReadingRequest
from rescheduler.model.snapshot import Snapshot

Place = tuple[int, int]
"""A node, and the nearest level that counts: 0 for the node itself."""


@dataclass(frozen=True, slots=True)
class DatasetNodes:
    """Where data is. unfit: whether no source could be read."""

    label: str | None
    by_label: dict[str, list[Place]]
    by_catalog: dict[str, list[Place]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unfit: bool = False

    def of(self, namespace: str, dataset: str) -> list[Place]:
        """The places that hold it; none where none is known."""
        found = list(self.by_catalog.get(dataset, ()))
        if self.label is not None:
            key = self.label.replace("{namespace}", namespace).replace("{dataset}", dataset)
            found += self.by_label.get(key, ())
        return found


def holders(
    snapshot: Snapshot,
    label: str | None,
    request: ReadingRequest | None,
    place: Callable[[str, str], list[Place]],
) -> DatasetNodes:
    """What the labels and the catalog hold.

    label: the key of the label of nodes that hold a dataset, with `{namespace}` and `{dataset}`.
    request: the reading of the catalog. place: one node of each domain of a level.
    """
    by_label = _labelled(snapshot) if label is not None else {}
    if request is None:
        return DatasetNodes(label, by_label)
    reading = snapshot.readings.find(request)
    if reading is None or reading.problem is not None:
        text = f"{request.name} of {request.query} is not in the snapshot"
        problem = reading.problem if reading is not None else None
        problems = (problem or Problem("RDG007", text),)
        return DatasetNodes(label, by_label, {}, problems, unfit=label is None)
    by_catalog: dict[str, list[Place]] = {}
    for (dataset, where), value in zip(reading.pairs, reading.values.tolist(), strict=True):
        level, _, domain = where.partition("=")
        if np.isfinite(value) and value > 0:
            by_catalog.setdefault(dataset, []).extend(place(level, domain))
    return DatasetNodes(label, by_label, by_catalog)


def _labelled(snapshot: Snapshot) -> dict[str, list[Place]]:
    """The nodes that carry each label; one with value `false` does not count."""
    answer: dict[str, list[Place]] = {}
    for number, node in enumerate(snapshot.nodes):
        for key, value in (node.metadata.labels or {}).items():
            if value != "false":
                answer.setdefault(key, []).append((number, 0))
    return answer
