"""Measuring: what settled moves have brought, entered in the history beside what they promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.corrections import correct_readings
from rescheduler.planning.limits.demotion import decide_mode, demotion
from rescheduler.planning.measure.counterfactual import Counterfactual, Obstacle, undo_moves
from rescheduler.planning.measure.group_gains import GroupGain, gains, needs_readings
from rescheduler.planning.measure.move_groups import MoveGroup, groups
from rescheduler.planning.measure.selected_nodes import SelectedNodes
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet

NEGLIGIBLE = 0.1
"""Moves that promise less than this share of what was predicted are of no use any more: the load
has fallen by itself. What they brought says nothing about their policy."""


@dataclass(slots=True)
class MeasureResult:
    """What was entered in the history. demoted: MSR001 of the policies demoted just now, by name.

    changed: whether the history must be stored.
    """

    changed: bool = False
    demoted: dict[str, Problem] = field(default_factory=dict)


def measure(snapshot: Snapshot, policies: PolicySet, history: History) -> MeasureResult:
    """Measure every move that has settled, and demote the policies whose moves do not help.

    It takes two more bindings of each policy with such moves, whatever their number, besides those
    of before their batches (see `baseline_of`).
    """
    answer = MeasureResult()
    if any(move.unmeasured for move in history.moves):
        by_name = {policy.name: policy for policy in policies.policies}
        all_groups = groups(history, snapshot, by_name, policies.limits)
        now = correct_readings(snapshot, history)
        settled = [group for group in all_groups if not group.waits]
        for group, outcome in zip(settled, _outcomes(now, by_name, history, settled), strict=True):
            obstacles = [gain for gain in outcome.values() if isinstance(gain, Obstacle)]
            if any(obstacle.passes for obstacle in obstacles) and not group.overdue:
                continue
            answer.changed = True
            _enter(group, outcome, history, now.taken)
    if history.baselines and (answer.changed or not any(m.unmeasured for m in history.moves)):
        answer.changed = True
        history.trim_baselines()
    for name, record in ((gain.policy, gain) for gain in history.gains):
        if not decide_mode(record, policies.limits, snapshot.taken):
            continue
        answer.changed = True
        problem = demotion(record, policies.limits, snapshot.taken)
        if problem is not None:
            answer.demoted[name] = problem
    return answer


def _outcomes(
    now: Snapshot, policies: Mapping[str, Policy], history: History, settled: Sequence[MoveGroup]
) -> list[dict[str, GroupGain | Obstacle]]:
    """For each group, by policy that wanted it, what it has brought, or why that is not known.

    What one policy cannot tell keeps no other from being measured.
    """
    answer: list[dict[str, GroupGain | Obstacle]] = [{} for _ in settled]
    for name, policy in policies.items():
        wanting = [n for n, group in enumerate(settled) if group.predicted_gain(name) > 0]
        if not wanting:
            continue
        nodes = SelectedNodes.of_policy(policy, now)
        ready = []
        for number in wanting:
            obstacle = Counterfactual(now, settled[number], history, nodes).obstacle(policy)
            if obstacle is None:
                ready.append(number)
            else:
                answer[number][name] = obstacle
        of_ready = [settled[number] for number in ready]
        undone = None
        if ready and needs_readings(policy):
            undone = undo_moves(now, of_ready, history, nodes)
        results = gains(policy, of_ready, now, undone) if ready else []
        for number, gain in zip(ready, results, strict=True):
            answer[number][name] = gain
    return answer


def _enter(
    group: MoveGroup, outcome: Mapping[str, GroupGain | Obstacle], history: History, at: datetime
) -> None:
    """Keep with each move its part, like what was predicted of it, and count the group.

    Moves from before a demotion do not count any more: they led to it.
    """
    for settled_move in group.moves:
        kept = settled_move.removed and all(map(settled_move.frees, settled_move.move.gains))
        settled_move.move.measure(Gain(at=at, problem="" if kept else settled_move.lost))
    for name, whole in outcome.items():
        wanted = [
            settled_move.move
            for settled_move in group.measured
            if settled_move.move.gains.get(name, 0.0) > 0
        ]
        if isinstance(whole, GroupGain):
            _count(name, whole, wanted, history)
            continue
        for move in wanted:
            if move.gain is not None:
                said = f"policy {name}: {whole.text}"
                move.gain.problem = f"{move.gain.problem}; {said}" if move.gain.problem else said
    for name in dict.fromkeys(name for move in group.moves for name in move.move.gains):
        # A node that is gone needs nothing any more: that is what it was to be freed for.
        freed = [move.move for move in group.moves if move.removed and move.frees(name)]
        promised = sum(move.gains[name] for move in freed)
        if freed:
            _count(name, GroupGain(promised, promised), freed, history)


def _count(name: str, whole: GroupGain, moves: Sequence[PastMove], history: History) -> None:
    predicted = sum(move.gains[name] for move in moves)
    record, counted = history.gains_of(name), []
    for move in moves:
        part = move.gains[name] / predicted
        promised, measured = round(whole.promised * part, 6), round(whole.measured * part, 6)
        if move.gain is not None:
            move.gain.promised[name], move.gain.measured[name] = promised, measured
            if whole.promised < NEGLIGIBLE * predicted:
                move.gain.neutral.append(name)
            elif record.demoted is None or move.at >= record.demoted:
                counted.append((promised, measured))
    if counted:
        promised, measured = map(sum, zip(*counted, strict=True))
        record.add(promised, measured, len(counted))
