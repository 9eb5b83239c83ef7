"""A cycle that has ended, as a row of the last cycles: what it did, and why it did no more."""

from datetime import datetime

from rescheduler.model.moves.plan import Mode, Outcome, Report, plan_in
from rescheduler.model.trails.trail_history import PastCycle
from rescheduler.reporting.cause import cause_of
from rescheduler.runtime.cycle_audit import verdict_of
from rescheduler.runtime.exit_codes import exit_code


def ended_cycle(report: Report, started: datetime, seconds: float) -> PastCycle:
    """The row of a cycle that ended with this report."""
    plan = plan_in(report)
    outcome = report if isinstance(report, Outcome) else None
    code, cause = exit_code(report), cause_of(report)
    results = outcome.enforced if outcome else []
    return PastCycle(
        started=started,
        seconds=seconds,
        mode="Enforce" if outcome else "Audit",
        verdict=verdict_of(report, code),
        code="" if cause is None else cause.code,
        message="" if cause is None else cause.message,
        exit=code,
        plan=plan.id,
        moves=len(plan.moves),
        evicted=sum(result.result == "evicted" for result in results),
        refused=sum(plan.totals.refused.values()),
        scoreBefore=plan.score.before,
        scoreAfter=plan.score.after,
    )


def failed_cycle(message: str, started: datetime, seconds: float, *, mode: Mode) -> PastCycle:
    """The row of a cycle that ended without a report."""
    return PastCycle(
        started=started,
        seconds=seconds,
        mode=mode,
        verdict="failed",
        code="",
        message=message,
        exit=1,
        plan="",
        moves=0,
        evicted=0,
        refused=0,
        scoreBefore=None,
        scoreAfter=None,
    )
