"""What moves have brought beside what they promised, as the durable history remembers it.

All gains are unweighted costs of one policy, as its term counts them: 1.0 is one pod placed as
badly as the policy can express. A gain above 0 is a cost that went down.
"""

from datetime import datetime, timedelta
from math import sqrt

import msgspec

MOST_PAIRS = 100
"""Groups of measured moves of a policy that count, the latest; a sample cannot be larger."""

LEAST_PAIRS = 4
"""So many groups at least decide about a policy: of fewer nobody knows how far chance goes."""

MOST_BASELINES = 100
"""Batches whose moves may wait to be measured; of earlier ones the moves cannot be measured."""

MOST_POLICIES = 200
"""Policies that are remembered, also if their documents are gone; demoted ones always."""

FIRST_BACK_OFF, LONGEST_BACK_OFF = timedelta(hours=24), timedelta(days=14)

_DOUBT, _DOUBT_OF_LAST = 2.0, 4.0
"""Standard errors by which a share must be too small, so that noise demotes nobody; and that of the
last moves alone, which are other ones after every move, so that chance has many tries."""


class Gain(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What one move has brought, by policy; problem: why it could not be measured, or "".

    promised: what the policy would predict for it under the load of today. neutral: the policies
    to which it would promise next to nothing by now, because the cause has gone by itself.
    """

    at: datetime
    promised: dict[str, float] = {}
    measured: dict[str, float] = {}
    neutral: list[str] = []
    problem: str = ""


class SelectedTotals(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The same as `totals` of a baseline, over the nodes alone that a policy selects.

    nodes: those with values in the baseline that it selects. count, digest: how many nodes it
    selects in all, and the sum of numbers that stand for their names. there: all nodes.
    placed: pods on those that it selects, and the number of these nodes.
    """

    totals: dict[str, tuple[float, int]] = {}
    nodes: list[str] = []
    count: int = 0
    digest: int = 0
    there: int = 0
    placed: tuple[int, int] = (0, 0)


class NodePods(msgspec.Struct, array_like=True, frozen=True):
    """What the pods of one node used, to tell later what has gone with those that ended.

    largest: use of each of the pods that used most, by a mark of its UID. rest, count: sum over the
    others, and their number.
    """

    largest: dict[str, float]
    rest: float = 0.0
    count: int = 0

    @property
    def pods(self) -> int:
        """How many pods the node had."""
        return len(self.largest) + self.count


class Baseline(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The readings right before the evictions of one batch, of the nodes that it may touch.

    A reading is named by the `key` of its request. nodes: its value on each node; of a reading of
    pods the sum over the node's pods. totals: sum and number of these values over all nodes.
    absent: the nodes that ought to have had a reading of nodes and had not; of one that more than
    a few lacked, none.
    selected: key of what policies select of the nodes to what is known of these alone.
    peers: UID of a workload to the mean over its pods that this batch does not move.
    charges: policy to UID of a pod of the batch to what it was charged where it was, and was
    expected to be where it would go; of policies whose terms keep charges.
    freed: policy to the nodes that its moves leave for these to be free of pods in the end.
    pods: reading of pods to node to what they used there, of the nodes that this batch leaves and
    most likely reaches. placed: pods on all nodes, and the number of these.
    peaks: reading of nodes to the share of its value that a node which this batch leaves reads
    otherwise, where that is less and the past is known.
    devices: node to what its devices add: identity, number, value, and UIDs of its pods.
    uses: the same to what each of a device's pods adds, by its identity, where that is reported.
    """

    plan: str
    batch: int
    at: datetime
    nodes: dict[str, dict[str, float]] = {}
    totals: dict[str, tuple[float, int]] = {}
    absent: dict[str, list[str]] = {}
    selected: dict[str, SelectedTotals] = {}
    peers: dict[str, dict[str, float]] = {}
    charges: dict[str, dict[str, tuple[float, float]]] = {}
    freed: dict[str, list[str]] = {}
    pods: dict[str, dict[str, NodePods]] = {}
    placed: tuple[int, int] = (0, 0)
    peaks: dict[str, dict[str, float]] = {}
    devices: dict[str, dict[str, list[tuple[str, str, float, list[str]]]]] = {}
    uses: dict[str, dict[str, dict[str, list[float]]]] = {}

    def keep(self, nodes: set[str], own: set[str]) -> None:
        """Keep the values of these nodes only; the totals stay those of all.

        own: those of them that the moves of this batch left or reached, whose pods are kept.
        """
        for pods in self.pods.values():
            for name in pods.keys() - own:
                del pods[name]
        for values in self.nodes.values():
            for name in values.keys() - nodes:
                del values[name]
        for total in self.selected.values():
            total.nodes = [name for name in total.nodes if name in nodes]
        for devices in self.devices.values():
            for name in devices.keys() - nodes:
                del devices[name]
        for uses in self.uses.values():
            for name in uses.keys() - nodes:
                del uses[name]


class MeasuredGain(msgspec.Struct, array_like=True, frozen=True):
    """What a group of moves that was measured as one has promised and brought, together."""

    promised: float
    measured: float
    moves: int = 1

    @property
    def surplus(self) -> float:
        """What they brought beyond what they promised."""
        return self.measured - self.promised


class GainRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What the moves for one policy's sake have promised and brought, and its demotion.

    pairs: what the latest groups of moves have promised and brought, the oldest first. The moves of
    one group are no trials of their own: their number is one, parted as they promised.
    demotions: how many times in a row; each doubles the time until it may act again.
    reason: the sums that the latest demotion was decided by.
    """

    policy: str
    pairs: list[MeasuredGain] = []
    demotions: int = 0
    demoted: datetime | None = None
    until: datetime | None = None
    reason: str = ""

    @property
    def promised(self) -> float:
        """What the moves that count have promised, under the load when they were measured."""
        return sum(pair.promised for pair in self.pairs)

    @property
    def measured(self) -> float:
        """What they have brought."""
        return sum(pair.measured for pair in self.pairs)

    @property
    def moves(self) -> int:
        """How many moves these are."""
        return sum(pair.moves for pair in self.pairs)

    @property
    def summary(self) -> str:
        """The sums in the words of reports."""
        promised, measured, count = self.promised, self.measured, self.moves
        share = f" ({measured / promised:.0%})" if promised > 0 else ""
        moves = "1 move" if count == 1 else f"{count} moves"
        return f"measured {measured:.3g} of {promised:.3g} promised{share} over {moves}"

    def demoted_at(self, now: datetime) -> bool:
        """Whether the policy may cause no eviction now."""
        return self.until is not None and now < self.until

    def add(self, promised: float, measured: float, moves: int = 1) -> None:
        """Count one more group of so many moves."""
        pair = MeasuredGain(round(promised, 6), round(measured, 6), moves)
        self.pairs = [*self.pairs, pair][-MOST_PAIRS:]

    def recent_record(self, sample: int) -> "GainRecord":
        """The record of the last groups alone that are enough to decide.

        A policy that has stopped helping need not first use up what it brought before.
        """
        recent_groups = GainRecord(policy=self.policy)
        for pair in reversed(self.pairs):
            if recent_groups.has_enough(sample):
                break
            recent_groups.pairs.insert(0, pair)
        return recent_groups

    def has_enough(self, sample: int) -> bool:
        """Whether so many moves have been measured, in groups enough."""
        return self.moves >= sample and len(self.pairs) >= min(sample, LEAST_PAIRS)

    def shortfall(self, share: float, enough: int, sample: int) -> str:
        """The sums of moves that have brought too little: all, or the last sample; or ""."""
        if self.falls_short(share, enough) or self._others_fall_short(share, enough):
            return self.summary
        last = self.recent_record(sample)
        return last.summary if last.falls_short(share, sample, _DOUBT_OF_LAST) else ""

    def _others_fall_short(self, share: float, sample: int) -> bool:
        """Whether all groups do but the one that brought most, by much more than noise explains.

        One that brought more than all others, as something else has helped, raises the doubt so far
        that nothing would ever be decided.
        """
        if not self.has_enough(sample) or len(self.pairs) <= LEAST_PAIRS:
            return False
        best = max(range(len(self.pairs)), key=lambda at: self.pairs[at].surplus)
        others = GainRecord(policy=self.policy, pairs=self.pairs[:best] + self.pairs[best + 1 :])
        return others.falls_short(share, 1, _DOUBT_OF_LAST)

    def falls_short(self, share: float, sample: int, doubt: float = _DOUBT) -> bool:
        """Whether so many moves have brought less than this share, by more than noise explains.

        The error is that of a ratio of sums over groups: where all bring the same share there is
        none.
        """
        count, promised = len(self.pairs), self.promised
        if not self.has_enough(sample) or promised <= 0:
            return False
        ratio = self.measured / promised
        squares = sum((pair.measured - ratio * pair.promised) ** 2 for pair in self.pairs)
        error = sqrt(squares * count / max(count - 1, 1)) / promised
        return ratio + doubt * error < share

    def demote(self, now: datetime, reason: str) -> None:
        """Let the policy cause no eviction for a time that doubles; it begins again afterwards."""
        doubled = FIRST_BACK_OFF * 2.0 ** min(self.demotions, 10)
        self.reason = reason
        self.demoted, self.until = now, now + min(doubled, LONGEST_BACK_OFF)
        self.demotions += 1
        self.pairs = []

    def acquit(self) -> None:
        """Forget earlier demotions: since the last one enough moves have brought enough."""
        self.demotions, self.demoted, self.until, self.reason = 0, None, None, ""
