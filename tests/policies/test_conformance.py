"""Every policy kind keeps the kit; and the kit catches those that do not."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.policies.match import Match
from rescheduler.policies.registry import KINDS
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.terms import Term
from tests.draws import tries
from tests.picture import move, picture, proposed
from tests.policies import kernel_kit, kit, kit_cases
from tests.policies.conformance import _on_cases, _run

CHECKS = [
    kit.check_deltas,
    kit.check_joint_bound,
    kit.check_partners,
    kernel_kit.check_kernel,
    kit.check_undo,
    kit.check_findings,
    kit.check_kept,
    kit.check_bounds,
    kit.check_names,
]


def test_the_kit_knows_every_kind() -> None:
    assert set(kit_cases.POLICIES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_conforms(kind: str) -> None:
    def conforms(case: kit_cases.Case) -> None:
        for check in CHECKS:
            term = kit.bound(case)
            if term is not None:
                check(case, term)

    _on_cases(kind, conforms, examples=tries(100))


class Mutant:
    """A term that is right, but for what a subclass changes."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def __getattr__(self, name: str) -> Any:
        return getattr(self.term, name)


class SwappedSign(Mutant):
    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        return -self.term.deltas(pod, nodes)


class OffByOneNode(Mutant):
    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        return np.roll(self.term.deltas(pod, nodes), 1)


class Drifting(Mutant):
    """Charges for having been moved about."""

    commits = 0

    def commit(self, shift: Shift) -> None:
        self.commits += 1
        self.term.commit(shift)

    def cost(self) -> float:
        return self.term.cost() + 0.01 * self.commits


class Silent(Mutant):
    """Leaves the last finding out."""

    def findings(self) -> Iterator[Finding]:
        yield from list(self.term.findings())[:-1]


class Unfinished(Mutant):
    """Lets an unknown value through."""

    def cost(self) -> float:
        return self.term.cost() or float("nan")


class Optimistic(Mutant):
    """Believes that it cannot get this bad."""

    def worst(self) -> float:
        return self.term.worst() / 8


class Aloof(Mutant):
    """Thinks of nobody but who moves."""

    def partners(self, pods: IntArray) -> IntArray:
        return pods


MUTANTS: dict[Callable[[Term], Any], Callable[[kit_cases.Case, Term], None]] = {
    SwappedSign: kit.check_deltas,
    OffByOneNode: kit.check_deltas,
    Drifting: kit.check_undo,
    Silent: kit.check_findings,
    Unfinished: kit.check_findings,
    Optimistic: kit.check_bounds,
}
"""Each with the check that must find it."""

MOVED_FOR = [kind for kind in KINDS if kind != "IdleGPUs"]
"""The kinds whose cost a move can change at all: a mutant of the others is hard to tell."""


class AllKilledError(Exception):
    """No mutant is left to be tried."""


@pytest.mark.parametrize("kind", MOVED_FOR)
def test_the_kit_kills(kind: str) -> None:
    alive = dict(MUTANTS)

    def kill(case: kit_cases.Case) -> None:
        for mutant, check in list(alive.items()):
            try:
                term = kit.bound(case, mutant)
                if term is not None:
                    check(case, term)
            except AssertionError:
                del alive[mutant]
        if not alive:
            raise AllKilledError

    with suppress(AllKilledError):
        _on_cases(kind, kill, examples=1000)
    assert not alive


def test_the_kit_knows_who_gains_by_a_move() -> None:
    with pytest.raises(AssertionError):
        _run("Locality", kit.check_partners, examples=1000, mutate=Aloof)


@settings(max_examples=tries(100))
@given(kind=st.sampled_from(sorted(KINDS)), data=st.data())
def test_weight_zero_adds_nothing_and_weights_only_scale(kind: str, data: st.DataObject) -> None:
    case = data.draw(kit_cases.cases(kind))
    costs = {}
    for weight in (0.0, 1.0, 2.5):
        term = kit.bound(
            kit_cases.Case(case.blueprint, case.policy.model_copy(update={"weight": weight}), [])
        )
        costs[weight] = 0.0 if term is None else weight * term.cost()
    assert costs[0.0] == 0.0
    assert kit.near(costs[2.5], 2.5 * costs[1.0])


def test_weight_zero_decides_nothing_in_a_plan() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | -
    """)
    near, far = (
        Spread(name=name, match=Match(all=True), topologyKey=key)
        for name, key in (
            ("near", "kubernetes.io/hostname"),
            ("far", "topology.kubernetes.io/zone"),
        )
    )
    idle = far.model_copy(update={"weight": 0.0})
    assert proposed(before, idle) == []
    assert proposed(before, near, idle) == proposed(before, near) == [move("web", "n1", "n2")]
