"""Gains of groups of moves for one policy: its cost without them, less its cost with them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.measure.counterfactual import Obstacle
from rescheduler.planning.measure.move_groups import MoveGroup, Settled
from rescheduler.planning.measure.node_values import of_objects
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
    def from_term(cls, term: Term) -> "Costs":
        """Ask the term; its findings sum to its cost."""
        costs = cls()
        for finding in term.findings():
            key = (finding.code, finding.subject, finding.aspect)
            costs.parts[key] = costs.parts.get(key, 0.0) + finding.cost
            costs.pods.setdefault(key, set()).update(finding.pods)
        return costs


def gains(
    policy: Policy, groups: Sequence[MoveGroup], now: Snapshot, undone: Snapshot | None
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
    unknown = [_gain_obstacle(policy, with_moves, group) for group in groups]
    after = Costs.from_term(with_moves)
    if in_place:
        for member in reversed(_members(groups)):
            without_moves.commit(_shift(member).shift_back())
            charges = _charges(member, policy)
            if charges is not None and isinstance(without_moves, KeepsCharges):
                without_moves.keep(member.replacement, *charges)
    before = Costs.from_term(without_moves)
    refilled = _refilled_nodes(policy, groups, now)
    promised = [_promised_gain(without_moves, group, now, policy, refilled) for group in groups]
    measured = _split_change(groups, promised, before, after, now, refilled)
    results = zip(unknown, map(GroupGain, promised, measured), strict=True)
    return [obstacle or gain for obstacle, gain in results]


def needs_readings(policy: Policy) -> bool:
    """Whether the policy needs readings of nodes or pods, which moves change."""
    return bool(of_objects(policy.requests()))


def _gain_obstacle(policy: Policy, with_moves: Term, group: MoveGroup) -> Obstacle | None:
    """Why it is not known what the moves of this group have brought, or None."""
    if not isinstance(with_moves, KeepsCharges):
        return None
    for settled_move in group.measured:
        if settled_move.move.gains.get(policy.name, 0.0) <= 0:
            continue
        if _charges(settled_move, policy) is None:
            return Obstacle("what its pods were charged before was not kept", passes=False)
        doubt = with_moves.doubt(settled_move.replacement)
        if doubt:
            return Obstacle(doubt, passes=False)
    return None


def _charges(settled_move: Settled, policy: Policy) -> tuple[float, float] | None:
    kept = (
        {} if settled_move.baseline is None else settled_move.baseline.charges.get(policy.name, {})
    )
    return kept.get(settled_move.move.podUid)


def _members(groups: Iterable[MoveGroup]) -> list[Settled]:
    return [settled_move for group in groups for settled_move in group.measured]


def _shift(settled_move: Settled) -> Shift:
    return Shift(settled_move.replacement, settled_move.source, settled_move.landed)


def _free_alike(
    with_moves: Term, without_moves: Term, groups: Sequence[MoveGroup], undone: Snapshot
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
    meant[[member.source for member in members]] = True
    meant[[member.landed for member in members if held[member.landed] == 0]] = True
    chosen = there.freeable_nodes() & meant
    here.free(chosen)
    there.free(chosen)


def _refilled_nodes(policy: Policy, groups: Sequence[MoveGroup], now: Snapshot) -> frozenset[str]:
    """The nodes that were to be freed and to which a pod came after the moves off them."""
    names: set[str] = set()
    for member in _members(groups):
        if member.baseline is None or not member.frees(policy.name) or member.move.source in names:
            continue
        here = (now.pod_node == member.source) & ~now.on_own_node & ~now.leaving
        if (now.pod_came[here] > member.baseline.at.timestamp()).any():
            names.add(member.move.source)
    return frozenset(names)


def _promised_gain(
    term: Term, group: MoveGroup, snapshot: Snapshot, policy: Policy, refilled: frozenset[str]
) -> float:
    """What the term predicts for the moves, as expected over where each was to land.

    The next of them is evaluated where those before it have really landed. That a freed node is
    cold no more, because it was filled again, makes no promise void.
    """
    total = 0.0
    for settled_move in group.measured:
        index = snapshot.node_index
        landing = {
            index[n]: p for n, p in settled_move.move.landing.items() if n in index and p > 0
        }
        landing = landing or {settled_move.landed: 1.0}
        deltas = term.deltas(settled_move.replacement, np.array(list(landing), dtype=np.int32))
        chances = np.array(list(landing.values()))
        gain = -float(np.average(deltas, weights=chances))
        if settled_move.move.source in refilled:
            gain = max(gain, settled_move.move.gains.get(policy.name, 0.0))
        total += gain
        term.commit(_shift(settled_move))
    return total


def _split_change(
    groups: Sequence[MoveGroup],
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
        settled_move.replacement: number
        for number, group in enumerate(groups)
        for settled_move in group.measured
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
