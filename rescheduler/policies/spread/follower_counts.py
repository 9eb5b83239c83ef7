"""Domain counts of followers: in each domain the same share as of the pods they follow.

With f the fair share of a domain (all followers, times its part of the leaders) and s the allowed
distance, a domain may hold from floor(f) - s + 1 to ceil(f) + s - 1 followers. One move takes a pod
from a domain that is above to one that is below, so

    moves = max(sum of (count - highest)+, sum of (lowest - count)+).

Where no leader is in any domain that counts there is nothing to follow, and no move is needed.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.policies.spread.domain_counts import OUTSIDE, DomainCounts, Giving
from rescheduler.policies.spread.skew import Counts


def bounds(counts: Counts, leaders: Counts, allowed: int) -> tuple[Counts, Counts]:
    """(domains,) the least and the most followers that each domain may hold."""
    total, led = int(counts.sum()), max(int(leaders.sum()), 1)
    lowest = np.maximum(total * leaders // led - allowed + 1, 0)
    highest = -(-total * leaders // led) + allowed - 1
    return lowest, highest


def moves_needed(counts: Counts, leaders: Counts, allowed: int) -> int:
    """The fewest single moves of followers that bring every domain into its bounds.

    counts, leaders: (domains,) followers and leaders in each.
    """
    if not leaders.any():
        return 0
    lowest, highest = bounds(counts, leaders, allowed)
    extra, missing = np.maximum(counts - highest, 0), np.maximum(lowest - counts, 0)
    return int(max(extra.sum(), missing.sum()))


@dataclass(slots=True, eq=False)
class Following(DomainCounts):
    """Domain counts whose fair shares are those of other pods, the leaders.

    leaders: leaders by domain, OUTSIDE included. number: its place among all domain counts.
    """

    number: int = 0

    leaders: Counter[int] = field(default_factory=Counter)

    def needed_moves(self) -> int:
        """The fewest moves that give every domain its share, and the pods that left them all."""
        if self._needed is None:
            self._needed = self._needs(self._vector(self.places), self._vector(self.leaders))
            self._needed += self.departed_pods()
        return self._needed

    def max_needed_moves(self) -> int:
        """What `needed_moves` could be at the worst."""
        return len(self.pods)

    def in_the_way(self) -> list[int]:
        """None: a domain without leaders asks for no followers."""
        return []

    def changes(self, source: int, nodes: IntArray) -> IntArray:
        """(k,) change of `needed_moves` if a follower moved from one node to each of these."""
        return self._changes_by_node(self.places, source, nodes)

    def led(self, source: int, nodes: IntArray) -> IntArray:
        """(k,) change of `needed_moves` if a leader moved from one node to each of these."""
        return self._changes_by_node(self.leaders, source, nodes)

    def best(self, start: int) -> int:
        """The least change of `needed_moves` that a follower could bring by leaving there."""
        if (start, start) not in self._best:
            ends = [*range(len(self.eligible_domains.names)), OUTSIDE]
            least = min(self._change(self.places, start, end) for end in ends)
            self._best[start, start] = least
        return self._best[start, start]

    def move(self, source: int, destination: int) -> None:
        """Move one follower between nodes."""
        self._forget()
        DomainCounts.move(self, source, destination)

    def lead(self, source: int, destination: int) -> None:
        """Move one leader between nodes."""
        self._forget()
        self.leaders[int(self.eligible_domains.codes[source])] -= 1
        self.leaders[int(self.eligible_domains.codes[destination])] += 1

    def giving_domains(self) -> Iterator[Giving]:
        """The domains that must lose followers; with `departed` they make up `needed_moves`."""
        counts, leaders = self._vector(self.places), self._vector(self.leaders)
        if not leaders.any():
            return
        lowest, highest = bounds(counts, leaders, self.rule.allowed)
        gives = np.maximum(counts - highest, 0)
        for _ in range(self._needs(counts, leaders) - int(gives.sum())):
            gives[int((counts - gives - lowest).argmax())] += 1
        for domain in np.flatnonzero(gives).tolist():
            yield Giving(
                domain,
                int(counts[domain]),
                int(gives[domain]),
                int(lowest[domain]),
                int(highest[domain]),
            )

    def _forget(self) -> None:
        self._needed = None
        self._best.clear()

    def _needs(self, counts: Counts, leaders: Counts) -> int:
        return moves_needed(counts, leaders, self.rule.allowed)

    def _vector(self, places: Counter[int]) -> Counts:
        answer = np.zeros(len(self.eligible_domains.names), dtype=np.int64)
        for place, count in places.items():
            if place != OUTSIDE:
                answer[place] = count
        return answer

    def _changes_by_node(self, moved: Counter[int], source: int, nodes: IntArray) -> IntArray:
        start, ends = int(self.eligible_domains.codes[source]), self.eligible_domains.codes[nodes]
        distinct, slots = np.unique(ends, return_inverse=True)
        values = [self._change(moved, start, end) for end in distinct.tolist()]
        answer: IntArray = np.array(values, dtype=np.int32)[slots.reshape(-1)]
        return answer

    def _change(self, moved: Counter[int], start: int, end: int) -> int:
        before = self.needed_moves()
        moved[start] -= 1
        moved[end] += 1
        after = self._needs(self._vector(self.places), self._vector(self.leaders))
        after += self.departed_pods()
        moved[start] += 1
        moved[end] -= 1
        return after - before
