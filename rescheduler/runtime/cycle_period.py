"""The `cyclePeriod` where the Limits say none: it follows how often cycles run."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from rescheduler.model.moves.history import History
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.settings import Settings

SHARE = 0.9
"""Of the interval between cycles. A move is made a while after its cycle began, so with the whole
interval it would count in the next cycle too."""

SHORTEST = timedelta(minutes=1)
"""Below it a restart would begin with a fresh budget while the last cycle still moves pods."""

LONGEST = timedelta(hours=1)
"""Beyond it the budget of an hour says more."""

FEWEST_INTERVALS = 4
"""Fewer intervals between cycles may be those of a person who tries something."""


def with_cycle_period(policies: PolicySet, settings: Settings, history: History) -> PolicySet:
    """The policies whose Limits have the `cyclePeriod` that fits the schedule, if it is known."""
    limits = policies.limits
    if "cyclePeriod" in limits.model_fields_set:
        return policies
    interval, least = settings.every, SHORTEST
    if interval is None and (settings.once or settings.cron is not None):
        interval, least = observed_interval(history), limits.cyclePeriod
    if interval is None:
        return policies
    period = max(min(SHARE * interval, LONGEST), least)
    return replace(policies, limits=limits.model_copy(update={"cyclePeriod": period}))


def observed_interval(history: History) -> timedelta | None:
    """The usual interval between the cycles that moved pods lately, or None where few did.

    Cycles that move nothing leave nothing in the history, so longer intervals are gaps: the lower
    quartile counts. A single short one, of a person, does not.
    """
    begun: dict[str, datetime] = {}
    for move in history.moves:
        if move.plan and move.charged:
            begun[move.plan] = min(move.at, begun.get(move.plan, move.at))
    times = sorted(begun.values())
    intervals = sorted(later - earlier for earlier, later in pairwise(times))
    if len(intervals) < FEWEST_INTERVALS:
        return None
    return intervals[len(intervals) // 4]
