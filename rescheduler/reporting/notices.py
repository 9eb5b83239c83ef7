"""What people outside of the cluster are told about a cycle, in sentences."""

from collections.abc import Iterator

from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan, PlannedMove, Report, plan_in
from rescheduler.model.notice import Notice, Occasion
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text, gpu_hours, verb_for
from rescheduler.reporting.headline import headline
from rescheduler.reporting.phrasing import amount, percent, pod_name

MOST_LINES = 10
"""Moves, policies or owners that one message lists."""
_ANOTHER_INSTANCE_LEADS = "GRD005"


def notices(report: Report) -> list[Notice]:
    """One notice for each occasion that the cycle has."""
    plan = plan_in(report)
    candidates = (
        _await_review(report),
        _moves_made(report),
        _hold(report),
        _demotion(plan),
        _idle_owners(plan),
    )
    return [notice for notice in candidates if notice is not None]


def _notice(
    plan: Plan,
    occasion: Occasion,
    title: str,
    lines: list[str],
    *,
    subject: str = "",
    warning: bool = False,
    code: str = "",
) -> Notice:
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more"]
    return Notice(
        occasion=occasion,
        subject=subject,
        title=title,
        lines=tuple(lines),
        warning=warning,
        code=code,
        plan=plan.id,
        cluster=plan.cluster.name or plan.cluster.uid,
        at=plan.taken,
    )


def _await_review(report: Report) -> Notice | None:
    """That a run in mode Audit found moves; none is proposed while something holds them."""
    if isinstance(report, Outcome) or not report.moves or report.guards:
        return None
    title = f"Plan {report.id} awaits review. {headline(report)}"
    subject = ",".join(sorted(move.pod.uid for move in report.moves))
    lines = [_planned_line(move) for move in report.moves]
    return _notice(report, "PlanAwaitsReview", title, lines, subject=subject)


def _planned_line(move: PlannedMove) -> str:
    likeliest = max(move.landing, key=lambda share: share.probability, default=None)
    goal = "" if likeliest is None else f", expected on {likeliest.node}"
    chance = "" if likeliest is None else f" ({percent(likeliest.probability)})"
    return f"{pod_name(move.pod)}: from {move.source}{goal}{chance}"


def _moves_made(report: Report) -> Notice | None:
    """What was evicted and where it went, and what earlier moves have brought."""
    plan = plan_in(report)
    outcome = report if isinstance(report, Outcome) else None
    results = outcome.moves if outcome is not None else ()
    pairs = list(zip(plan.moves, results, strict=bool(results)))
    evicted = [(move, result) for move, result in pairs if result.result == "evicted"]
    measured = list(_measured_lines(plan))
    if not evicted and not measured:
        return None
    title = headline(report) if evicted else "What earlier moves have brought was measured."
    lines = [*measured, *(_evicted_line(move, result) for move, result in evicted)]
    return _notice(plan, "MovesMade", title, lines, subject=f"{plan.id} {plan.taken}")


def _evicted_line(move: PlannedMove, result: MoveResult) -> str:
    pod = f"{pod_name(move.pod)}: left {move.source}"
    if result.landedOn is None:
        return f"{pod}; no replacement is seen yet"
    if result.readySeconds is None:
        return f"{pod}; the replacement on {result.landedOn} is not Ready"
    return (
        f"{pod}; the replacement on {result.landedOn} was Ready after {result.readySeconds:.0f} s"
    )


def _measured_lines(plan: Plan) -> Iterator[str]:
    """For each policy what the moves that were measured in this very cycle have brought."""
    fresh = [move for move in plan.measuredMoves if move.at == plan.taken and move.measured]
    for policy in sorted({name for move in fresh for name in move.measured}):
        counted = [m for m in fresh if policy in m.measured and policy not in m.neutral]
        if not counted:
            continue
        measured = sum(move.measured[policy] for move in counted)
        promised = sum(move.promised.get(policy, 0.0) for move in counted)
        verdict = "helped" if measured > 0 else "did not help"
        yield (
            f"Policy {policy}: {count_text(len(counted), 'earlier move')} {verdict}: "
            f"{amount(measured)} of {amount(promised)} promised"
        )


def _hold(report: Report) -> Notice | None:
    """What holds all moves; that another instance leads is no hold."""
    plan = plan_in(report)
    holds: list[Problem] = list(plan.guards)
    if isinstance(report, Outcome) and report.verdict.code.startswith("GRD"):
        holds.append(report.verdict)
    by_code = {hold.code: hold for hold in holds if hold.code != _ANOTHER_INSTANCE_LEADS}
    if not by_code:
        return None
    codes = sorted(by_code)
    lines = [
        f"{hold.code} {hold.message} {CATALOG[hold.code].advice}".strip()
        for hold in by_code.values()
    ]
    more = len(codes) - 1
    others = (
        f" {count_text(more, 'other guard')} {verb_for(more, 'holds', 'hold')} them too."
        * bool(more)
    )
    title = f"No pod is evicted. All moves are held: {CATALOG[codes[0]].sentence}{others}"
    return _notice(plan, "Hold", title, lines, subject=",".join(codes), warning=True, code=codes[0])


def _demotion(plan: Plan) -> Notice | None:
    """The policies that only report for now, and why."""
    demoted = [policy for policy in plan.policies if policy.demoted_since()]
    if not demoted:
        return None
    subject = ",".join(
        sorted(f"{policy.name} {at}" for policy in demoted for at in policy.demoted_since())
    )
    lines, codes = [], []
    for policy in demoted:
        for why in (policy.brought, policy.selection):
            if why is not None and why.demotedAt is not None and why.problem is not None:
                codes.append(why.problem.code)
                lines.append(f"{policy.name}: {why.problem.code} {why.problem.message}")
    verb = "counts" if len(demoted) == 1 else "count"
    title = f"{count_text(len(demoted), 'policy', 'policies')} {verb} as Audit for now."
    code = codes[0] if codes else ""
    return _notice(plan, "Demotion", title, lines, subject=subject, warning=True, code=code)


def _idle_owners(plan: Plan) -> Notice | None:
    """Who holds GPUs and hardly uses them, the most first; an owner is told once."""
    held = {(i.namespace, i.owner): i for policy in plan.policies for i in policy.idle}
    holders = sorted(held.values(), key=lambda i: (-i.daily, i.namespace, i.owner))
    hours = sum(holder.daily for holder in holders)
    if not holders:
        return None
    owners = count_text(len(holders), "owner")
    verb = "holds" if len(holders) == 1 else "hold"
    title = f"{owners} {verb} GPUs that are hardly used: {gpu_hours(hours)} GPU-hours a day."
    return _notice(plan, "IdleOwners", title, [_idle_line(holder) for holder in holders])


def _idle_line(holder: IdleHolder) -> str:
    gpus = f"{holder.gpus:g} {'GPU' if holder.gpus == 1 else 'GPUs'}"
    return (
        f"{holder.namespace}/{holder.owner}: {gpus}, {percent(holder.use)} in use, "
        f"{gpu_hours(holder.daily)} GPU-hours idle a day"
    )
