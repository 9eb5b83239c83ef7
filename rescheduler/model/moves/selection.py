"""What each policy was known to select, as the durable history remembers it.

A selector that is wrong, or a label that has changed, may select far more than anybody has looked
at. So what is new is on trial first: the policy counts as Audit, and people see what it selects.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import structs

from rescheduler.model.field_doc import doc
from rescheduler.model.problem import Problem

GROWTH = 5
"""More than so many times what was known is a jump, not the usual rise and fall."""

FEW_PODS, FEW_NODES = 10, 2
"""Fewer than these count as these: five times very little is very little."""

PERIOD = timedelta(days=7)
"""What a policy selected at most is known from the period before this one, so that what rises and
falls every day or week is known as a whole."""

KEEP = timedelta(days=14)
"""A policy that no run had for so long is forgotten."""

MOST_GONE = 200
"""Policies that are remembered beside those of the latest run, which always are."""

TRIAL_KEPT = timedelta(days=2)
"""A jump that is over is forgotten after so long; one that comes back earlier is not new."""

REFRESH = timedelta(hours=1)
"""Where nothing else is new, times are written only so often."""


class Selection(msgspec.Struct, frozen=True):
    """How many pods a policy matches, and how many nodes it selects; None: it selects no nodes."""

    pods: int
    nodes: int | None = None

    def exceeds(self, other: "Selection") -> bool:
        """Whether it is a jump from the other."""
        nodes, other_nodes = self.nodes or 0, other.nodes or 0
        return self.pods > GROWTH * max(other.pods, FEW_PODS) or nodes > GROWTH * max(
            other_nodes, FEW_NODES
        )

    def max_with(self, other: "Selection") -> "Selection":
        """The greater number of pods, and of nodes."""
        nodes = [count for count in (self.nodes, other.nodes) if count is not None]
        return Selection(max(self.pods, other.pods), max(nodes, default=None))


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is not known of a policy yet, and since when it is shown. last: when it last was so."""

    since: datetime
    last: datetime
    meaning: str
    selection: Selection


class SelectionRecord(msgspec.Struct, omit_defaults=True, kw_only=True, frozen=True):
    """What one policy is known to select.

    meaning: digest of what it finds; "" where it is not known. acceptedSelection: the most that it
    selected in the period before `at`; peak: since then. seen: when a run last had it. demoted:
    whether it counts as Audit, as it has another meaning now, or selects far more; trial: since
    when.
    """

    policy: str
    meaning: str
    acceptedSelection: Selection
    peak: Selection
    at: datetime
    seen: datetime
    trial: Trial | None = None
    demoted: bool = False

    @classmethod
    def accept_selection(
        cls, policy: str, meaning: str, selection: Selection, now: datetime
    ) -> "SelectionRecord":
        """What is found, as known from now on."""
        return cls(
            policy=policy,
            meaning=meaning,
            acceptedSelection=selection,
            peak=selection,
            at=now,
            seen=now,
        )

    def next_record(
        self, meaning: str, selection: Selection, now: datetime, audit_first: timedelta
    ) -> "SelectionRecord":
        """What is known after a cycle in which the policy has this meaning and selects that much.

        audit_first: how long it is on trial.
        """
        changed = meaning != self.meaning
        if not changed and not selection.exceeds(self.acceptedSelection):
            return self._usual(selection, now)
        trial = self._continue_trial(meaning, selection, now)
        if now - trial.since >= audit_first:
            return SelectionRecord.accept_selection(self.policy, meaning, selection, now)
        return self._replace_fields(seen=_fresh(self.seen, now), trial=trial, demoted=True)

    def _usual(self, selection: Selection, now: datetime) -> "SelectionRecord":
        """The known meaning, and no more than is usual. A jump of before is kept in mind."""
        trial, seen = self.trial, _fresh(self.seen, now)
        if trial is not None and (trial.meaning != self.meaning or now - trial.last > TRIAL_KEPT):
            trial = None
        peak = self.peak.max_with(selection)
        if now - self.at < PERIOD:
            return self._replace_fields(peak=peak, seen=seen, trial=trial, demoted=False)
        return self._replace_fields(
            acceptedSelection=peak, peak=selection, at=now, seen=seen, trial=trial, demoted=False
        )

    def _continue_trial(self, meaning: str, selection: Selection, now: datetime) -> Trial:
        """The trial that goes on; begun again where this is another meaning, or another jump."""
        trial = self.trial
        if trial is None or trial.meaning != meaning or selection.exceeds(trial.selection):
            return Trial(since=now, last=now, meaning=meaning, selection=selection)
        # A clock that was ahead must not make a trial longer than it is.
        since = min(trial.since, now)
        return structs.replace(trial, since=since, last=_fresh(trial.last, now))

    def _replace_fields(self, **changes: Any) -> "SelectionRecord":
        return structs.replace(self, **changes)


def _fresh(then: datetime, now: datetime) -> datetime:
    return then if timedelta(0) <= now - then < REFRESH else now


def records_to_keep(
    records: list[SelectionRecord], current: list[SelectionRecord], now: datetime
) -> list[SelectionRecord]:
    """The records of the policies that a run has, and of others the latest, by name."""
    names = {record.policy for record in current}
    gone = [
        record for record in records if record.policy not in names and now - record.seen <= KEEP
    ]
    gone = sorted(gone, key=lambda record: record.seen, reverse=True)[:MOST_GONE]
    return sorted([*current, *gone], key=lambda record: record.policy)


class SelectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods a policy matches and how many nodes it selects."""

    pods: Annotated[int, doc("How many pods its `match` matches.")]
    nodes: Annotated[
        int | None, doc("How many nodes its `nodes` selects, or null where it has none.")
    ] = None
    knownPods: Annotated[
        int | None, doc("The most pods that it was known to match, or null where it is new.")
    ] = None
    knownNodes: Annotated[
        int | None, doc("The most nodes that it was known to select, or null.")
    ] = None
    demotedAt: Annotated[
        datetime | None,
        doc("Since when it counts as Audit, as it selects what was not shown; or null."),
    ] = None
    demotedUntil: Annotated[
        datetime | None, doc("Until when it counts as Audit for it, or null.")
    ] = None
    problem: Annotated[
        Problem | None, doc("SEL001 or SEL002 where a run counts it as Audit first, or null.")
    ] = None
    inert: Annotated[
        tuple[str, ...], doc("Its rules that can never act, each by its field, and why.")
    ] = ()
