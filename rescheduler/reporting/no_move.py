"""Why a plan has no move at all, in one sentence."""

from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.judgement import Judgement, judging_policies
from rescheduler.reporting.rows import RefusalGroup


def why_no_move(plan: Plan, said: Judgement | None, groups: list[RefusalGroup]) -> Problem | None:
    """Why there is no move, or None where there are moves.

    said: the answer of all policies; None in plans of earlier versions. groups: what is left alone.
    """
    if plan.moves:
        return None
    if plan.guards:
        guard = plan.guards[0]
        return Problem(code=guard.code, message="No move: a guard holds the cycle, see above.")
    if said is not None:
        return _by_answer(plan, said)
    if plan.policies and all(policy.problem for policy in plan.policies):
        problem = plan.policies[0].problem
        code = problem.code if problem else ""
        return Problem(code=code, message="No move: no policy could be evaluated, see above.")
    if not plan.totals.candidates:
        return Problem(
            code="", message="Nothing to do: no move could lower the cost of any policy."
        )
    return _by_refusals(plan, groups)


def _by_answer(plan: Plan, said: Judgement) -> Problem:
    if said.state == "Healthy":
        return Problem(code="", message="Nothing to do: nothing is wrong.")
    code = "" if said.why is None else said.why.code
    if said.state == "NotJudged" or said.why is None:
        what = "nothing is judged"
        if judging_policies(plan):
            what = "nothing that is judged is wrong"
        return Problem(code=code, message=f"No move: {what}.")
    return Problem(code=code, message=f"No move: {said.why.message}")


def _by_refusals(plan: Plan, groups: list[RefusalGroup]) -> Problem:
    first = groups[0] if groups else None
    if first is None:
        return Problem(code="", message="Nothing to do: no candidate is worth a move.")
    if first.code == "PAC007" and first.examples:
        waits = f"{count_text(first.count, 'pod')} {verb_for(first.count, 'waits', 'wait')}"
        return Problem(code=first.code, message=f"Waiting: {first.examples[0].message}; {waits}.")
    total = sum(group.count for group in groups)
    share = "all" if first.count == total else f"{first.count} of {total}"
    text = "Nothing to do: no candidate is worth a move."
    if "STB001" in plan.totals.refused:
        text = "Nothing to do yet: no candidate may move now."
    return Problem(code=first.code, message=f"{text} Most often ({share}): {first.sentence}")
