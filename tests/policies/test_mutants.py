"""Mistakes in the parts of a term, a sign or an off-by-one, which the conformance kit must find."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rescheduler.documents.label_selector import Selector
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.conformity.required_pod_affinity import RequiredPodAffinity
from rescheduler.policies.conformity.rules import NodeTaintsRule, Restarts
from rescheduler.policies.conformity.term import ConformityTerm
from rescheduler.policies.health.policy import Health, Signs
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.match import Match
from rescheduler.policies.numa.device_use import DeviceUse
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.spread.domain_counts import DomainCounts
from rescheduler.policies.spread.follower_counts import Following
from rescheduler.policies.spread.policy import Spread, SpreadConstraint
from rescheduler.policies.spread.term import SpreadTerm
from tests.policies import kit, kit_cases
from tests.policies.conformance import AllFoundError

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
ALONE = Conformity(name="c", match=ALL, nodeTaints=NodeTaintsRule(), restarts=Restarts(atLeast=10))

Mistake = tuple[type, str, Callable[[Method], Method]]
"""In which class, in which method of it, and what is done to that."""

MISTAKES: dict[str, tuple[Policy, list[Mistake]]] = {
    "even": (
        EVEN,
        [
            (DomainCounts, "departed_pods", nothing),
            (DomainCounts, "changes", negated),
            (DomainCounts, "move", half_done),
            (SpreadTerm, "bounds", nothing),
        ],
    ),
    "tiers": (TIERS, [(DomainCounts, "_departure_change", one_more)]),
    "follow": (FOLLOW, [(Following, "led", negated)]),
    "numa": (
        NUMA,
        [
            (DeviceUse, "arrival_charges", shifted),
            (DeviceUse, "departure_change", one_more),
            (DeviceUse, "commit", forgotten),
        ],
    ),
    "drain": (
        DRAIN,
        [
            (HealthTerm, "_suffers", negated),
            (HealthTerm, "bounds", nothing),
            (HealthTerm, "commit", forgotten),
        ],
    ),
    "beside": (
        BESIDE,
        [
            (RequiredPodAffinity, "change", negated),
            (RequiredPodAffinity, "would_break", shifted),
            (RequiredPodAffinity, "_by_domain", shifted),
            (RequiredPodAffinity, "commit", forgotten),
        ],
    ),
    "alone": (ALONE, [(ConformityTerm, "_alone", shifted)]),
}


def found(mistake: Mistake, case: kit_cases.Case) -> bool:
    """Whether the kit finds it by this case."""
    part, method, mistaken = mistake
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, method, mistaken(getattr(part, method)))
        try:
            term = kit.bound(case)
            if term is not None:
                kit.check_deltas(case, term)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("name", MISTAKES)
def test_the_kit_finds_each(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, left = MISTAKES[name][0], list(MISTAKES[name][1])
    monkeypatch.setitem(kit_cases.POLICIES, policy.kind, st.just(policy))

    @settings(
        max_examples=2000,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(case=kit_cases.cases(policy.kind))
    def tried(case: kit_cases.Case) -> None:
        left[:] = [mistake for mistake in left if not found(mistake, case)]
        if not left:
            raise AllFoundError

    with suppress(AllFoundError):
        tried()
    assert left == []
