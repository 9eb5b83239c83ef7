"""Traffic pairs: two sets of pods that exchange traffic, and how much of it goes far.

The measure is gained affinity (RASA, ICDE 2024), level by level: of the traffic between sets a and
b the share

    G = sum over the domains d of min(a in d / a, b in d / b)

can stay within the domains of a level, if every pod has as much traffic as its siblings and
prefers the nearest. What cannot stay within level l goes one step farther, so the mean distance is
the sum over the levels of step(l) * (1 - G(l)); with one level it is 1 - G. Where the distances
between the domains of a level are measured, what cannot stay goes as far as
`domain_distance.distances_apart` has it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.wording import count_text
from rescheduler.policies.locality.domain_distance import distances_apart
from rescheduler.policies.locality.domain_tree import NOWHERE, Domains
from rescheduler.policies.locality.traffic_kernel import TrafficKernel

Counts = dict[int, int]
"""Pods by domain; NOWHERE is not among the keys."""


@dataclass(frozen=True, slots=True)
class TrafficPair:
    """Two sets of pods without a common member; all pods are bound to nodes.

    amount: what it costs if all of the traffic goes as far as it can, in pods.
    """

    one: IntArray
    other: IntArray
    amount: float
    subject: str
    code: str = "LOC001"


@dataclass(slots=True)
class _Side:
    """One end of a traffic pair: counts by level, and where one more gains how much, kept."""

    pods: IntArray
    counts: list[Counts] = field(default_factory=list)
    more: list[tuple[IntArray, FloatArray] | None] = field(default_factory=list)


class TrafficTerm:
    """All traffic pairs of a policy on one snapshot."""

    def __init__(self, pairs: Sequence[TrafficPair], domains: Domains, node: IntArray) -> None:
        self._domains = domains
        self._pairs = tuple(pairs)
        self._sides: list[tuple[_Side, _Side]] = []
        self._near = np.zeros((len(pairs), len(domains.names)))
        self._far = np.zeros(len(pairs))
        self._domain_distances: dict[int, dict[tuple[int, int], FloatArray]] = {}
        self._of_pod: dict[int, list[tuple[int, int]]] = {}
        for number, pair in enumerate(pairs):
            self._sides.append((self._side(pair.one, node), self._side(pair.other, node)))
            for end, pods in enumerate((pair.one, pair.other)):
                place = (number, end)
                for pod in pods.tolist():
                    self._of_pod.setdefault(pod, []).append(place)
            self._measure(number)

    def _side(self, pods: IntArray, node: IntArray) -> _Side:
        side = _Side(pods)
        for level in range(len(self._domains.names)):
            domains = self._domains.of[level, node[pods]]
            places, counts = np.unique(domains[domains != NOWHERE], return_counts=True)
            side.counts.append(dict(zip(places.tolist(), counts.tolist(), strict=True)))
            side.more.append(None)
        return side

    def gained_affinity(self) -> FloatArray:
        """(traffic pairs, levels) how much of each pair's traffic can stay in the level, 0-1."""
        return self._near.copy()

    def cost(self) -> float:
        """The mean distance of all traffic, in pods."""
        return float(sum(self._cost(number) for number in range(len(self._pairs))))

    def worst(self) -> float:
        """All traffic goes as far as it can."""
        return float(sum(pair.amount for pair in self._pairs))

    def kernel(self, node: IntArray, movable: BoolArray) -> TrafficKernel | None:
        """The pairs as a sum over nodes; None where domains are more than single nodes."""
        domains = self._domains
        alone = len(domains.names) == 1 and domains.measured < 0
        nodes = domains.of.shape[1] - 1
        if not alone or len(np.unique(domains.of[0, :-1])) < nodes:
            return None
        return TrafficKernel(self._pairs, node, nodes, movable)

    def members(self) -> IntArray:
        """Every pod at an end of a traffic pair."""
        return np.array(sorted(self._of_pod), dtype=np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number, end in self._of_pod[pod]:
            for level, step in enumerate(self._domains.steps):
                here = int(self._domains.of[level, source])
                places = self._domains.of[level, nodes]
                if level == self._domains.measured:
                    nearer = self._nearer(number, end, here)
                    total -= self._pairs[number].amount * step * nearer[places]
                    continue
                table = np.zeros(self._domains.size(level) + 1)  # the last is NOWHERE
                there, more = self._mores(number, end, level)
                table[there] = more
                change = table[places] - self._removed_share(number, end, level, here)
                change[places == here] = 0.0
                total -= self._pairs[number].amount * step * change
        return total

    def gain_bound(self, pod: int, source: int) -> float:
        """The best change at every level, whether one node has them all or not."""
        total = 0.0
        for number, end in self._of_pod[pod]:
            for level, step in enumerate(self._domains.steps):
                here = int(self._domains.of[level, source])
                if level == self._domains.measured:
                    best = float(self._nearer(number, end, here).max())
                else:
                    more = self._mores(number, end, level)[1]
                    best = float(more.max(initial=0.0)) - self._removed_share(
                        number, end, level, here
                    )
                total += self._pairs[number].amount * step * max(0.0, best)
        return total

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        for number, end in self._of_pod[shift.pod]:
            sides = self._sides[number]
            for level in range(len(self._domains.names)):
                _take(sides[end].counts[level], int(self._domains.of[level, shift.source]), -1)
                _take(sides[end].counts[level], int(self._domains.of[level, shift.destination]), 1)
                sides[0].more[level] = sides[1].more[level] = None
            self._domain_distances.pop(number, None)
            self._measure(number)

    def partners(self, pod: int) -> IntArray:
        """Both ends of its traffic pairs."""
        pairs = [self._pairs[number] for number, _ in self._of_pod[pod]]
        return np.concatenate([end for pair in pairs for end in (pair.one, pair.other)])

    def findings(self) -> Iterator[Finding]:
        """One finding for each traffic pair with some traffic that goes far."""
        for number, pair in enumerate(self._pairs):
            cost = self._cost(number)
            if cost <= 1e-12:
                continue
            near = ", ".join(
                f"{share:.0%} within a {name}"
                for name, share in zip(self._domains.names, self._near[number], strict=True)
            )
            yield Finding(
                code=pair.code,
                subject=pair.subject,
                cost=cost,
                message=f"of the traffic between {len(pair.one)} and "
                f"{count_text(len(pair.other), 'pod')}, {near} can stay"
                + self._distance_text(number),
                pods=tuple(np.union1d(pair.one, pair.other).tolist()),
            )

    def _cost(self, number: int) -> float:
        far = 1.0 - self._near[number]
        if self._domains.measured >= 0:
            far[self._domains.measured] = self._far[number]
        return self._pairs[number].amount * float(far @ self._domains.steps)

    def _distance_text(self, number: int) -> str:
        """How far goes what leaves its domain, where that is measured."""
        level = self._domains.measured
        if level < 0 or self._near[number, level] > 1 - 1e-9:
            return ""
        share = self._far[number] / (1.0 - self._near[number, level])
        name = self._domains.names[level]
        return f"; what leaves its {name} goes {share:.0%} of the farthest distance"

    def _measure(self, number: int) -> None:
        one, other = self._sides[number]
        for level in range(len(self._domains.names)):
            theirs = other.counts[level]
            self._near[number, level] = sum(
                min(count / len(one.pods), theirs[place] / len(other.pods))
                for place, count in one.counts[level].items()
                if place in theirs
            )
        if self._domains.measured >= 0:
            ends = [self._shares(number, end)[None, :] for end in (0, 1)]
            self._far[number] = distances_apart(ends[0], ends[1], self._domains.far)[0]

    def _shares(self, number: int, end: int) -> FloatArray:
        """(domains + 1,) the share of that end in each domain of the measured level."""
        level, side = self._domains.measured, self._sides[number][end]
        shares = np.zeros(self._domains.size(level) + 1)
        for place, count in side.counts[level].items():
            shares[place] = count / len(side.pods)
        shares[NOWHERE] = 1.0 - sum(side.counts[level].values()) / len(side.pods)
        return shares

    def _nearer(self, number: int, end: int, here: int) -> FloatArray:
        """(domains + 1,) how much nearer traffic is if a pod of that end went from here to each."""
        distances = self._domain_distances.setdefault(number, {})
        if (end, here) not in distances:
            mine, theirs = self._shares(number, end), self._shares(number, 1 - end)
            tried = np.tile(mine, (len(mine), 1))
            tried[:, here] -= 1.0 / len(self._sides[number][end].pods)
            tried += np.eye(len(mine)) / len(self._sides[number][end].pods)
            nearer = self._far[number] - distances_apart(tried, theirs[None, :], self._domains.far)
            nearer[here] = 0.0
            distances[end, here] = nearer
        return distances[end, here]

    def _added_share(self, number: int, end: int, level: int, place: int) -> float:
        """What one more pod of that end in the domain adds to the traffic pair's share."""
        mine, theirs = self._sides[number][end], self._sides[number][1 - end]
        count, size = mine.counts[level].get(place, 0), len(mine.pods)
        limit = theirs.counts[level].get(place, 0) / len(theirs.pods)
        return min((count + 1) / size, limit) - min(count / size, limit)

    def _removed_share(self, number: int, end: int, level: int, place: int) -> float:
        """What one pod fewer of that end in the domain takes from the traffic pair's share."""
        if place == NOWHERE:
            return 0.0
        mine, theirs = self._sides[number][end], self._sides[number][1 - end]
        count, size = mine.counts[level][place], len(mine.pods)
        limit = theirs.counts[level].get(place, 0) / len(theirs.pods)
        return min(count / size, limit) - min((count - 1) / size, limit)

    def _mores(self, number: int, end: int, level: int) -> tuple[IntArray, FloatArray]:
        """The domains where the other end runs, and what one more pod of that end adds there."""
        side = self._sides[number][end]
        additions = side.more[level]
        if additions is None:
            others = self._sides[number][1 - end].counts[level]
            places = np.fromiter(others, np.int32, len(others))
            added = [self._added_share(number, end, level, place) for place in others]
            additions = side.more[level] = places, np.array(added, dtype=np.float64)
        return additions


def _take(counts: Counts, place: int, change: int) -> None:
    if place == NOWHERE:
        return
    count = counts.get(place, 0) + change
    if count:
        counts[place] = count
    else:
        del counts[place]
