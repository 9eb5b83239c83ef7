"""The policies as far as they can be carried out now, and what to note of the rest."""

from collections.abc import Iterable
from dataclasses import replace

from rescheduler.acting.actor import Actor
from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering import Steering as Wanted
from rescheduler.steering.steering import Steering


def in_effect(policies: PolicySet, actor: Actor) -> tuple[PolicySet, list[Problem]]:
    """The policies without what cannot be done now; asked under the lock, before a cycle plans."""
    policies, notes = steered(policies, actor.steering)
    policies, unstopped = restarting(policies, actor)
    return policies, [*notes, *unstopped]


def steered(policies: PolicySet, steering: Steering) -> tuple[PolicySet, list[Problem]]:
    """The policies without the steering that is not in effect now.

    Where something is missing the cycle goes on without: policies move pods unsteered, and those
    that require steering, or count on it, move none.
    """
    missing: dict[str, Problem] = {}
    for means in _wanted(policies):
        try:
            why = steering.ready(means, policies.schedulers) or steering.confirm(means)
        except ActionError as error:
            why = Problem(code="STR001", message=error.message)
        if why is not None:
            missing[means] = why
    if not missing:
        return policies, []
    changed = tuple(_without(each, policies.limits, missing) for each in policies.policies)
    return replace(policies, policies=changed), [_noted(*each) for each in missing.items()]


def not_set_up(policies: PolicySet, steering: Steering) -> list[Problem]:
    """What to note of the steering that the policies want and that is seen not to be set up.

    For who does not act, and may not be allowed to see all of it: what cannot be seen is not
    missing.
    """
    notes = []
    for means in _wanted(policies):
        try:
            why = steering.ready(means, policies.schedulers)
        except ActionError:
            continue
        if why is not None:
            notes.append(_noted(means, why))
    return notes


def _wanted(policies: PolicySet) -> list[str]:
    """The names of the means that the policies want."""
    return sorted({policies.limits.steering_of(each).by for each in policies.policies} - {"None"})


def _noted(means: str, why: Problem) -> Problem:
    """The note that this means has no effect."""
    known = CATALOG[why.code]
    said = f"{known.sentence} (steering.by {means}: {why.message}). {known.advice}"
    return Problem(code=why.code, message=said)


def _without(policy: Policy, limits: Limits, missing: Iterable[str]) -> Policy:
    said = limits.steering_of(policy)
    if said.by not in missing:
        return policy
    only = policy.onlyIfSteered or said.strength == "Require"
    return policy.model_copy(update={"steering": Wanted(), "onlyIfSteered": only})


def restarting(policies: PolicySet, actor: Actor) -> tuple[PolicySet, list[Problem]]:
    """The policies, which leave the gangs of Kueue alone where we may not stop them; and why."""
    limits = policies.limits
    if limits.kueue != "Restart":
        return policies, []
    why = _refused(actor)
    if not why:
        return policies, []
    reason = CATALOG["ACT022"]
    note = Problem(code="ACT022", message=f"{reason.sentence} ({why}). {reason.advice}")
    left = limits.model_copy(update={"kueue": "Leave"})
    return replace(policies, limits=left), [note]


def _refused(actor: Actor) -> str:
    try:
        permitted = actor.kueue.permitted()
    except ActionError as error:
        return error.message
    return "" if permitted else "the service account may not delete workloads.kueue.x-k8s.io"
