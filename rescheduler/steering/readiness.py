"""Whether what steers is there: asked under the lock, before a cycle plans.

Where it is not, the cycle goes on without: policies move pods unsteered, and those that require or
count on steering move none.
"""

from collections.abc import Iterable
from dataclasses import replace

from rescheduler.acting.actor import Actor
from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.steering import Means
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering import Steering
from rescheduler.steering.confirming import confirmed

EXTENDER_WEIGHT = 2
"""With it the extender's 10 points count as much as preferred node affinity of weight 100, which
landings are predicted with: 10 x 10 x 2 points, as 100 x 2 are by the default weight of the plugin.

Source: pkg/scheduler/schedule_one.go, prioritizeNodes, Kubernetes 1.36.
"""


def in_effect(policies: PolicySet, actor: Actor) -> tuple[PolicySet, list[Problem]]:
    """The policies without the steering that is not in effect now, and what to note about it."""
    asked = {policies.limits.steering_of(each).by for each in policies.policies} - {"None"}
    missing = {
        means: why
        for means in sorted(asked)
        if (why := _misconfigured(means, policies) or _missing(means, actor)) is not None
    }
    if not missing:
        return policies, []
    changed = tuple(_without(each, policies.limits, missing) for each in policies.policies)
    return replace(policies, policies=changed), [noted(*each) for each in missing.items()]


def noted(means: Means, why: Problem) -> Problem:
    """The note that these means have no effect."""
    known = CATALOG[why.code]
    said = f"{known.sentence} (steering.by {means}: {why.message}). {known.advice}"
    return Problem(code=why.code, message=said)


def _without(policy: Policy, limits: Limits, missing: Iterable[Means]) -> Policy:
    said = limits.steering_of(policy)
    if said.by not in missing:
        return policy
    only = policy.onlyIfSteered or said.strength == "Require"
    return policy.model_copy(update={"steering": Steering(), "onlyIfSteered": only})


def _missing(means: Means, actor: Actor) -> Problem | None:
    """Why these means have no effect now; None where they have, as far as it can be told."""
    if means == "SoftTaint":
        return _untaintable(actor)
    if actor.steering is None:
        return Problem(code="STR001", message="nothing here writes the table of replacements")
    try:
        if not actor.steering.exists():
            return Problem(code="STR001", message="the ConfigMap of the table does not exist")
        return confirmed(actor, means)
    except ActionError as error:
        return Problem(code="STR001", message=error.message)


def _misconfigured(means: Means, policies: PolicySet) -> Problem | None:
    """Why a declared scheduler does not steer as it is predicted to, where that can be told."""
    if means != "Extender":
        return None
    for scheduler in policies.schedulers:
        asked = (each for each in scheduler.extenders if each.prioritizeVerb)
        for each in asked:
            if each.urlPrefix in scheduler.harmlessExtenders and each.weight != EXTENDER_WEIGHT:
                said = f"its extender {each.urlPrefix} has weight {each.weight}"
                text = f"Scheduler {scheduler.name}: {said}, not {EXTENDER_WEIGHT}"
                return Problem(code="STR001", message=text)
    return None


def _untaintable(actor: Actor) -> Problem | None:
    if actor.taints is None:
        return Problem(code="STR001", message="nothing here taints nodes")
    try:
        if actor.taints.permitted():
            return None
    except ActionError as error:
        return Problem(code="STR001", message=error.message)
    return Problem(code="STR001", message="the service account may not patch nodes")
