"""What `steering: {by: Auto}` is in this cycle: a means that is ready and shows that it steers."""

from collections.abc import Callable
from dataclasses import replace

from rescheduler.model.errors import ReschedulerError, RightMissing
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.steering_fields import AUTOMATIC, SteeringFields
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.steering.means_registry import MEANS
from rescheduler.steering.steering import Steering

_BROKEN = frozenset({"STR001", "STR002"})
"""Of what is set up: nobody can find out whether it steers, or it does not."""


def choose_automatic_steering(
    policies: PolicySet, steering: Steering, version: Callable[[], str]
) -> tuple[PolicySet, list[Problem]]:
    """The policies with the chosen means instead of Auto, or unsteered and with a note.

    What is set up and does not steer is noted besides, as where a policy names it: somebody counts
    on it. version: asks for that of kube-apiserver.
    """
    if "Auto" not in policies.wanted_steering():
        return leave_unsteered(policies), []
    chosen, reasons = _first_ready(policies, steering, version)
    if chosen != "None":
        return _replace_automatic(policies, chosen), []
    broken = next((why for why in reasons.values() if why.code in _BROKEN), None)
    notes = [_unsteered_note(reasons), *([] if broken is None else [broken])]
    return _replace_automatic(policies, chosen), notes


def leave_unsteered(policies: PolicySet) -> PolicySet:
    """The policies with None instead of Auto, where nobody can be asked what steers."""
    return _replace_automatic(policies, "None")


def _replace_automatic(policies: PolicySet, chosen: str) -> PolicySet:
    steered = {"steering": SteeringFields(by=chosen)}
    changed = tuple(
        policy.model_copy(update=steered)
        if policy.steering is not None and policy.steering.by == "Auto"
        else policy
        for policy in policies.policies
    )
    limits = policies.limits
    if limits.steering.by == "Auto":
        limits = limits.model_copy(update=steered)
    return replace(policies, policies=changed, limits=limits)


def _unsteered_note(reasons: dict[str, Problem]) -> Problem:
    """That nothing steers, with each reason once. reasons: by the name of the means."""
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why.message, []).append(name)
    said = "; ".join(f"{' and '.join(names)}: {why}" for why, names in by_reason.items())
    return Problem("STR010", f"{CATALOG['STR010'].sentence.removesuffix('.')} ({said})")


def _first_ready(
    policies: PolicySet, steering: Steering, version: Callable[[], str]
) -> tuple[str, dict[str, Problem]]:
    """The name of the first means that steers, or None, and why each of the others does not."""
    reasons: dict[str, Problem] = {}
    try:
        served = version()
    except ReschedulerError as error:
        return "None", dict.fromkeys(AUTOMATIC, Problem("STR001", error.message))
    minor = minor_of(served)
    for name in AUTOMATIC:
        since = MEANS[name].since
        if since and (minor is None or minor < since):
            text = f"kube-apiserver {served or 'of an unknown version'} {MEANS[name].before}"
            reasons[name] = Problem("STR010", text)
            continue
        why = _explain_missing(name, policies, steering)
        if why is None:
            return name, {}
        reasons[name] = why
    return "None", reasons


def _explain_missing(name: str, policies: PolicySet, steering: Steering) -> Problem | None:
    try:
        missing = steering.ready(name, policies.schedulers)
        if missing is not None:
            return Problem("STR010", missing.message)
        return steering.confirm(name)
    except RightMissing:
        text = "this account may not read and update the table of replacements, if there is one"
        return Problem("STR010", text)
    except ReschedulerError as error:
        return Problem("STR001", error.message)
