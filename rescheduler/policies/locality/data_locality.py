"""Data locality: pods that want to be near certain nodes, such as those that hold their data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for

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

    def places_of(self, namespace: str, dataset: str) -> list[Place]:
        """The places that hold it; none where none is known."""
        places = list(self.by_catalog.get(dataset, ()))
        if self.label is not None:
            key = self.label.replace("{namespace}", namespace).replace("{dataset}", dataset)
            places += self.by_label.get(key, ())
        return places


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
    by_label = _nodes_by_label(snapshot) if label is not None else {}
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


def _nodes_by_label(snapshot: Snapshot) -> dict[str, list[Place]]:
    """The nodes that carry each label; one with value `false` does not count."""
    answer: dict[str, list[Place]] = {}
    for number, node in enumerate(snapshot.nodes):
        for key, value in (node.metadata.labels or {}).items():
            if value != "false":
                answer.setdefault(key, []).append((number, 0))
    return answer


@dataclass(frozen=True, slots=True)
class DataAffinity:
    """Some pods, all bound to nodes, and how far each node is from what they want.

    distances: (nodes,) 0 to 1. weight: what one pod costs at distance 1. shares: of how many
    preferences of each pod this is one.
    """

    pods: IntArray
    distances: FloatArray
    weight: float
    subject: str
    wanted: str
    code: str = "LOC003"
    shares: int = 1


class DataLocality:
    """All data affinities of a policy on one snapshot: each pod costs the distance of its node."""

    def __init__(self, data_affinities: Sequence[DataAffinity], node: IntArray) -> None:
        self.data_affinities = tuple(data_affinities)
        self._node: dict[int, int] = {}
        self._of_pod: dict[int, list[int]] = {}
        self._least = [
            float(data_affinity.distances.min(initial=1.0)) for data_affinity in data_affinities
        ]
        for number, data_affinity in enumerate(data_affinities):
            for pod in data_affinity.pods.tolist():
                self._node[pod] = int(node[pod])
                self._of_pod.setdefault(pod, []).append(number)

    def cost(self) -> float:
        """The distances of all pods from their data affinities."""
        return float(sum(self._costs(number).sum() for number in range(len(self.data_affinities))))

    def worst(self) -> float:
        """Every pod at distance 1 from each of its data affinities."""
        return float(
            sum(
                len(data_affinity.pods) * data_affinity.weight
                for data_affinity in self.data_affinities
            )
        )

    def members(self) -> IntArray:
        """Every pod with a data affinity."""
        return np.array(sorted(self._of_pod), dtype=np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number in self._of_pod[pod]:
            data_affinity = self.data_affinities[number]
            total += data_affinity.weight * (
                data_affinity.distances[nodes] - data_affinity.distances[source]
            )
        return total

    def gain_bound(self, pod: int, source: int) -> float:
        """The way to the nearest node there is."""
        return sum(
            self.data_affinities[number].weight
            * (float(self.data_affinities[number].distances[source]) - self._least[number])
            for number in self._of_pod[pod]
        )

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination

    @staticmethod
    def partners(pod: int) -> IntArray:
        """The pod alone: data stays where it is."""
        return np.array([pod], dtype=np.int32)

    def findings(self) -> Iterator[Finding]:
        """One finding for each data affinity that some of its pods are far from."""
        for number, data_affinity in enumerate(self.data_affinities):
            costs = self._costs(number)
            far = costs > 1e-12
            if far.any():
                yield Finding(
                    code=data_affinity.code,
                    subject=data_affinity.subject,
                    cost=float(costs.sum()),
                    message=f"{int(far.sum())} of {count_text(len(far), 'pod')} "
                    f"{verb_for(int(far.sum()), 'is', 'are')} away from {data_affinity.wanted}, "
                    f"at a mean distance of {costs[far].mean() / data_affinity.weight:.2f}",
                    pods=tuple(data_affinity.pods[far].tolist()),
                    aspect=f"{data_affinity.wanted}, one of {data_affinity.shares}",
                )

    def _costs(self, number: int) -> FloatArray:
        """(pods of the data affinity,) what each of them costs."""
        data_affinity = self.data_affinities[number]
        nodes = [self._node[pod] for pod in data_affinity.pods.tolist()]
        costs: FloatArray = data_affinity.weight * data_affinity.distances[nodes]
        return costs
