"""What `steering: {by: Auto}` is in this cycle: a means that is ready and shows that it steers."""

from collections.abc import Callable
from dataclasses import replace

from rescheduler.model.errors import ReschedulerError
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.steering_fields import AUTOMATIC, SteeringFields
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.steering.means_registry import MEANS
from rescheduler.steering.steering import Steering


def choose_automatic_steering(
    policies: PolicySet, steering: Steering, version: Callable[[], str]
) -> tuple[PolicySet, list[Problem]]:
    """The policies with the chosen means instead of Auto, or unsteered and with a note.

    version: asks for that of kube-apiserver.
    """
    automatic = [
        policy.name
        for policy in policies.policies
        if policies.limits.steering_of(policy).by == "Auto"
    ]
    if not automatic:
        return policies, []
    chosen, reasons = _first_ready(policies, steering, version)
    changed = tuple(
        policy.model_copy(update={"steering": SteeringFields(by=chosen)})
        if policy.name in automatic
        else policy
        for policy in policies.policies
    )
    reason = CATALOG["STR010"]
    said = f"{reason.sentence} ({'; '.join(reasons)}). {reason.advice}"
    notes = [Problem(code="STR010", message=said)] if chosen == "None" else []
    return replace(policies, policies=changed), notes


def _first_ready(
    policies: PolicySet, steering: Steering, version: Callable[[], str]
) -> tuple[str, list[str]]:
    """The name of the first means that steers, or None, and why the others do not."""
    reasons: list[str] = []
    try:
        served = version()
        minor = minor_of(served)
    except ReschedulerError as error:
        return "None", [error.message]
    for name in AUTOMATIC:
        since = MEANS[name].since
        if since and (minor is None or minor < since):
            reasons.append(f"{name}: kube-apiserver {served} {MEANS[name].before}")
            continue
        why = _explain_missing(name, policies, steering)
        if not why:
            return name, []
        reasons.append(f"{name}: {why}")
    return "None", reasons


def _explain_missing(name: str, policies: PolicySet, steering: Steering) -> str:
    try:
        why = steering.ready(name, policies.schedulers) or steering.confirm(name)
    except ReschedulerError as error:
        return error.message
    return "" if why is None else why.message
