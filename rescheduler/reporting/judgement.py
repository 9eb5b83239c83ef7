"""The first answer of a report: healthy, not judged, powerless, or what could be better."""

from dataclasses import dataclass

from rescheduler.model.moves.assessment import AssessmentState
from rescheduler.model.moves.plan import Plan, PolicyResult
from rescheduler.model.moves.shared_causes import policies_by_cause
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, join_names, verb_for

LABELS: dict[AssessmentState, str] = {
    "Healthy": "HEALTHY",
    "NotJudged": "NOT JUDGED",
    "Powerless": "POWERLESS",
    "Improvable": "IMPROVABLE",
}
"""What each state is called, so that color is never the only carrier."""

MOST_UNJUDGED = 2
"""Reasons for policies without a judgement that the sentence names."""


@dataclass(frozen=True)
class Judgement:
    """A state as people read it. sentence: what it means here. why: what is behind it, if anything.

    name: the state as the page's style sheet calls it.
    """

    state: AssessmentState
    label: str
    sentence: str
    why: Problem | None

    @property
    def name(self) -> str:
        """In small letters."""
        return self.state.lower()


def judgement(plan: Plan) -> Judgement | None:
    """The answer of all policies with a weight; None in plans of earlier versions."""
    assessment = plan.assessment
    if assessment is None:
        return None
    sentences = {
        "Healthy": _healthy,
        "NotJudged": _not_judged,
        "Powerless": _powerless,
        "Improvable": _improvable,
    }
    sentence = sentences[assessment.state](plan)
    return Judgement(assessment.state, LABELS[assessment.state], sentence, assessment.why)


def judging_policies(plan: Plan) -> list[PolicyResult]:
    """The policies with a weight that judge what they select."""
    return [policy for policy in plan.policies if policy.weight > 0 and not policy.silent]


def silent_policies(plan: Plan) -> list[PolicyResult]:
    """The policies with a weight that do not."""
    return [policy for policy in plan.policies if policy.weight > 0 and policy.silent]


def what_is_wrong(plan: Plan, *, after: bool = False) -> str:
    """What is wrong in words, such as `5 hot nodes`; else the policies that have a complaint."""
    counts = [
        count_text(count.after if after else count.before, count.one, count.many)
        for count in plan.counts
        if (count.after if after else count.before)
    ]
    if counts:
        return " and ".join(counts)
    names = [
        policy.name
        for policy in plan.policies
        if policy.assessment is not None and policy.assessment.state in ("Powerless", "Improvable")
    ]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    complain = verb_for(len(names), "complains", "complain")
    policies = verb_for(len(names), "policy", "policies")
    return f"{policies} {', '.join(names[:2])}{more} {complain}"


def _healthy(plan: Plan) -> str:
    policies = len(judging_policies(plan))
    finds = "the policy finds" if policies == 1 else f"{policies} policies find"
    return f"{finds} nothing wrong.{_silence(plan)}"


def _not_judged(plan: Plan) -> str:
    if judging_policies(plan):
        return _healthy(plan)
    weighted = len(silent_policies(plan))
    if not weighted:
        return "no policy has a weight."
    judges = "the policy judges nothing" if weighted == 1 else "no policy judges anything"
    return f"{judges} here: {_unjudged_names(plan)}."


def _powerless(plan: Plan) -> str:
    return f"{what_is_wrong(plan)}, and no move that may be made now mends that.{_silence(plan)}"


def _improvable(plan: Plan) -> str:
    return f"{what_is_wrong(plan)}.{_silence(plan)}"


def _silence(plan: Plan) -> str:
    """A sentence on the policies that judge nothing, with why."""
    return f" Not judged: {_unjudged_names(plan)}." if silent_policies(plan) else ""


def _unjudged_names(plan: Plan) -> str:
    policies = silent_policies(plan)
    reasons = [
        (policy, (policy.assessment.why if policy.assessment else None) or Problem("", ""))
        for policy in policies
    ]
    groups = policies_by_cause(plan, reasons)[:MOST_UNJUDGED]
    named = [_names_with_reason([policy.name for policy in group], why) for group, why in groups]
    if more := len(policies) - sum(len(group) for group, _ in groups):
        named.append(f"{more} more")
    return "; ".join(named)


def _names_with_reason(names: list[str], why: Problem) -> str:
    said = why.message.rstrip(".")
    return join_names(names) + (f" ({said})" if said else "")
