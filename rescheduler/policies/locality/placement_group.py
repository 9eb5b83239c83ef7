"""Placement groups: pods that belong in one domain, or each in a domain of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.wording import verb_for
from rescheduler.policies.locality.domain_tree import NOWHERE, Domains

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlacementGroup:
    """Pods that belong together, all bound to nodes.

    together, apart: the level of the tree that is requested, or -1 for none. weight: the cost of a
    pod that violates all that is requested.
    """

    pods: IntArray
    together: int
    apart: int
    weight: float
    subject: str

    @property
    def share(self) -> float:
        """What one pod counts for each of the preferences."""
        return self.weight / ((self.together >= 0) + (self.apart >= 0))


class PlacementGroupTerm:
    """All groups of a policy on one snapshot.

    `together` charges the pods outside of the domain with most pods of the group. `apart` charges
    all but one pod of each domain. Both are the fewest moves that would repair the group.
    """

    def __init__(self, groups: Sequence[PlacementGroup], domains: Domains, node: IntArray) -> None:
        self._domains = domains
        self._groups = tuple(groups)
        self._of_pod: dict[int, list[int]] = {}
        self._near: list[Counts] = []
        self._shared: list[Counts] = []
        for number, group in enumerate(groups):
            self._near.append(self._count(group.together, node[group.pods]))
            self._shared.append(self._count(group.apart, node[group.pods]))
            for pod in group.pods.tolist():
                self._of_pod.setdefault(pod, []).append(number)

    def _count(self, level: int, nodes: IntArray) -> Counts:
        """(domains,) the pods on these nodes; without a level there are no domains."""
        if level < 0:
            return np.zeros(0, dtype=np.int64)
        domains = self._domains.of[level, nodes]
        return np.bincount(domains[domains != NOWHERE], minlength=self._domains.size(level))

    def cost(self) -> float:
        """Pods to move, over all groups."""
        return float(sum(sum(self._costs(number)) for number in range(len(self._groups))))

    def worst(self) -> float:
        """The cost if every pod violated all that is requested."""
        return float(sum(len(group.pods) * group.weight for group in self._groups))

    def members(self) -> IntArray:
        """Every pod of a group."""
        return np.array(sorted(self._of_pod), dtype=np.int32)

    def deltas(self, pod: int, source: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost for each node."""
        total = np.zeros(len(nodes))
        for number in self._of_pod[pod]:
            group = self._groups[number]
            change = np.zeros(len(nodes))
            if group.together >= 0:
                change += self._together_deltas(number, source, nodes)
            if group.apart >= 0:
                change += self._apart_deltas(number, source, nodes)
            total += group.share * change
        return total

    def _together_deltas(self, number: int, source: int, nodes: IntArray) -> FloatArray:
        of, counts = self._domains.of[self._groups[number].together], self._near[number]
        here, places = of[source], of[nodes]
        before = counts.max(initial=0)
        other_counts = _remove_one(counts, here)
        after = np.maximum(other_counts.max(initial=0), np.append(other_counts + 1, 0)[places])
        change: FloatArray = np.where(places == here, 0.0, before - after)
        return change

    def _apart_deltas(self, number: int, source: int, nodes: IntArray) -> FloatArray:
        of, counts = self._domains.of[self._groups[number].apart], self._shared[number]
        here, places = of[source], of[nodes]
        leaves = 1.0 if here != NOWHERE and counts[here] > 1 else 0.0
        joins = np.append(counts > 0, values=False)[places]
        change: FloatArray = np.where(places == here, 0.0, joins - leaves)
        return change

    def gain_bound(self, pod: int, source: int) -> float:
        """What joining the largest domain, and leaving a shared one, would gain."""
        total = 0.0
        for number in self._of_pod[pod]:
            group, gain = self._groups[number], 0.0
            if group.together >= 0:
                counts = self._near[number]
                other_counts = _remove_one(counts, self._domains.of[group.together, source])
                gain += max(0, int(other_counts.max(initial=0)) + 1 - int(counts.max(initial=0)))
            if group.apart >= 0:
                here = self._domains.of[group.apart, source]
                gain += here != NOWHERE and self._shared[number][here] > 1
            total += group.share * gain
        return total

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        for number in self._of_pod[shift.pod]:
            group = self._groups[number]
            for level, counts in (
                (group.together, self._near[number]),
                (group.apart, self._shared[number]),
            ):
                for node, change in ((shift.source, -1), (shift.destination, 1)):
                    place = self._domains.of[level, node] if level >= 0 else NOWHERE
                    if place != NOWHERE:
                        counts[place] += change

    def partners(self, pod: int) -> IntArray:
        """All pods of its groups."""
        return np.concatenate([self._groups[number].pods for number in self._of_pod[pod]])

    def findings(self) -> Iterator[Finding]:
        """One finding for each preference of a group that is not met."""
        for number, group in enumerate(self._groups):
            outside, sharing = self._costs(number)
            pods = tuple(group.pods.tolist())
            size, counts = len(group.pods), self._near[number]
            if outside > 0:
                name = self._domains.names[group.together]
                yield Finding(
                    code="LOC002",
                    subject=group.subject,
                    cost=outside,
                    message=f"no {name} has more than {counts.max(initial=0)} of the {size} pods",
                    pods=pods,
                    aspect=f"together in one {name}",
                )
            if sharing > 0:
                name = self._domains.names[group.apart]
                extra = int(np.maximum(self._shared[number] - 1, 0).sum())
                yield Finding(
                    code="LOC002",
                    subject=group.subject,
                    cost=sharing,
                    message=f"{extra} of {size} pods {verb_for(extra, 'shares', 'share')} a {name} "
                    "with another",
                    pods=pods,
                    aspect=f"apart on every {name}",
                )

    def _costs(self, number: int) -> tuple[float, float]:
        """The cost of pods outside of the fullest domain, and of pods that share a domain."""
        group = self._groups[number]
        outside = len(group.pods) - int(self._near[number].max(initial=0))
        sharing = int(np.maximum(self._shared[number] - 1, 0).sum())
        return group.share * outside * (group.together >= 0), group.share * sharing


def _remove_one(counts: Counts, place: int) -> Counts:
    other_counts = counts.copy()
    if place != NOWHERE:
        other_counts[place] -= 1
    return other_counts
