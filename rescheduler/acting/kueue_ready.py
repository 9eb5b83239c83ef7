"""Whether Workloads of Kueue may be stopped: asked under the lock, before a cycle plans."""

from dataclasses import replace

from rescheduler.acting.actor import Actor
from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.files.policy_set import PolicySet


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
    if actor.kueue is None:
        return "nothing here stops Workloads"
    try:
        permitted = actor.kueue.permitted()
    except ActionError as error:
        return error.message
    return "" if permitted else "the service account may not delete workloads.kueue.x-k8s.io"
