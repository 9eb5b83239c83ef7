"""Whether what steers is there: asked under the lock, before a cycle plans.

Where it is not, the cycle goes on without: policies move pods unsteered, and those that require or
count on steering move none.
"""

from collections.abc import Iterable
from dataclasses import replace

from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.steering import Means
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering import Steering
from rescheduler.runtime.enforce.actor import Actor
from rescheduler.runtime.enforce.steering import CONFIRMED, TABLED, confirmed


def in_effect(policies: PolicySet, actor: Actor) -> tuple[PolicySet, list[Problem]]:
    """The policies without the steering that is not in effect now, and what to note about it."""
    asked = {_steering(each, policies.limits).by for each in policies.policies} - {"None"}
    missing = {means: why for means in sorted(asked) if (why := _missing(means, actor)) is not None}
    if not missing:
        return policies, []
    changed = tuple(_without(each, policies.limits, missing) for each in policies.policies)
    notes = [
        Problem(
            code=why.code,
            message=f"{CATALOG[why.code].sentence} (steering.by {means}: {why.message}). "
            f"{CATALOG[why.code].advice}",
        )
        for means, why in missing.items()
    ]
    return replace(policies, policies=changed), notes


def _steering(policy: Policy, limits: Limits) -> Steering:
    return policy.steering or limits.steering


def _without(policy: Policy, limits: Limits, missing: Iterable[Means]) -> Policy:
    said = _steering(policy, limits)
    if said.by not in missing:
        return policy
    only = policy.onlyIfSteered or said.strength == "Require"
    return policy.model_copy(update={"steering": Steering(), "onlyIfSteered": only})


def _missing(means: Means, actor: Actor) -> Problem | None:
    """Why these means have no effect now; None where they have, as far as it can be told."""
    if means not in TABLED:
        return Problem(code="STR001", message="nothing here steers by it")
    if means == "Extender":
        return Problem(code="STR001", message="nothing shows whether the scheduler asks it")
    if actor.steering is None:
        return Problem(code="STR001", message="nothing here writes the table of replacements")
    try:
        if not actor.steering.exists():
            return Problem(code="STR001", message="the ConfigMap of the table does not exist")
        return confirmed(actor) if means in CONFIRMED else None
    except ActionError as error:
        return Problem(code="STR001", message=error.message)
