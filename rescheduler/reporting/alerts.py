"""Alerts on top of a report: guards that hold, policies not evaluated, data that is missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rescheduler.model.moves.plan import GainsResult, Outcome, Plan, Report, plan_in
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.moves.shared_causes import cause_of, policies_by_cause
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import join_names, verb_for
from rescheduler.reporting.phrasing import resource

Level = Literal["held", "problem", "note"]
PAUSED, UNSTEERED = "GRD006", "STR010"
_TITLES = {UNSTEERED: "Replacements are not steered"}


@dataclass(frozen=True)
class Alert:
    """Something to know before reading on. title: what it is about."""

    level: Level
    code: str
    title: str
    message: str
    advice: str


def alerts(report: Report) -> list[Alert]:
    """What must be known first, in this order.

    - guards, a pause, and other reasons why nothing acts;
    - policies that were not evaluated;
    - policies whose moves bring too little;
    - policies that select something new, or nothing, and rules that can never act;
    - unfit readings, but none that a policy above names already;
    - schedulers that cannot be predicted;
    - notes; that nothing steers only where a pod could move.
    """
    plan = plan_in(report)
    answer = [
        _alert("held", guard.code, "The cycle is held", guard.message) for guard in plan.guards
    ]
    answer += [
        _alert("held", note.code, "Evictions are paused", note.message)
        for note in plan.notes
        if note.code == PAUSED
    ]
    distrust = None if report.calibration is None else report.calibration.problem
    verdict = report.verdict.code if isinstance(report, Outcome) else ""
    if distrust is not None and verdict != distrust.code:
        title = "Pods of one kind stay until their landings are trusted again"
        answer.append(_alert("held", distrust.code, title, distrust.message))
    answer += _evaluation_alerts(plan)
    answer += [
        _gains_alert(policy.name, policy.brought, policy.brought.problem)
        for policy in plan.policies
        if policy.brought is not None and policy.brought.problem is not None
    ]
    answer += [
        _selection_alert(policy.name, policy.selection, policy.selection.problem)
        for policy in plan.policies
        if policy.selection is not None and policy.selection.problem is not None
    ]
    answer += [
        _empty_alert(policy.name, policy.selection)
        for policy in plan.policies
        if policy.selection is not None and policy.problem is None
        if 0 in (policy.selection.pods, policy.selection.nodes)
    ]
    answer += [
        _alert("note", "SEL004", f"A rule of policy {policy.name} can never act", why)
        for policy in plan.policies
        if policy.selection is not None
        for why in policy.selection.inert
    ]
    answer += _reading_alerts(plan)
    for scheduler in plan.schedulers:
        if scheduler.problem is not None:
            title = f"Pods of scheduler {scheduler.name} are left alone"
            answer.append(
                _alert("problem", scheduler.problem.code, title, scheduler.problem.message)
            )
    answer += [
        _alert("note", note.code, _TITLES.get(note.code, "About the data"), note.message)
        for note in shown_notes(plan)
        if note.code != PAUSED
    ]
    return answer


def shown_notes(plan: Plan) -> list[Problem]:
    """The notes that concern this plan: that nothing steers does only where a pod could move."""
    return [note for note in plan.notes if note.code != UNSTEERED or plan.totals.candidates]


def _evaluation_alerts(plan: Plan) -> Iterator[Alert]:
    """One for all policies that were not evaluated for the same cause."""
    unevaluated = [
        (policy, policy.problem) for policy in plan.policies if policy.problem is not None
    ]
    for policies, why in policies_by_cause(plan, unevaluated):
        were = verb_for(len(policies), "Policy {} was", "Policies {} were")
        title = were.format(join_names([policy.name for policy in policies])) + " not evaluated"
        yield _alert("problem", why.code, title, why.message)


def _reading_alerts(plan: Plan) -> Iterator[Alert]:
    """One for all unfit readings with the same cause, where no policy has named it."""
    policy_causes = {cause_of(policy.problem, plan) for policy in plan.policies if policy.problem}
    names_by_cause: dict[tuple[str, str], list[str]] = {}
    for reading in plan.readings:
        if reading.problem is not None:
            cause = cause_of(reading.problem, plan)
            names_by_cause.setdefault((reading.problem.code, cause), []).append(
                f"{reading.name} ({resource(reading.name)})"
            )
    for (code, cause), names in names_by_cause.items():
        if cause not in policy_causes:
            are = verb_for(len(names), "Reading {} is unfit", "Readings {} are unfit")
            yield _alert("problem", code, are.format(join_names(names)), cause)


def _gains_alert(name: str, gains: GainsResult, problem: Problem) -> Alert:
    if gains.demotedUntil is not None:
        return _alert(
            "problem", problem.code, f"Policy {name} is demoted to Audit", problem.message
        )
    title = f"The moves for policy {name} bring too little"
    return _alert("note", problem.code, title, problem.message)


def _selection_alert(name: str, selection: SelectionResult, problem: Problem) -> Alert:
    if selection.demotedUntil is not None:
        return _alert(
            "problem", problem.code, f"Policy {name} is demoted to Audit", problem.message
        )
    title = f"A run counts policy {name} as Audit first; a plan that people apply does not"
    return _alert("note", problem.code, title, problem.message)


def _empty_alert(name: str, selection: SelectionResult) -> Alert:
    what, field = ("pod", "match") if selection.pods == 0 else ("node", "nodes")
    message = f"its `{field}` selects none, so that its cost says nothing about this cluster"
    return _alert("note", "SEL003", f"Policy {name} selects no {what}", message)


def _alert(level: Level, code: str, title: str, message: str) -> Alert:
    return Alert(level, code, title, message, advice(code))


def advice(code: str) -> str:
    """What a person can do about a code; empty where there is nothing."""
    reason = CATALOG.get(code)
    return "" if reason is None else reason.advice


def sentence(code: str) -> str:
    """What a code means in general; the code itself where it is not in the catalogue."""
    reason = CATALOG.get(code)
    return code if reason is None else reason.sentence
