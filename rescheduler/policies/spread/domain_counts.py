"""One group of pods, counted over the domains of one topology."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rescheduler.kube.nodes.node_labels import LabelColumn
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.policies.spread import skew

OUTSIDE = -1
"""The place of a pod that is in no domain that counts for its group."""


@dataclass(frozen=True, slots=True, eq=False)
class EligibleDomains:
    """The domains that count for some pods.

    key: the node label. names: of each domain. codes: (nodes + 1,) the domain of each node, OUTSIDE
    where it is in none that counts; so is the last, for no node.
    parent: (domains,) domains are compared with those of the same parent domain alone: of
    one parent domain, or of one per domain of a wider topology. sizes: (parent domains,) how many
    domains count in each. around: (parent domains,) the domains of the wider topology, "" without
    one.
    """

    key: str
    names: list[str]
    codes: IntArray
    parent: IntArray
    sizes: IntArray
    around: list[str]


def eligible_domains(
    key: str, column: LabelColumn, eligible: BoolArray, wider: LabelColumn | None = None
) -> EligibleDomains:
    """The domains of the eligible nodes; with a wider topology, those within each of its domains.

    A domain that reaches over two wider ones is two.
    """
    eligible = eligible & column.present
    outer = np.zeros(len(eligible), dtype=np.int32) if wider is None else wider.codes
    eligible = eligible & (outer >= 0)
    values = list(column.values)
    pairs = outer[eligible].astype(np.int64) * max(len(values), 1) + column.codes[eligible]
    distinct, codes_of = np.unique(pairs, return_inverse=True)
    codes = np.full(len(eligible) + 1, OUTSIDE, dtype=np.int32)
    codes[:-1][eligible] = codes_of
    wide, inner = np.divmod(distinct, max(len(values), 1))
    parent = wide.astype(np.int32)
    return EligibleDomains(
        key=key,
        names=[values[code] for code in inner.tolist()],
        codes=codes,
        parent=parent,
        sizes=np.bincount(parent, minlength=1).astype(np.int32),
        around=[""] if wider is None else list(wider.values),
    )


class Giving(NamedTuple):
    """A domain that must give pods away. lowest, highest: counts in its parent domain."""

    domain: int
    held: int
    gives: int
    lowest: int
    highest: int


@dataclass(slots=True, eq=False)
class DomainCounts:
    """Where the pods of a group are, and what that costs.

    name: whose pods they are. pods: those whose moves change the counts. weight: cost of one needed
    move. aspect: what distinguishes it from others with that name and key, in any cycle. closed:
    domains that count and have no node on which such a pod could be placed. places: pods by domain,
    OUTSIDE included. outside: how many were outside in the snapshot, which is no move's doing.
    departures: whether it costs when more are; not where the pods that go have other domains that
    count for them. What was worked out is kept until one of the pods moves.
    """

    name: str
    eligible_domains: EligibleDomains
    rule: skew.SkewBounds
    pods: IntArray
    weight: float
    aspect: str = ""
    closed: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    places: Counter[int] = field(default_factory=Counter)
    outside: int = 0
    departures: bool = True
    _needed: int | None = None
    _welcome: list[tuple[int, int]] | None = None
    _best: dict[tuple[int, int], int] = field(default_factory=dict)
    _histograms: dict[int, skew.Counts] = field(default_factory=dict)

    def start(self, at: IntArray) -> None:
        """Count the pods; at: (pods,) their nodes."""
        self.places.update(self.eligible_domains.codes[at].tolist())
        self.outside = self.places[OUTSIDE]

    def needed_moves(self) -> int:
        """The fewest moves that make the group even, and the pods that left every domain."""
        if self._needed is None:
            parents = {int(self.eligible_domains.parent[place]) for place in self.pods_by_domain()}
            self._needed = self.departed_pods() + sum(
                skew.moves_needed(self._histogram(parent), self.rule) for parent in parents
            )
        return self._needed

    def max_needed_moves(self) -> int:
        """What `needed_moves` could be at the worst: with all pods in one domain of many."""
        counts = np.array([len(self.pods)], dtype=np.int64)
        empty = max(int(self.eligible_domains.sizes.max()) - 1, 0)
        return skew.moves_needed(skew.histogram(counts, empty), self.rule)

    def pods_by_domain(self) -> dict[int, int]:
        """Pods by domain, where there are any."""
        return {place: count for place, count in self.places.items() if count and place != OUTSIDE}

    def departed_pods(self) -> int:
        """How many more pods than in the snapshot are outside of every domain."""
        return max(0, self.places[OUTSIDE] - self.free_outside)

    @property
    def free_outside(self) -> int:
        """How many pods may be outside at no cost."""
        return self.outside if self.departures else len(self.pods) + 1

    def in_the_way(self) -> list[int]:
        """Empty domains where no such pod could be placed, if fewer moves do without them."""
        empty = [place for place in self.closed.tolist() if not self.places[place]]
        of = Counter(int(self.eligible_domains.parent[place]) for place in empty)
        saved = 0
        for parent in {
            int(self.eligible_domains.parent[place]) for place in self.pods_by_domain()
        } & of.keys():
            domains = self._histogram(parent)
            fewer = domains.copy()
            fewer[0] -= of[parent]
            saved += skew.moves_needed(domains, self.rule) - skew.moves_needed(fewer, self.rule)
        return empty if saved > 0 else []

    def changes(self, source: int, nodes: IntArray) -> IntArray:
        """(k,) change of `needed_moves` if a pod of the group moved to each of these nodes."""
        start = int(self.eligible_domains.codes[source])
        ends = self.eligible_domains.codes[nodes]
        leaving = self._departure_change(start)
        answer = np.full(len(nodes), leaving, dtype=np.int64)
        counts = np.zeros(len(self.eligible_domains.names) + 1, dtype=np.int64)
        for place, count in self.pods_by_domain().items():
            counts[place] = count
        inside = ends != OUTSIDE
        parents = self.eligible_domains.parent[ends[inside]]
        several = len(self.eligible_domains.sizes) > 1
        for parent in np.unique(parents).tolist() if several else [0] * bool(len(parents)):
            there = inside
            if several:
                there = inside.copy()
                there[inside] = parents == parent
            answer[there] = self._entry_changes(start, parent)[counts[ends[there]]]
        answer[~inside] += self.places[OUTSIDE] >= self.free_outside if start != OUTSIDE else 0
        return np.where(ends == start, 0, answer).astype(np.int32)

    def best(self, start: int) -> int:
        """The least change of `needed_moves` that a pod which leaves that place could bring."""
        own = int(self.eligible_domains.parent[start]) if start != OUTSIDE else OUTSIDE
        alike = (own, self.places[start])
        if alike not in self._best:
            self._best[alike] = self._work_out(start, own)
        return self._best[alike]

    def givers(self) -> IntArray:
        """The domains, OUTSIDE included, whose pods could lower `needed_moves` by leaving."""
        places = [
            place for place, count in [*self.places.items()] if count and self.best(place) < 0
        ]
        return np.array(places, dtype=np.int32)

    def move(self, source: int, destination: int) -> None:
        """Move one pod of the group between nodes."""
        self.places[int(self.eligible_domains.codes[source])] -= 1
        self.places[int(self.eligible_domains.codes[destination])] += 1
        self._needed = None
        self._welcome = None
        self._best.clear()
        self._histograms.clear()

    def giving_domains(self) -> Iterator[Giving]:
        """The domains that must lose pods; with `departed_pods` they make up `needed_moves`."""
        held = self.pods_by_domain()
        for parent in sorted({int(self.eligible_domains.parent[place]) for place in held}):
            places = sorted(
                place for place in held if self.eligible_domains.parent[place] == parent
            )
            counts = np.array([held[place] for place in places], dtype=np.int64)
            domains = self._histogram(parent)
            gives = skew.surplus(counts, domains, self.rule)
            lowest = int(np.flatnonzero(domains)[0])
            for slot in np.flatnonzero(gives).tolist():
                yield Giving(
                    places[slot], int(counts[slot]), int(gives[slot]), lowest, int(counts.max())
                )

    def _histogram(self, parent: int) -> skew.Counts:
        histogram = self._histograms.get(parent)
        if histogram is None:
            counts = [
                count
                for place, count in self.pods_by_domain().items()
                if self.eligible_domains.parent[place] == parent
            ]
            empty = int(self.eligible_domains.sizes[parent]) - len(counts)
            histogram = skew.histogram(np.array(counts, dtype=np.int64), empty)
            self._histograms[parent] = histogram
        return histogram

    def _work_out(self, start: int, own: int) -> int:
        values = [0]
        if start != OUTSIDE:
            values.append(_least_change(self._entry_changes(start, own)))
            values.append(
                self._departure_change(start) + (self.places[OUTSIDE] >= self.free_outside)
            )
        welcomes = [value for parent, value in self._welcomes() if parent != own]
        if welcomes:
            values.append(self._departure_change(start) + welcomes[0])
        return min(values)

    def _welcomes(self) -> list[tuple[int, int]]:
        """Each parent domain with the least change that a newcomer brings, the two lowest first."""
        if self._welcome is None:
            changes = [
                (
                    min(arrival for count, arrival in self._arrivals(parent).items() if count >= 0),
                    parent,
                )
                for parent in range(len(self.eligible_domains.sizes))
                if self.eligible_domains.sizes[parent]
            ]
            self._welcome = [(parent, change) for change, parent in sorted(changes)[:2]]
        return self._welcome

    def _arrivals(self, parent: int) -> dict[int, int]:
        return skew.changes(self._histogram(parent), self.rule, None)

    def _departure_change(self, start: int) -> int:
        """The change when a pod leaves that place, before it is anywhere else."""
        if start == OUTSIDE:
            return -1 if self.places[OUTSIDE] > self.free_outside else 0
        domains = self._histogram(int(self.eligible_domains.parent[start]))
        return skew.changes(domains, self.rule, self.places[start])[-1]

    def _entry_changes(self, start: int, parent: int) -> skew.Counts:
        """The change when a pod goes from there to a domain of the parent domain, by its count."""
        domains = self._histogram(parent)
        table = np.full(len(domains) + 1, _NEVER, dtype=np.int64)
        same = start != OUTSIDE and int(self.eligible_domains.parent[start]) == parent
        held = self.places[start] if same else None
        already = 0 if same else self._departure_change(start)
        for count, change in skew.changes(domains, self.rule, held).items():
            if count >= 0:
                table[count] = change + already
        return table


def _least_change(table: skew.Counts) -> int:
    return int(table[table != _NEVER].min(initial=0))


_NEVER = np.iinfo(np.int64).max
"""The change at a count that no other domain holds."""
