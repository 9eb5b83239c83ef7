"""Policies whose moves do not bring what they promised: they are demoted to Audit for a while.

So are those that select what was not shown before: see `selections`.
"""

from collections.abc import Iterable
from datetime import datetime
from math import ceil

from rescheduler.model.moves.gains import GainRecord
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import GainsResult
from rescheduler.model.problem import Problem
from rescheduler.model.wording import ordinal
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits


def in_force(
    policies: Iterable[Policy], history: History, now: datetime, *, attended: bool = False
) -> tuple[Policy, ...]:
    """These policies, each in the mode that it has now: Audit while it is demoted.

    attended: whether people decide on the plan, who see what each policy selects.
    """
    demoted = {record.policy for record in history.gains if record.demoted_at(now)}
    if not attended:
        demoted |= {record.policy for record in history.selections if record.demoted}
    return tuple(
        policy.model_copy(update={"mode": "Audit"}) if policy.name in demoted else policy
        for policy in policies
    )


def decide_mode(record: GainRecord, limits: Limits, now: datetime) -> bool:
    """Demote the policy if its moves brought too little; whether it was demoted just now.

    All moves that count are judged together, and so is the last sample alone. A policy that was
    demoted before is on probation until a whole sample has brought enough: a third of the sample is
    enough to demote it again, for twice as long.
    """
    if record.demoted_at(now):
        return False
    sample = limits.minMeasuredSample
    enough = ceil(sample / 3) if record.demotions else sample
    reason = record.shortfall(limits.minMeasuredShare, enough, sample)
    if reason:
        record.demote(now, reason)
        return True
    share = limits.minMeasuredShare * record.promised
    if record.demotions and record.has_enough(sample) and record.measured >= share:
        record.acquit()
    return False


def result(history: History, policy: Policy, limits: Limits, now: datetime) -> GainsResult | None:
    """What the policy's moves have brought and whether it is demoted, for the report.

    policy: as its document has it; what is Audit there is not demoted.
    """
    record = next((gain for gain in history.gains if gain.policy == policy.name), None)
    if record is None or not (record.pairs or record.demotions):
        return None
    demoted = policy.mode == "Enforce" and record.demoted_at(now)
    return GainsResult(
        promised=record.promised,
        measured=record.measured,
        moves=record.moves,
        demotedAt=record.demoted if demoted else None,
        demotedUntil=record.until if demoted else None,
        problem=demotion(record, limits, now) if demoted else _short(record, limits),
    )


def demotion(record: GainRecord, limits: Limits, now: datetime) -> Problem | None:
    """MSR001 while the policy is demoted, or None."""
    if not record.demoted_at(now):
        return None
    times = "" if record.demotions == 1 else f", for the {ordinal(record.demotions)} time in a row"
    return Problem(
        code="MSR001",
        message=f"Policy {record.policy} counts as Audit until {record.until:%Y-%m-%d %H:%M} UTC"
        f"{times}: its moves {record.reason}; at least {limits.minMeasuredShare:.0%} must be "
        "(minMeasuredShare)",
    )


def _short(record: GainRecord, limits: Limits) -> Problem | None:
    """MSR002 where the moves so far, or the last, brought too little; or None."""
    share = limits.minMeasuredShare
    records = (record, record.recent_record(limits.minMeasuredSample))
    low = next(
        (
            gain_record
            for gain_record in records
            if gain_record.measured < share * gain_record.promised
        ),
        None,
    )
    if low is None:
        return None
    return Problem(
        code="MSR002",
        message=f"The {'' if low is record else 'last '}moves for policy {record.policy} have "
        f"{low.summary}; below {share:.0%} (minMeasuredShare) over "
        f"{limits.minMeasuredSample} moves, by more than noise explains, it is demoted to Audit",
    )
