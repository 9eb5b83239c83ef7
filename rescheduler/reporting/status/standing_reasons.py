"""Why nothing moves now: all that holds evictions, what a person can end first."""

from collections.abc import Iterator

from rescheduler.model.kept_cycles import CycleRecord
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import SpentBudget
from rescheduler.model.wording import count_text
from rescheduler.planning.limits.spent_budgets import spent_budgets
from rescheduler.policies.move_limit_fields import WINDOWS
from rescheduler.reporting.phrasing import age, clock
from rescheduler.reporting.status.status_facts import StatusFacts

LATE_AFTER = 15 * 60.0
"""Seconds after which a cycle that has not ended is overdue: the default of --cycle-deadline."""
LATE_UNLOCKED = 2 * 60.0
"""The same where nobody holds the lock that a service holds as long as it runs."""
_PAUSED, _SLOW_START = "GRD006", "PAC007"


def reasons_of(facts: StatusFacts) -> list[Problem]:
    """Why nothing moves now, each code once; empty where nothing holds evictions."""
    answer: dict[tuple[str, str], Problem] = {}
    for reason in _reasons(facts):
        key = (reason.code, "" if reason.code else reason.message)
        answer.setdefault(key, reason)
    return list(answer.values())


def last_record(facts: StatusFacts) -> CycleRecord | None:
    """The newest cycle that is known."""
    records = facts.kept.log.records if facts.kept is not None else []
    return records[0] if records else None


def overdue_seconds(facts: StatusFacts) -> float | None:
    """How long ago the cycle after the last one ought to have begun, if it is late; else None."""
    record = last_record(facts)
    due = record.next if record is not None and record.next is not None else None
    if due is None and facts.cron is not None and not facts.cron.suspended:
        due = facts.cron.due
    if due is None:
        return None
    late = (facts.now - due).total_seconds()
    return late if late > (LATE_UNLOCKED if _has_no_holder(facts) else LATE_AFTER) else None


def _has_no_holder(facts: StatusFacts) -> bool:
    """Whether a service that ran cycles in mode Enforce has lost its lock: it has ended."""
    record = last_record(facts)
    served = record is not None and record.next is not None and record.cycle.mode == "Enforce"
    return served and facts.lock is not None and not facts.lock.live


def slow_start_cycles(facts: StatusFacts) -> int:
    """How many cycles of the slow start are to come."""
    if facts.limits is None:
        return 0
    return facts.history.ramp_left(facts.now - facts.limits.cyclePeriod)


def used_budgets(facts: StatusFacts) -> list[SpentBudget]:
    """What is used of each limit on moves; the last plan has counted what percentages are of."""
    if facts.limits is None:
        return []
    counted = [] if facts.kept_plan is None else facts.kept_plan.countedPods
    return spent_budgets(facts.history, facts.limits, facts.now, counted)


def _reasons(facts: StatusFacts) -> Iterator[Problem]:
    if facts.paused:
        yield Problem(_PAUSED, "Evictions are paused. `rescheduler resume` lets them go on.")
    if facts.doubt:
        text = f"The state cannot be believed, so nothing is evicted: {facts.doubt}."
        yield Problem("GRD004", text)
    if facts.cron is not None and facts.cron.suspended:
        text = "CronJob rescheduler is suspended, so no cycle runs. Set its `suspend` to false."
        yield Problem("", text)
    yield from _not_running(facts)
    yield from _last_cycle(facts)
    yield from _limits(facts)


def _not_running(facts: StatusFacts) -> Iterator[Problem]:
    late = overdue_seconds(facts)
    if late is not None:
        text = f"The next cycle is {age(late)} late. Look at the pods in namespace rescheduler."
        yield Problem("", text)
    if last_record(facts) is not None:
        return
    if not facts.installed:
        text = "Nothing of the rescheduler is in this cluster: it has no state in namespace "
        yield Problem("", f"{text}rescheduler. `deploy/README.md` says how to install it.")
    elif facts.kept is None:
        text = "The cycles of this cluster are not kept, so their causes are not known here. "
        yield Problem("", f"{text}Apply the component `remembering` of deploy/.")
    else:
        yield Problem("", "No cycle has ended yet.")


def _last_cycle(facts: StatusFacts) -> Iterator[Problem]:
    record = last_record(facts)
    if record is None or record.cycle.evicted:
        return
    cycle = record.cycle
    if cycle.code == _PAUSED and not facts.paused:
        return  # the pause has ended since
    began = clock(cycle.started, facts.now)
    failed = "failed" if cycle.verdict == "failed" else "moved nothing"
    yield Problem(cycle.code, f"The cycle of {began} {failed}: {cycle.message or cycle.verdict}")


def _limits(facts: StatusFacts) -> Iterator[Problem]:
    if facts.limits is None:
        return
    cycles = slow_start_cycles(facts)
    if cycles and facts.history.charged_since(facts.now - facts.limits.cyclePeriod):
        more = count_text(cycles, "cycle")
        text = f"Slow start: one pod per cycle for {more}. The last cycle has moved its pod."
        yield Problem(_SLOW_START, text)
    codes = {row.field: row.code for row in facts.limits.move_limits}
    for budget in used_budgets(facts):
        if not budget.group and budget.remaining == 0:
            yield Problem(codes[budget.limit], _limit_sentence(budget, facts))


def _limit_sentence(budget: SpentBudget, facts: StatusFacts) -> str:
    span = next(window.span for window in WINDOWS if window.name == budget.window)
    period = facts.limits.cyclePeriod if facts.limits is not None else None
    length = (span or period or facts.now - budget.since).total_seconds()
    text = f"Limit reached: {budget.used} of {budget.most} moves in the last {age(length)} "
    text += f"(`{budget.limit}`)."
    if budget.free is not None:
        text += f" The next move is possible from {clock(budget.free, facts.now)} on."
    return text
