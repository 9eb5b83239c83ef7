"""The conformance kit: what every policy kind must keep, on any cluster with any readings."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.terms import Bounding, JointlyBounding, KeepsCharges, Mutual, Term
from tests.policies.kit_cases import Case


def bound(case: Case, mutate: Callable[[Term], Any] = lambda term: term) -> Term | None:
    """The term of the case, or None where the policy is rightly not evaluated."""
    made = case.policy.compile(case.blueprint.built())
    if isinstance(made, Problem):
        assert made.code in CATALOG
        assert made.message
        return None
    term: Term = mutate(made)
    return term


def check_deltas(case: Case, term: Term) -> None:
    """Every delta is the difference of costs after the move; the reversed move undoes it."""
    nodes = np.arange(len(case.blueprint.nodes), dtype=np.int32)
    at = [on for _, on, _ in case.blueprint.pods]
    for mover, destination in case.moves:
        predicted = _numbers(term.deltas(mover, nodes))
        assert predicted.shape == nodes.shape
        before = _cost(term)
        others = predicted[nodes != at[mover]]
        if isinstance(term, Bounding) and len(others):
            most = float(term.bounds(np.array([mover], dtype=np.int32))[0])
            assert -others.min() <= most + 1e-9 * max(1.0, before)
        for node in nodes:
            shift = Shift(mover, at[mover], int(node))
            term.commit(shift)
            assert near(_cost(term) - before, predicted[node]), (shift, predicted)
            term.commit(shift.shift_back())
            assert near(_cost(term), before)
        term.commit(Shift(mover, at[mover], destination))
        at[mover] = destination


def check_joint_bound(case: Case, term: Term) -> None:
    """Where a term proves what moves gain together, none gain more, whichever they are."""
    bound = term.joint_bound() if isinstance(term, JointlyBounding) else None
    if bound is None:
        return
    before = _cost(term)
    at = [on for _, on, _ in case.blueprint.pods]
    moved: set[int] = set()
    for mover, destination in case.moves:
        term.commit(Shift(mover, at[mover], destination))
        at[mover] = destination
        moved.add(mover)
        pods = sorted(moved)
        sums = np.bincount(bound.place[pods] + 1, bound.values[pods], len(bound.caps) + 1)
        most = float(sums[0] + np.minimum(sums[1:], bound.caps).sum())
        assert before - _cost(term) <= most + 1e-9 * max(1.0, before)


def check_partners(case: Case, term: Term) -> None:
    """Where a term names partners, a move makes no other pod's best move worth more than before."""
    if not isinstance(term, Mutual):
        return
    at = [on for _, on, _ in case.blueprint.pods]
    for mover, destination in case.moves:
        partners = term.partners(np.array([mover], dtype=np.int32))
        before = _best_gains(case, term)
        term.commit(Shift(mover, at[mover], destination))
        at[mover] = destination
        more = _best_gains(case, term) > before + 1e-9 * max(1.0, term.worst())
        assert mover in partners
        assert not set(np.flatnonzero(more).tolist()) - set(partners.tolist())


def _best_gains(case: Case, term: Term) -> FloatArray:
    nodes = np.arange(len(case.blueprint.nodes), dtype=np.int32)
    pods = range(len(case.blueprint.pods))
    return np.array([-term.deltas(pod, nodes).min() for pod in pods])


def check_undo(case: Case, term: Term) -> None:
    """Undoing all moves in reverse restores cost, candidates and deltas."""
    start = _state(case, term)
    at = [on for _, on, _ in case.blueprint.pods]
    done = []
    for mover, destination in case.moves:
        done.append(Shift(mover, at[mover], destination))
        term.commit(done[-1])
        at[mover] = destination
    for shift in reversed(done):
        term.commit(shift.shift_back())
    for old, new in zip(start, _state(case, term), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-9)


def check_findings(case: Case, term: Term) -> None:
    """Findings are justified pieces that sum to the cost, before and after the moves.

    They are those of a term that was not asked for any before the last move.
    """
    unasked = bound(case)
    assert unasked is not None
    at = [on for _, on, _ in case.blueprint.pods]
    _check_findings_now(term)
    for mover, destination in case.moves:
        shift = Shift(mover, at[mover], destination)
        unasked.commit(shift)
        term.commit(shift)
        at[mover] = destination
        _check_findings_now(term)
    assert list(term.findings()) == list(unasked.findings())


def _check_findings_now(term: Term) -> None:
    cost, findings = _cost(term), list(term.findings())
    assert near(sum(finding.cost for finding in findings), cost)
    assert all(
        finding.cost > 0 and finding.code in CATALOG and finding.message for finding in findings
    )
    # What is remembered of one finding (`stableFor`) must not make another one old.
    known = {(finding.code, finding.aspect, finding.subject, finding.pods) for finding in findings}
    assert len({finding[:3] for finding in known}) == len(known), sorted(known)
    pods = term.candidates()
    assert (np.diff(pods) > 0).all()
    assert len(pods) == 0 or cost > 0


def check_kept(case: Case, term: Term) -> None:
    """A charge that is kept counts in full while the pod is there, and no longer."""
    assert isinstance(term, KeepsCharges) == case.policy.keeps_charges
    if not isinstance(term, KeepsCharges) or not case.moves:
        return
    nodes = np.arange(len(case.blueprint.nodes), dtype=np.int32)
    pod, destination = case.moves[0]
    home = case.blueprint.pods[pod][1]
    if destination == home:
        return
    alone = _cost(term)
    assert near(float(_numbers(term.charge_on(pod, nodes))[home]), term.charge(pod))
    shift = Shift(pod, home, destination)
    term.commit(shift)
    term.keep(pod, 0.0, 0.0)
    free = _cost(term)
    unchanged = _numbers(term.deltas(pod, nodes))
    term.keep(pod, 0.625, 0.25)
    assert near(_cost(term), free + 0.625)
    there = nodes != destination
    assert near_all(_numbers(term.deltas(pod, nodes))[there], (unchanged - 0.375)[there])
    assert near(sum(finding.cost for finding in term.findings()), free + 0.625)
    term.commit(shift.shift_back())
    assert near(_cost(term), alone)


def check_bounds(case: Case, term: Term) -> None:
    """The cost of the snapshot is at most the worst."""
    worst = float(_numbers(np.array([term.worst()]))[0])
    assert _cost(term) <= worst + 1e-9 * max(1.0, worst)
    assert 0 <= term.scope() <= max(len(case.blueprint.nodes), len(case.blueprint.pods))


def check_names(case: Case, term: Term) -> None:
    """Other names of nodes, pods, workloads and zones change no number."""
    other = case.policy.compile(case.blueprint.built(lambda name: f"z{99 - hash_of(name)}{name}"))
    assert not isinstance(other, Problem)
    for old, new in zip(_state(case, term), _state(case, other), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    assert near_all(
        [finding.cost for finding in term.findings()],
        [finding.cost for finding in other.findings()],
    )


def hash_of(name: str) -> int:
    """A small number that reverses the order of short names."""
    return sum(map(ord, name)) % 90


def near(left: float, right: float) -> bool:
    """Equal but for rounding."""
    return bool(np.isclose(left, right, rtol=1e-9, atol=1e-9))


def near_all(left: list[float], right: list[float]) -> bool:
    """Equal as multisets but for rounding."""
    return len(left) == len(right) and bool(np.allclose(sorted(left), sorted(right)))


def _state(case: Case, term: Term) -> list[FloatArray]:
    nodes = np.arange(len(case.blueprint.nodes), dtype=np.int32)
    deltas = [term.deltas(pod, nodes) for pod in range(len(case.blueprint.pods))]
    return [np.array([_cost(term), term.worst()]), term.candidates().astype(float), *deltas]


def _cost(term: Term) -> float:
    cost = float(_numbers(np.array([term.cost()]))[0])
    assert cost >= 0
    return cost


def _numbers(values: FloatArray) -> FloatArray:
    assert np.isfinite(values).all()
    return values
