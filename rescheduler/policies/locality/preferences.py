"""The preferences of a Locality policy on one snapshot: each source made into parts of its term."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from rescheduler.kube.annotations import DATASET
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.policies.locality.data_locality import (
    DataAffinity,
    DataLocality,
    DatasetNodes,
    holders,
)
from rescheduler.policies.locality.domain_distance import measured_domains
from rescheduler.policies.locality.domain_tree import Level, tree
from rescheduler.policies.locality.placement_group import PlacementGroup, PlacementGroupTerm
from rescheduler.policies.locality.preferred_pod_affinity import (
    PreferredAffinities,
    affinity_preferences,
)
from rescheduler.policies.locality.term import LocalityTerm, TermPart
from rescheduler.policies.locality.traffic import Traffic, measured_traffic
from rescheduler.policies.locality.traffic_term import TrafficPair, TrafficTerm
from rescheduler.policies.match import Exclude, Match
from rescheduler.policies.shared.matching import select_pods

GroupBy = Literal["Workload", "Gang", "All"]


class Preferences:
    """Gathers parts; what cannot be used becomes a problem in the report."""

    def __init__(self, levels: Sequence[Level], snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._node = snapshot.pod_node
        self._domains = tree(levels, snapshot)
        self._counted: BoolArray = (self._node >= 0) & ~snapshot.leaving
        self._pairs: list[TrafficPair] = []
        self._groups: list[PlacementGroup] = []
        self._data_affinities: list[DataAffinity] = []
        self._affinities: PreferredAffinities | None = None
        self._problems: list[Problem] = []
        self._far: dict[tuple[tuple[int, int], ...], FloatArray] = {}
        self._sources = self._unfit = 0

    def term(self, match: Match) -> LocalityTerm | Problem:
        """All of it; the problem of the first source if not one of them can be evaluated."""
        if not self._domains.names:
            return Problem("LOC005", "no level of the tree distinguishes the nodes")
        if self._sources == self._unfit:
            return self._problems[0]
        parts: list[TermPart] = []
        if self._pairs:
            parts.append(TrafficTerm(self._pairs, self._domains, self._node))
        if self._groups:
            parts.append(PlacementGroupTerm(self._groups, self._domains, self._node))
        if self._data_affinities:
            parts.append(DataLocality(self._data_affinities, self._node))
        if self._affinities is not None:
            parts.append(self._affinities)
        movable = select_pods(match, self._snapshot)
        return LocalityTerm(parts, self._node, movable, self._problems)

    def measure(self, request: ReadingRequest, level: str, min_coverage: float) -> Problem | None:
        """Take the distances of that level from a reading; the policy is not evaluated without."""
        number = self._domains.level(level)
        if number < 0:
            text = f"no node has a label of level {level}, or all share one: nothing is far there"
            self._problems.append(Problem("LOC006", text))
            return None
        reading = self._snapshot.readings.find(request)
        if reading is None:
            return Problem("RDG007", f"{request.name} of {request.series} is not in the snapshot")
        if reading.problem is not None:
            return reading.problem
        made = measured_domains(self._domains, number, reading, min_coverage)
        if isinstance(made, Problem):
            return made
        self._domains = made
        return None

    def add_pair(self, pods: Match, near: Match, weight: float) -> None:
        """A declared pair: it costs as many pods as its smaller side has."""
        self._sources += 1
        one = self._select(pods)
        other = np.setdiff1d(self._select(near), one)
        if not len(one) or not len(other):
            sides = f"{len(one)} and {count_text(len(other), 'pod')}"
            self._problems.append(
                Problem("LOC006", f"a pair of {_words(pods)} and {_words(near)} selects {sides}")
            )
            return
        amount = weight * min(len(one), len(other))
        self._pairs.append(TrafficPair(one, other, amount, f"{_words(pods)} and {_words(near)}"))

    def add_groups(
        self, pods: Match, *, by: GroupBy, together: str | None, apart: str | None, weight: float
    ) -> None:
        """Declared groups; a level that is not in the tree is left out, with a warning."""
        self._sources += 1
        levels = []
        for name in (together, apart):
            level = self._domains.level(name) if name else -1
            levels.append(level)
            if name and level < 0:
                self._problems.append(
                    Problem("LOC006", f"no node has a label of level {name}, or all share one")
                )
        if max(levels) < 0:
            return
        for subject, members in self._group_pods(pods, by):
            if len(members) > 1:
                self._groups.append(PlacementGroup(members, levels[0], levels[1], weight, subject))

    def _group_pods(self, pods: Match, by: GroupBy) -> Iterator[tuple[str, IntArray]]:
        """The pods of each group, and how people call it."""
        pod_numbers, snapshot = self._select(pods), self._snapshot
        if by == "All":
            yield _words(pods), pod_numbers
            return
        if by == "Gang":
            gangs: dict[Gang | None, list[int]] = {None: []}
            for pod in pod_numbers.tolist():
                gangs.setdefault(snapshot.gangs.gang_of(pod), []).append(pod)
            pod_numbers = np.array(gangs.pop(None), dtype=np.int32)
            for gang, members in gangs.items():
                if gang is not None:
                    yield f"gang {gang.name}", np.array(members, dtype=np.int32)
        workload = snapshot.pod_workload[pod_numbers]
        for number in np.unique(workload[workload >= 0]).tolist():
            yield _workload_name(snapshot, number), pod_numbers[workload == number]

    def add_affinity(self) -> None:
        """The podAffinity of all pods."""
        self._sources += 1
        pods = np.flatnonzero(self._counted).astype(np.int32)
        preferences, texts = affinity_preferences(
            self._snapshot, pods, NodeLabels(self._snapshot.nodes)
        )
        self._problems += [Problem("LOC006", text) for text in texts]
        if preferences:
            self._affinities = PreferredAffinities(preferences, self._node)

    def add_traffic(self, request: ReadingRequest, level: str | None, weight: float) -> None:
        """Measured traffic. level: that of the domains at its other end, None for workloads."""
        self._sources += 1
        traffic = measured_traffic(self._snapshot, request, self._members())
        if isinstance(traffic, Problem):
            self._unfit += 1
            self._problems.append(traffic)
            return
        self._problems += traffic.problems
        if level is None:
            self._add_traffic_pairs(traffic, weight)
        else:
            self._add_data_affinities(traffic, self._domains.level(level), weight)

    def _add_traffic_pairs(self, traffic: Traffic, weight: float) -> None:
        for (one, other), amount in traffic.amounts.items():
            subject = f"{one} and {other}"
            pair = TrafficPair(traffic.pods[one], traffic.pods[other], weight * amount, subject)
            self._pairs.append(pair)

    def _add_data_affinities(self, traffic: Traffic, level: int, weight: float) -> None:
        domains = {domain for _, domain in traffic.amounts}
        places = {
            domain: [(node, level) for node in self._of_domain(level, domain)] for domain in domains
        }
        unknown = Counter(domain for _, domain in traffic.amounts if not places[domain])
        for domain, count in sorted(unknown.items()):
            text = f"traffic of {count_text(count, 'workload')} is to {domain}, which no node is in"
            self._problems.append(Problem("LOC006", text))
        for (one, domain), amount in traffic.amounts.items():
            if not places[domain]:
                continue
            pods = traffic.pods[one]
            self._data_affinities.append(
                DataAffinity(
                    pods=pods,
                    distances=self._distances(places[domain]),
                    weight=weight * amount / len(pods),
                    subject=one,
                    wanted=f"{self._domains.names[level]} {domain}",
                    code="LOC001",
                )
            )

    def _of_domain(self, level: int, domain: str) -> list[int]:
        """One node of each domain of that name."""
        if level < 0:
            return []
        of = self._domains.of[level, :-1]
        places = [place for place, name in enumerate(self._domains.labels[level]) if name == domain]
        return [int(np.flatnonzero(of == place)[0]) for place in places]

    def add_datasets(
        self, label: str | None, request: ReadingRequest | None, weight: float
    ) -> None:
        """Pods with a dataset annotation, near the nodes that hold it."""
        self._sources += 1
        dataset_nodes = holders(self._snapshot, label, request, self._place)
        self._problems += dataset_nodes.problems
        if dataset_nodes.unfit:
            self._unfit += 1
            return
        self._add_data_pods(dataset_nodes, weight)

    def _place(self, level: str, domain: str) -> list[tuple[int, int]]:
        """One node of each such domain, with its level."""
        number = self._domains.level(level)
        return [(node, number) for node in self._of_domain(number, domain)]

    def _add_data_pods(self, dataset_nodes: DatasetNodes, weight: float) -> None:
        wanted: dict[tuple[str, str, int], list[int]] = {}
        for pod in np.flatnonzero(self._counted).tolist():
            metadata = self._snapshot.pods[pod].metadata
            text = (metadata.annotations or {}).get(DATASET, "")
            names = {dataset.strip() for dataset in text.split(",")} - {""}
            for name in names:
                wanted.setdefault((metadata.namespace, name, len(names)), []).append(pod)
        unknown = []
        for (namespace, name, shares), pods in sorted(wanted.items()):
            places = dataset_nodes.places_of(namespace, name)
            if not places:
                unknown.append(f"{namespace}/{name}")
                continue
            distances = self._distances(places)
            subject, where = f"pods in {namespace}", f"dataset {name}"
            members = np.array(pods, dtype=np.int32)
            self._data_affinities.append(
                DataAffinity(members, distances, weight / shares, subject, where, shares=shares)
            )
        if unknown:
            text = f"no node is known to hold {count_text(len(unknown), 'dataset')}: {unknown[0]}"
            text += "..." if len(unknown) > 1 else ""
            self._problems.append(Problem("LOC006", text))

    def _distances(self, places: Sequence[tuple[int, int]]) -> FloatArray:
        """(nodes,) how far each is from the nearest place: a node, and the level that counts there.

        Kept and shared: thousands of data affinities want a few places.
        """
        key = tuple(places)
        if key not in self._far:
            far = [self._domains.distances([node], level) for node, level in key]
            self._far[key] = np.minimum.reduce(far)
        return self._far[key]

    def _select(self, match: Match) -> IntArray:
        pod_numbers = np.flatnonzero(select_pods(match, self._snapshot) & self._counted)
        return pod_numbers.astype(np.int32)

    def _members(self) -> Callable[[int], IntArray]:
        """The counted pods of a workload, by its number; all are sorted at once."""
        workload = np.where(self._counted, self._snapshot.pod_workload, -1)
        order = np.argsort(workload, kind="stable").astype(np.int32)
        bounds = np.searchsorted(workload[order], np.arange(len(self._snapshot.workloads) + 1))
        return lambda number: order[bounds[number] : bounds[number + 1]]


def _workload_name(snapshot: Snapshot, number: int) -> str:
    workload = snapshot.workloads[number]
    return f"{workload.kind} {workload.namespace}/{workload.name}"


def _words(match: Match | Exclude) -> str:
    """The match in few words."""
    labels = match.labels
    words = [*(match.namespaces or ())]
    if match.namespaceSelector is not None:
        words.append("selected namespaces")
    if labels is not None:
        words += [f"{key}={value}" for key, value in labels.matchLabels.items()]
        words += [
            f"{expression.key} {expression.operator}" for expression in labels.matchExpressions
        ]
    for _, exclude in match.excludes if isinstance(match, Match) else ():
        words = [*(words or ["all pods"]), "but not", _words(exclude)]
    return " ".join(words) or "all pods"
