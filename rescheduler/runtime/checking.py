"""Policies held against themselves, and against a cluster: what is dead, and what has no data."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rescheduler.documents.amounts import allowed
from rescheduler.documents.envelope import to_document
from rescheduler.model.problem import Problem
from rescheduler.model.readings import Reading
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.wording import counted
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity, Lifetime, Restarts
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.health.policy import Health
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.utilization.policy import Utilization

_CRASHING = {"CrashLoopBackOff", "RunContainerError"}
"""What containers wait for that have run before; their pods are not Ready."""

_PACE = ("movesPerCycle", "movesPerHour", "movesPerNode", "movesPerNamespace", "movesPerWorkload")
_MANY = 10**12
"""More pods than there can be: what allows nothing of them allows nothing at all."""


def dead(policies: PolicySet) -> Iterator[str]:
    """What can be seen from the policies alone: rules that decide nothing or fight each other."""
    limits = policies.limits
    for name in _PACE:
        if allowed(getattr(limits, name), _MANY) == 0:
            told = f"{name} is {getattr(limits, name)}"
            yield f"Limits {limits.name}: {told}, so nothing will ever move"
    for policy in policies.policies:
        if policy.weight == 0:
            yield f"{_named(policy)}: weight is 0, so it decides nothing"
        yield from (f"{_named(policy)}: {each}" for each in _idle_fields(policy))
        if limits.crashLooping == "Refuse" and isinstance(policy, Conformity):
            yield from (f"{_named(policy)}: {each}" for each in _stuck(policy))
    for one, other in combinations(policies.policies, 2):
        if _wish(one) == _wish(other):
            yield f"{_named(one)} and {_named(other)} want the same, so it counts twice"
        if (
            isinstance(one, Utilization)
            and isinstance(other, Utilization)
            and {one.strategy, other.strategy} == {"Pack", "Balance"}
            and one.nodes == other.nodes
        ):
            yield f"{_named(one)} and {_named(other)}: one packs the nodes that the other balances"


def _idle_fields(policy: Policy) -> Iterator[str]:
    """Fields that are given beside others with which they decide nothing."""
    if isinstance(policy, Locality) and policy.distances and not policy.uses_distances:
        yield "no pairs, traffic or datasets, so distances decide nothing"
    if isinstance(policy, Health):
        yield from _idle_draining(policy)
    if isinstance(policy, Utilization):
        for field, strategy in (("tolerance", "Balance"), ("cold", "Pack")):
            if field in policy.model_fields_set and policy.strategy != strategy:
                yield f"strategy is {policy.strategy}, so {field} decides nothing"
    if isinstance(policy, Numa) and policy.crowded is None:
        for field in sorted(policy.model_fields_set & {"window", "maxAge", "minCoverage"}):
            yield f"crowded is not given, so {field} decides nothing"


def _stuck(policy: Conformity) -> Iterator[str]:
    """Rules of which every pod crash-loops, where such pods stay."""
    for name in ("restarts", "lifetime"):
        rule: Restarts | Lifetime | None = getattr(policy, name)
        if rule is not None and rule.states and set(rule.states) <= _CRASHING:
            states = ", ".join(rule.states)
            yield (
                f"{name}.states is {states}, and the Limits refuse pods that crash-loop, so they "
                "are shown and stay; `crashLooping: Allow` lets them move"
            )


def _idle_draining(policy: Health) -> Iterator[str]:
    """What it says of draining, and never does."""
    if policy.action == "Report":
        if policy.unattributed == "Drain":
            yield "action is Report, so `unattributed: Drain` decides nothing"
        if policy.stableFor is not None:
            yield "action is Report, so stableFor decides nothing"
    elif policy.unattributed == "Drain" and not policy.signs.of_gpus:
        yield "no sign is of GPUs, so unattributed decides nothing"


def unheard(policies: PolicySet, snapshot: Snapshot) -> Iterator[tuple[Policy, Problem]]:
    """The policies that have no say on this cluster, and why."""
    for policy in policies.policies:
        term = policy.compile(snapshot)
        if isinstance(term, Problem):
            yield policy, term


def idle(policies: PolicySet, snapshot: Snapshot) -> Iterator[str]:
    """The policies that look at nothing on this cluster."""
    for policy in policies.policies:
        term = policy.compile(snapshot)
        if not isinstance(term, Problem) and term.scope() == 0:
            yield f"{_named(policy)}: its selectors match nothing in this cluster"


def answers(policies: PolicySet, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Each reading that is asked for, and how it answers: for how many, how old, or why not."""
    wanted = sorted({each for policy in policies.policies for each in policy.requests()})
    for request in wanted:
        title = f"{request.name} over {request.window:g} s"
        reading = snapshot.readings.find(request)
        if reading is None:
            yield title, "not recorded"
        else:
            yield title, _answer(reading)


def _answer(reading: Reading) -> str:
    expected = int(reading.expected.sum())
    found = round(reading.coverage * expected)
    age = "" if reading.age is None else f", at most {reading.age:.0f} s old"
    told = f"{found} of {counted(expected, reading.request.subject)}{age}"
    if reading.problem is not None:
        told += f"; {reading.problem.code} {reading.problem.message}"
    if reading.request.span and reading.problem is None:
        told += _past(reading)
    return told


def _past(reading: Reading) -> str:
    """For how many the past is known that policies with `stableFor` look at."""
    span = f"the last {reading.request.span:g} s"
    if reading.range_samples is None:
        return f"; {span} are not known: {'; '.join(reading.notes[-1:])}"
    known = int((~np.isnan(reading.range_samples).any(axis=0) & reading.expected).sum())
    return f"; for {known} all through {span} ({len(reading.range_samples)} evaluations)"


def _named(policy: Policy) -> str:
    return f"{policy.kind} {policy.name}"


def _wish(policy: Policy) -> object:
    document = to_document(policy)
    return document["kind"], {k: v for k, v in document["spec"].items() if k != "weight"}
