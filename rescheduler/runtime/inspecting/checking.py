"""`check`: rules that can never act, selectors that match nothing, readings without data."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.documents.validation import near
from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.model.cluster.readings import BoolArray, Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.never_moved import never_moved
from rescheduler.planning.limits.allowances import Allowances
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.shared.coverage import check_coverage
from rescheduler.policies.shared.inert_rules import inert
from rescheduler.policies.shared.matching import selection_of
from rescheduler.runtime.reading_sources import BUILT_IN

_MANY = 10**12
"""More pods than there can be: what allows nothing of them allows nothing at all."""


def dead(policies: PolicySet) -> Iterator[str]:
    """What can be seen from the policies alone: rules that decide nothing or fight each other."""
    limits = policies.limits
    for row in limits.move_limits:
        if pods_of_amount(limits.amount(row), _MANY) == 0:
            setting = f"{row.field} is {limits.amount(row)}"
            yield f"Limits {limits.name}: {setting}, so nothing will ever move"
    for policy in policies.policies:
        for message in (*policy.without_effect(), *policy.conflicts(limits)):
            yield f"{_policy_label(policy)}: {message}"
    for one, other in combinations(policies.policies, 2):
        yield from (
            f"{_policy_label(one)} and {_policy_label(other)}: {conflict}"
            for conflict in one.conflicts(other)
        )


def undefined_readings(policies: PolicySet) -> Iterator[tuple[Policy, str]]:
    """The policies that no cluster could evaluate, because of what their readings lack."""
    own = policies.definitions
    defined_names = {*BUILT_IN, *own}
    for policy in policies.policies:
        request_names = [request.name for request in policy.requests() if request.subject != "pair"]
        for name in dict.fromkeys(request_names):
            node = "node." + name.partition(".")[2]
            if name not in defined_names:
                hint = near(name, defined_names)
                text = f"there is no reading {name}; define it in a document of kind Readings"
                yield policy, text + (f", or {hint} is meant" if hint else "")
            elif name != node and not all(reading.capacity for reading in own.get(node, ())):
                yield policy, f"{node} is defined without `capacity`, so it can be no target"


def unevaluated_policies(
    policies: PolicySet, snapshot: Snapshot
) -> Iterator[tuple[Policy, Problem]]:
    """The policies that are not evaluated on this cluster, and why."""
    for policy in policies.policies:
        term = policy.compile(snapshot)
        if isinstance(term, Problem):
            yield policy, term


def idle(policies: PolicySet, snapshot: Snapshot) -> Iterator[str]:
    """What can never act on this cluster: rules, with the reason, and policies that judge nothing.

    What holds for every cluster is what `dead` tells.
    """
    yield from _rounded_to_none(policies.limits, snapshot)
    eligibility = Eligibility(snapshot, policies.limits, History())
    for policy in policies.policies:
        everywhere = set(policy.unreachable())
        dead_rules = (*inert(policy, snapshot), *never_moved(policy, snapshot, eligibility))
        reasons = [reason for reason in dead_rules if reason not in everywhere]
        yield from (f"{_policy_label(policy)}: {reason}" for reason in reasons)
        term = policy.compile(snapshot)
        if not isinstance(term, Problem) and term.scope() == 0 and not reasons:
            chosen = selection_of(policy, snapshot)
            nodes = "" if chosen.nodes is None else f" and {count_text(chosen.nodes, 'node')}"
            text = f"it selects {count_text(chosen.pods, 'pod')}{nodes}, and evaluates none of them"
            yield f"{_policy_label(policy)}: {text}"


def _rounded_to_none(limits: Limits, snapshot: Snapshot) -> Iterator[str]:
    """The percentages that are of so few pods, in each group of this cluster, that none may move.

    What allows nothing of any number of pods is what `dead` tells.
    """
    allowances = Allowances(snapshot, limits)
    for row in limits.move_limits:
        amount = limits.amount(row)
        if not isinstance(amount, str) or not pods_of_amount(amount, _MANY):
            continue
        of_pods = allowances.groups(row.per).of_pods
        most = max((allowances.pods(row.per, group) for group in {*of_pods.tolist()}), default=0)
        if most and not pods_of_amount(amount, most):
            yield (
                f"Limits {limits.name}: {row.field} is {amount}, of {count_text(most, 'pod')} at "
                "most that run here, which is rounded down to none: nothing will move"
            )


def answers(policies: PolicySet, snapshot: Snapshot) -> Iterator[ReadingAnswer]:
    """Each reading that is needed, and how its source answers: how many, how old, or why not."""
    askers: dict[ReadingRequest, list[str]] = {}
    for policy in policies.policies:
        for request in policy.requests():
            askers.setdefault(request, []).append(policy.name)
    own = policies.definitions
    for request in sorted(askers):
        reading = snapshot.readings.find(request)
        fields: dict[str, Any] = {
            "name": request.name,
            "subject": request.subject,
            "policies": askers[request],
            "own": request.name in own,
            "windowSeconds": request.window,
        }
        if reading is None:
            yield ReadingAnswer(**fields, problem=snapshot.readings.missing_problem(request))
        else:
            asking = [policy for policy in policies.policies if request in policy.requests()]
            expected, problem = reading.expected, reading.problem
            if request.subject != "pair":
                expected, problem = check_coverage(reading, asking, snapshot)
            yield _answer(reading, expected, problem, fields)


def _answer(
    reading: Reading, expected: BoolArray, problem: Problem | None, fields: dict[str, Any]
) -> ReadingAnswer:
    """expected: those that the policies look at."""
    present = expected & ~np.isnan(reading.values)
    values = reading.values[present]
    cost = reading.cost
    fit = reading.problem is None or reading.low_coverage
    return ReadingAnswer(
        **fields,
        unit=reading.unit,
        query=reading.query,
        series=None if cost is None else cost.series,
        expected=int(expected.sum()),
        withValue=int(present.sum()),
        coverage=reading.coverage_of(expected),
        ageSeconds=reading.age,
        least=float(values.min()) if len(values) else None,
        most=float(values.max()) if len(values) else None,
        queries=None if cost is None else cost.queries,
        seconds=None if cost is None else cost.seconds,
        samples=None if cost is None else cost.samples,
        past=_past(reading) if reading.request.span and fit else "",
        convention=reading.convention,
        notes=list(reading.notes),
        problem=problem,
    )


def _past(reading: Reading) -> str:
    """For how many the past is known, for policies with `stableFor`."""
    span = f"the last {reading.request.span:g} s"
    if reading.range_samples is None:
        return f"{span} are not known: {'; '.join(reading.notes[-1:])}"
    count = int((~np.isnan(reading.range_samples).any(axis=0) & reading.expected).sum())
    return f"for {count} all through {span} ({len(reading.range_samples)} evaluations)"


def _policy_label(policy: Policy) -> str:
    return f"{policy.kind} {policy.name}"
