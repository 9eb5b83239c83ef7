"""Remedies that change a policy: its mode, or a field by which it passes over what is wrong."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rescheduler.model.moves.shared_causes import policies_by_cause
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import join_names, verb_for
from rescheduler.planning.suggestions.remedies import Remedy, Situation
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.terms import INCOMPLETE_READINGS


def policy_remedies(situation: Situation) -> Iterator[Remedy]:
    """Those of every policy, in the order of the set."""
    pairs = zip(situation.policies.policies, situation.plan.policies, strict=True)
    for number, (policy, result) in enumerate(pairs):
        yield from _enforce_policy(situation, number, policy)
        if result.silent:
            yield from _judge_more(situation, number, policy)
    yield from _give_readings(situation)
    yield from _complete_readings(situation)


def _enforce_policy(situation: Situation, number: int, policy: Policy) -> Iterator[Remedy]:
    """Mode Enforce for a policy in Audit that would move pods."""
    wanted = sum(
        move.mode == "Audit" and move.gains.get(policy.name, 0.0) > 0
        for move in situation.plan.moves
    )
    if policy.mode == "Audit" and policy.moves_pods and wanted:
        yield Remedy(
            code="",
            change=f"Set policy {policy.name} to Enforce",
            how=f"Write `mode: Enforce` in policy {policy.name}",
            policies=_with_policy(situation.policies, number, policy, mode="Enforce"),
            pods=wanted,
            risk="its moves are made in runs with mode Enforce, and not only shown",
            decides=f"the owners of policy {policy.name}",
        )


def _judge_more(situation: Situation, number: int, policy: Policy) -> Iterator[Remedy]:
    """The fields by which the policy would judge what it passes over."""
    for field, value in policy.wider():
        changed = _with_policy(situation.policies, number, policy, **{field: value})
        readings = changed.policies[number].requests()
        there = all(situation.snapshot.readings.find(reading) is not None for reading in readings)
        yield Remedy(
            code="ELG047",
            change=f"Set {field} to {value} in policy {policy.name}",
            how=f"Write `{field}: {value}` in policy {policy.name}",
            policies=changed,
            pods=len(situation.snapshot.pods),
            lacking="" if there else "no figure, as its readings are not in this snapshot",
        )


def _give_readings(situation: Situation) -> Iterator[Remedy]:
    """What readings lack, or the field that names nothing here. It cannot be tried."""
    unjudged = [
        (result, result.assessment.why)
        for result in situation.plan.policies
        if result.silent and result.weight > 0
        if result.assessment is not None and result.assessment.why is not None
        if result.assessment.why.code not in ("ELG047", "SEL005")
    ]
    for results, why in policies_by_cause(situation.plan, unjudged):
        names = join_names([result.name for result in results])
        one, many = "Give policy {} its readings", "Give policies {} their readings"
        if not why.code.startswith("RDG"):
            one, many = "Correct policy {}", "Correct policies {}"
        yield Remedy(
            code=why.code,
            change=f"{verb_for(len(results), one, many).format(names)}: {why.message.rstrip('.')}",
            how=CATALOG[why.code].advice if why.code in CATALOG else "",
            policies=situation.policies,
            tries=False,
        )


def _complete_readings(situation: Situation) -> Iterator[Remedy]:
    """What exporters do not say, for which pods or nodes are left alone. It cannot be tried."""
    for note in situation.plan.notes:
        if note.code in INCOMPLETE_READINGS:
            yield Remedy(
                code=note.code,
                change=f"Complete the readings of policy {note.message.rstrip('.')}",
                how=CATALOG[note.code].advice,
                policies=situation.policies,
                tries=False,
            )


def _with_policy(policies: PolicySet, number: int, policy: Policy, **fields: Any) -> PolicySet:
    changed = list(policies.policies)
    changed[number] = policy.model_copy(update=fields)
    return replace(policies, policies=tuple(changed))
