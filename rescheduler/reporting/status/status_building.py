"""The status, concluded from what was read."""

from collections.abc import Iterator
from datetime import datetime

from rescheduler import __version__
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PolicyResult
from rescheduler.model.run_status import (
    NextCycle,
    OpenMove,
    ReportingPolicy,
    RunStatus,
    SteeringView,
)
from rescheduler.reporting.phrasing import clock
from rescheduler.reporting.status.reset_offers import reset_offers
from rescheduler.reporting.status.standing_reasons import (
    last_record,
    overdue_seconds,
    reasons_of,
    slow_start_cycles,
    used_budgets,
)
from rescheduler.reporting.status.status_facts import StatusFacts
from rescheduler.reporting.suggestion_words import standing_suggestions

_STEERING = "STR"
"""How the codes of notes on steering begin."""


def status_of(facts: StatusFacts) -> RunStatus:
    """The status of the cluster that this was read of."""
    record, plan = last_record(facts), facts.kept_plan
    report = None if facts.kept is None else facts.kept.report
    return RunStatus(
        tool=f"rescheduler {__version__}",
        taken=facts.now,
        cluster=facts.cluster,
        mode="" if record is None else record.cycle.mode,
        paused=facts.paused,
        reasons=reasons_of(facts),
        lock=facts.lock,
        next=_next_cycle(facts),
        cycles=[] if facts.kept is None else facts.kept.log.records,
        budgets=used_budgets(facts),
        slowStartCycles=slow_start_cycles(facts),
        moves=[_open_move(move) for move in facts.history.moves if move.in_flight or move.settling],
        policies=list(_reporting_policies(facts, plan)),
        steering=_steering(facts, plan),
        resets=list(reset_offers(facts, plan)),
        plan="" if plan is None else plan.id,
        planTaken=None if plan is None else plan.taken,
        suggestions=[] if report is None else standing_suggestions(report),
        notes=list(_notes(facts)),
    )


def _next_cycle(facts: StatusFacts) -> NextCycle:
    late, record, cron = overdue_seconds(facts), last_record(facts), facts.cron
    if cron is not None and cron.suspended:
        return NextCycle(
            at=None, message="none: CronJob rescheduler is suspended", overdueSeconds=None
        )
    if cron is not None and cron.next is not None:
        message = f"CronJob rescheduler, schedule {cron.schedule}"
        return NextCycle(at=cron.next, message=message, overdueSeconds=late)
    if record is not None and record.next is not None:
        message = f"instance {record.instance}"
        return NextCycle(at=record.next, message=message, overdueSeconds=late)
    message = "not known: no schedule is known in namespace rescheduler"
    return NextCycle(at=None, message=message, overdueSeconds=late)


def _open_move(move: PastMove) -> OpenMove:
    return OpenMove(
        namespace=move.namespace,
        pod=move.pod,
        node=move.source,
        landedOn=move.landedOn,
        state=_state(move),
        since=move.at,
        plan=move.plan,
        policies=move.policies,
        steered=move.steered is not None,
    )


def _state(move: PastMove) -> str:
    """What the move waits for."""
    if move.state == "intended":
        return "no answer to its eviction yet"
    if move.gone is None:
        return "the pod is terminating"
    if not move.replacement:
        return "no replacement yet"
    if not move.landedOn:
        return "the replacement is Pending"
    return "the replacement must stay Ready" if move.readySince else "the replacement is not Ready"


def _reporting_policies(facts: StatusFacts, plan: Plan | None) -> Iterator[ReportingPolicy]:
    """Those of the last plan; what the state says of demotions is newer than the plan."""
    demoted = {gains.policy: gains for gains in facts.history.gains if gains.demoted_at(facts.now)}
    for policy in [] if plan is None else plan.policies:
        record = demoted.pop(policy.name, None)
        if (policy.document.get("spec") or {}).get("mode") == "Audit":
            text = "Its document has `mode: Audit`."
            yield ReportingPolicy(policy=policy.name, until=None, code="", message=text)
        elif record is not None:
            yield _demotion_view(policy.name, record.until, record.reason)
        elif (trial := _on_trial(policy, facts.now)) is not None:
            yield trial
    for name, record in demoted.items():
        yield _demotion_view(name, record.until, record.reason)


def _demotion_view(policy: str, until: datetime | None, reason: str) -> ReportingPolicy:
    text = f"Its moves {reason}." if reason else "Its moves brought too little."
    return ReportingPolicy(policy=policy, until=until, code="MSR001", message=text)


def _on_trial(policy: PolicyResult, now: datetime) -> ReportingPolicy | None:
    selection = policy.selection
    if selection is None or selection.problem is None or selection.demotedUntil is None:
        return None
    if selection.demotedUntil <= now:
        return None
    return ReportingPolicy(
        policy=policy.name,
        until=selection.demotedUntil,
        code=selection.problem.code,
        message=selection.problem.message,
    )


def _steering(facts: StatusFacts, plan: Plan | None) -> SteeringView:
    """What steers; what a run saw of it last counts beside what is seen to be missing now."""
    if facts.wanted is None:
        return SteeringView(by=[], live=None, problems=[])
    noted = [] if plan is None else [note for note in plan.notes if note.code.startswith(_STEERING)]
    problems = list(dict.fromkeys([*facts.unsteered, *noted]))
    live = not problems if facts.wanted else None
    return SteeringView(by=list(facts.wanted), live=live, problems=problems)


def _notes(facts: StatusFacts) -> Iterator[str]:
    yield from facts.notes
    if facts.kept is not None and facts.kept.log.omitted:
        yield f"There is no page of the last cycle: {facts.kept.log.omitted}."
    if facts.limits is None:
        text = "Budgets are not known: no report of the last cycle is kept. "
        yield f"{text}Give your policies by `--policies PATH`."
    unknown = dict.fromkeys(row.limit for row in used_budgets(facts) if row.most is None)
    if unknown:
        why = "no report of the last cycle is kept, which counts the pods"
        if facts.kept_plan is not None:
            why = f"the plan of {clock(facts.kept_plan.taken, facts.now)} has not counted its pods"
        yield f"What is left of {', '.join(unknown)} is not known: it is a percentage, and {why}."
