"""Why a cycle evicted nothing, in one sentence that is the same wherever it is shown."""

from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.view import view

_EVERY_MOVE_WAS_TRIED = "ACT013"


def cause_of(report: Report) -> Problem | None:
    """Why nothing was evicted; None where something was."""
    plan = plan_in(report)
    outcome = report if isinstance(report, Outcome) else None
    if outcome is not None and any(move.result == "evicted" for move in outcome.moves):
        return None
    if plan.guards:
        return plan.guards[0]
    if outcome is not None and outcome.verdict.code != _EVERY_MOVE_WAS_TRIED:
        return outcome.verdict
    if not plan.moves:
        return _not_evaluated(plan) or view(report).nothing
    moves = count_text(len(plan.moves), "move")
    if outcome is None:
        verb = verb_for(len(plan.moves), "is", "are")
        return Problem("", f"{moves} {verb} proposed, and the run is in mode Audit.")
    if not outcome.enforced:
        return Problem("", f"Only policies that report want the {moves} of this plan.")
    first = outcome.enforced[0]
    message = f"None of {count_text(len(outcome.enforced), 'move')} was made: {first.message}"
    return Problem(first.code, message)


def _not_evaluated(plan: Plan) -> Problem | None:
    """Why no policy could be evaluated, as the first of them says it; None where one was."""
    problems = [policy.problem for policy in plan.policies]
    first = next((problem for problem in problems if problem is not None), None)
    if first is None or None in problems:
        return None
    text = f"Policy {plan.policies[0].name} could not be evaluated"
    if len(problems) > 1:
        text = f"None of {len(problems)} policies could be evaluated"
    return Problem(first.code, f"{text}: {first.message}")
