"""Mistakes in the parts of a term, a sign or an off-by-one, which the conformance kit must find."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rescheduler.documents.label_selector import Selector
from rescheduler.policies.base import Match, Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.conformity.required_pod_affinity import RequiredPodAffinity
from rescheduler.policies.conformity.rules import NodeTaints, Restarts
from rescheduler.policies.conformity.term import ConformityTerm
from rescheduler.policies.health.policy import Health, Signs
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.numa.device_use import DeviceUse
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.spread.domain_counts import DomainCounts
from rescheduler.policies.spread.follow import Following
from rescheduler.policies.spread.policy import Spread, SpreadConstraint
from rescheduler.policies.spread.term import SpreadTerm
from tests.policies import kit, kit_cases

Method = Callable[..., Any]


def negated(method: Method) -> Method:
    return lambda *arguments: -method(*arguments)


def one_more(method: Method) -> Method:
    return lambda *arguments: method(*arguments) + 1


def nothing(method: Method) -> Method:
    return lambda *arguments: method(*arguments) * 0


def forgotten(method: Method) -> Method:
    return lambda *arguments: None


def shifted(method: Method) -> Method:
    return lambda *arguments: np.roll(method(*arguments), 1)


def half_done(method: Method) -> Method:
    """The pod arrives, and is not taken from where it was."""
    return lambda self, source, destination: method(self, -1, destination)


ALL: Any = {"all": True}
EVEN = Spread(name="s", match=ALL)
TIERS = Spread(
    name="s",
    match=ALL,
    constraints=[
        SpreadConstraint(topologyKey="topology.kubernetes.io/zone"),
        SpreadConstraint(
            topologyKey="kubernetes.io/hostname", within="topology.kubernetes.io/zone"
        ),
    ],
)
FOLLOW = Spread(
    name="s",
    match=Match(labels=Selector(matchLabels={"part": "0"})),
    constraints=[SpreadConstraint(topologyKey="topology.kubernetes.io/zone", follow=ALL)],
)
NUMA = Numa(name="n", nodes=ALL, match=ALL)
DRAIN = Health(
    name="h", nodes=ALL, match=ALL, signs=Signs(xid=True), action="Drain", minCoverage=0.0
)
BESIDE = Conformity(name="c", match=ALL, podAntiAffinity=True, podAffinity=True)
ALONE = Conformity(name="c", match=ALL, nodeTaints=NodeTaints(), restarts=Restarts(atLeast=10))

MUTANTS: list[tuple[Policy, type, str, Callable[[Method], Method]]] = [
    (EVEN, DomainCounts, "departed", nothing),
    (EVEN, DomainCounts, "changes", negated),
    (EVEN, DomainCounts, "move", half_done),
    (EVEN, SpreadTerm, "bounds", nothing),
    (TIERS, DomainCounts, "_leaving", one_more),
    (FOLLOW, Following, "led", negated),
    (NUMA, DeviceUse, "after", shifted),
    (NUMA, DeviceUse, "without", one_more),
    (NUMA, DeviceUse, "commit", forgotten),
    (DRAIN, HealthTerm, "_suffers", negated),
    (DRAIN, HealthTerm, "bounds", nothing),
    (DRAIN, HealthTerm, "commit", forgotten),
    (BESIDE, RequiredPodAffinity, "change", negated),
    (BESIDE, RequiredPodAffinity, "own", shifted),
    (BESIDE, RequiredPodAffinity, "_by_domain", shifted),
    (BESIDE, RequiredPodAffinity, "commit", forgotten),
    (ALONE, ConformityTerm, "_alone", shifted),
]


@pytest.mark.parametrize(("policy", "part", "method", "mistake"), MUTANTS)
def test_the_kit_finds_it(
    policy: Policy,
    part: type,
    method: str,
    mistake: Callable[[Method], Method],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part, method, mistake(getattr(part, method)))
    monkeypatch.setitem(kit_cases.POLICIES, policy.kind, st.just(policy))

    @settings(
        max_examples=500,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(case=kit_cases.cases(policy.kind))
    def tried(case: kit_cases.Case) -> None:
        term = kit.bound(case)
        if term is not None:
            kit.check_deltas(case, term)

    with pytest.raises(AssertionError):
        tried()
