"""The policies that can be carried out now, and the notes on those that cannot."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from rescheduler.acting.actor import Actor
from rescheduler.acting.automatic_steering import choose_automatic_steering
from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields as Wanted
from rescheduler.steering.steering import Steering


def in_effect(
    policies: PolicySet, actor: Actor, version: Callable[[], str] = lambda: ""
) -> tuple[PolicySet, list[Problem]]:
    """The policies without what cannot be done now; read under the lock, before a cycle plans.

    version: reads that of kube-apiserver.
    """
    policies, unsteered = choose_automatic_steering(policies, actor.steering, version)
    policies, notes = drop_missing_steering(policies, actor.steering)
    policies, unstopped = drop_denied_restarts(policies, actor)
    return policies, [*unsteered, *notes, *unstopped]


def drop_missing_steering(
    policies: PolicySet, steering: Steering
) -> tuple[PolicySet, list[Problem]]:
    """The policies without the steering that is not in effect now.

    Where something is missing the cycle goes on without: policies move pods unsteered, and those
    that require steering, or count on it, move none.
    """
    missing: dict[str, Problem] = {}
    for means in policies.wanted_steering():
        try:
            why = steering.ready(means, policies.schedulers) or steering.confirm(means)
        except ActionError as error:
            why = Problem(code="STR001", message=error.message)
        if why is not None:
            missing[means] = why
    if not missing:
        return policies, []
    changed = tuple(
        _drop_steering(policy, policies.limits, missing) for policy in policies.policies
    )
    return replace(policies, policies=changed), [_missing_note(*pair) for pair in missing.items()]


def not_set_up(policies: PolicySet, steering: Steering) -> list[Problem]:
    """What to note of the steering that the policies want and that is seen not to be set up.

    For who does not act, and may not be allowed to see all of it: what cannot be seen is not
    missing.
    """
    notes = []
    for means in policies.wanted_steering():
        try:
            why = steering.ready(means, policies.schedulers)
        except ActionError:
            continue
        if why is not None:
            notes.append(_missing_note(means, why))
    return notes


def _missing_note(means: str, why: Problem) -> Problem:
    """The note that this means has no effect."""
    reason = CATALOG[why.code]
    said = f"{reason.sentence} (steering.by {means}: {why.message}). {reason.advice}"
    return Problem(code=why.code, message=said)


def _drop_steering(policy: Policy, limits: Limits, missing: Iterable[str]) -> Policy:
    said = limits.steering_of(policy)
    if said.by not in missing:
        return policy
    only = policy.onlyIfSteered or said.strength == "Require"
    return policy.model_copy(update={"steering": Wanted(by="None"), "onlyIfSteered": only})


def drop_denied_restarts(policies: PolicySet, actor: Actor) -> tuple[PolicySet, list[Problem]]:
    """The policies, which leave the gangs of Kueue alone where we may not stop them; and why."""
    limits = policies.limits
    if limits.kueue != "Restart":
        return policies, []
    why = _kueue_refusal(actor)
    if not why:
        return policies, []
    reason = CATALOG["ACT022"]
    note = Problem(code="ACT022", message=f"{reason.sentence} ({why}). {reason.advice}")
    changed_limits = limits.model_copy(update={"kueue": "Leave"})
    return replace(policies, limits=changed_limits), [note]


def _kueue_refusal(actor: Actor) -> str:
    try:
        permitted = actor.kueue.may_delete()
    except ActionError as error:
        return error.message
    return "" if permitted else "the service account may not delete workloads.kueue.x-k8s.io"
