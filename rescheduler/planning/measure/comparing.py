"""The gain of groups of moves for one policy: its cost without them, less its cost with them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.measure.by_node import of_objects
from rescheduler.planning.measure.counterfactual import Obstacle
from rescheduler.planning.measure.groups import Group, Settled
from rescheduler.policies.base import Policy
from rescheduler.policies.terms import Freeing, KeepsCharges, Term

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class GroupGain:
    """What one group was to bring and has brought, unweighted."""

    promised: float
    measured: float


@dataclass(slots=True)
class Costs:
    """A term's cost, parted by what its findings are about, with the pods of each."""

    parts: dict[tuple[str, str, str], float] = field(default_factory=dict)
    pods: dict[tuple[str, str, str], set[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, term: Term) -> "Costs":
        """Ask the term; its findings sum to its cost."""
        found = cls()
        for each in term.findings():
            key = (each.code, each.subject, each.aspect)
            found.parts[key] = found.parts.get(key, 0.0) + each.cost
            found.pods.setdefault(key, set()).update(each.pods)
        return found


def gains(
    policy: Policy, groups: Sequence[Group], now: Snapshot, undone: Snapshot | None
) -> list[GroupGain | Obstacle]:
    """The gain of each group, or why that is not known.

    undone: the snapshot as it would be without the moves. None, for a policy that needs no
    readings of nodes or pods: then only places count, and its own term undoes them. So does a term
    that keeps charges, with the readings of `undone`: each pod counts as right before its move.
    """
    with_moves = policy.compile(now)
    in_place = undone is None or policy.keeps_charges
    if undone is None:
        without_moves = with_moves
    else:
        same_places = replace(now, readings=undone.readings)
        without_moves = policy.compile(same_places if in_place else undone)
    if isinstance(with_moves, Problem):
        return [Obstacle(with_moves.message, passes=True)] * len(groups)
    if isinstance(without_moves, Problem):
        return [Obstacle(without_moves.message, passes=True)] * len(groups)
    _free_alike(with_moves, without_moves, groups, undone or now)
    unknown = [_unknown(policy, with_moves, group) for group in groups]
    after = Costs.of(with_moves)
    if in_place:
        for each in reversed(_members(groups)):
            without_moves.commit(_shift(each).reversed())
            charges = _charges(each, policy)
            if charges is not None and isinstance(without_moves, KeepsCharges):
                without_moves.keep(each.replacement, *charges)
    before = Costs.of(without_moves)
    refilled = _refilled(policy, groups, now)
    promised = [_promised(without_moves, group, now, policy, refilled) for group in groups]
    measured = _parted(groups, promised, before, after, now, refilled)
    found = zip(unknown, map(GroupGain, promised, measured), strict=True)
    return [obstacle or gain for obstacle, gain in found]


def needs_readings(policy: Policy) -> bool:
    """Whether the policy needs readings of nodes or pods, which moves change."""
    return bool(of_objects(policy.requests()))


def _unknown(policy: Policy, with_moves: Term, group: Group) -> Obstacle | None:
    """Why it is not known what the moves of this group have brought, or None."""
    if not isinstance(with_moves, KeepsCharges):
        return None
    for each in group.measured:
        if each.move.gains.get(policy.name, 0.0) <= 0:
            continue
        if _charges(each, policy) is None:
            return Obstacle("what its pods were charged before was not kept", passes=False)
        doubt = with_moves.doubt(each.replacement)
        if doubt:
            return Obstacle(doubt, passes=False)
    return None


def _charges(each: Settled, policy: Policy) -> tuple[float, float] | None:
    kept = {} if each.baseline is None else each.baseline.charges.get(policy.name, {})
    return kept.get(each.move.podUid)


def _members(groups: Iterable[Group]) -> list[Settled]:
    return [each for group in groups for each in group.measured]


def _shift(each: Settled) -> Shift:
    return Shift(each.replacement, each.source, each.landed)


def _free_alike(
    with_moves: Term, without_moves: Term, groups: Sequence[Group], undone: Snapshot
) -> None:
    """Let both charge the same nodes for not being free: those that the moves were to free."""
    here: object = with_moves
    there: object = without_moves
    if not isinstance(here, Freeing) or not isinstance(there, Freeing):
        return
    members = _members(groups)
    held = np.bincount(
        undone.pod_node[(undone.pod_node >= 0) & ~undone.on_own_node], minlength=len(undone.nodes)
    )
    meant = np.zeros(len(undone.nodes), dtype=np.bool_)
    meant[[each.source for each in members]] = True
    meant[[each.landed for each in members if held[each.landed] == 0]] = True
    chosen = there.freed() & meant
    here.free(chosen)
    there.free(chosen)


def _refilled(policy: Policy, groups: Sequence[Group], now: Snapshot) -> frozenset[str]:
    """The nodes that were to be freed and to which a pod came after the moves off them."""
    found: set[str] = set()
    for each in _members(groups):
        if each.baseline is None or not each.frees(policy.name) or each.move.source in found:
            continue
        here = (now.pod_node == each.source) & ~now.on_own_node & ~now.leaving
        if (now.pod_came[here] > each.baseline.at.timestamp()).any():
            found.add(each.move.source)
    return frozenset(found)


def _promised(
    term: Term, group: Group, snapshot: Snapshot, policy: Policy, refilled: frozenset[str]
) -> float:
    """What the term predicts for the moves, as expected over where each was to land.

    The next of them is evaluated where those before it have really landed. That a freed node is
    cold no more, because it was filled again, makes no promise void.
    """
    total = 0.0
    for each in group.measured:
        index = snapshot.node_index
        landing = {index[n]: p for n, p in each.move.landing.items() if n in index and p > 0}
        landing = landing or {each.landed: 1.0}
        deltas = term.deltas(each.replacement, np.array(list(landing), dtype=np.int32))
        chances = np.array(list(landing.values()))
        gain = -float(np.average(deltas, weights=chances))
        if each.move.source in refilled:
            gain = max(gain, each.move.gains.get(policy.name, 0.0))
        total += gain
        term.commit(_shift(each))
    return total


def _parted(
    groups: Sequence[Group],
    promised: Sequence[float],
    before: Costs,
    after: Costs,
    snapshot: Snapshot,
    refilled: frozenset[str],
) -> list[float]:
    """The change of the cost, parted among the groups; the parts sum to all of it.

    Nothing is gained about a node that was freed and filled again: one pod less there is no use.
    What is about a node or the pods of a group is its own. What is about several, or none, is
    shared among them like what they promised.
    """
    nodes = {
        f"node {snapshot.nodes[node].metadata.name}": number
        for number, group in enumerate(groups)
        for node in group.nodes
    }
    pods = {
        each.replacement: number for number, group in enumerate(groups) for each in group.measured
    }
    answer = [0.0] * len(groups)
    for key in before.parts.keys() | after.parts.keys():
        change = before.parts.get(key, 0.0) - after.parts.get(key, 0.0)
        if key[1].removeprefix("node ") in refilled:
            change = min(change, 0.0)
        if key[1] in nodes:
            answer[nodes[key[1]]] += change
            continue
        about = before.pods.get(key, set()) | after.pods.get(key, set())
        theirs = {pods[pod] for pod in about & pods.keys()} or set(range(len(groups)))
        weights = {number: max(promised[number], 0.0) for number in theirs}
        whole = sum(weights.values())
        for number in theirs:
            share = weights[number] / whole if whole > _NOTHING else 1.0 / len(theirs)
            answer[number] += change * share
    return answer
