"""Measuring: what settled moves have brought, entered in the history beside what they promised."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from rescheduler.model.gains import Gain
from rescheduler.model.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.limits.demotion import decide_mode, demotion
from rescheduler.planning.measure.comparing import GroupGain, gains, needs_readings
from rescheduler.planning.measure.counterfactual import Before, Obstacle, without
from rescheduler.planning.measure.groups import Group, groups
from rescheduler.planning.measure.selected_nodes import SelectedNodes
from rescheduler.planning.search.corrections import corrected
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet

NEGLIGIBLE = 0.1
"""Moves that promise less than this share of what was predicted are of no use any more: the load
has fallen by itself. What they brought says nothing about their policy."""


@dataclass(slots=True)
class Measured:
    """What was entered in the history. demoted: MSR001 of the policies demoted just now, by name.

    changed: whether the history must be stored.
    """

    changed: bool = False
    demoted: dict[str, Problem] = field(default_factory=dict)


def measure(snapshot: Snapshot, policies: PolicySet, history: History) -> Measured:
    """Measure every move that has settled, and demote the policies whose moves do not help.

    It takes two more bindings of each policy with such moves, whatever their number, besides those
    of before their batches (see `baseline_of`).
    """
    answer = Measured()
    if any(move.unmeasured for move in history.moves):
        by_name = {each.name: each for each in policies.policies}
        found = groups(history, snapshot, by_name, policies.limits)
        now = corrected(snapshot, history)
        for group, outcome in _outcomes(now, by_name, history, [g for g in found if not g.waits]):
            if isinstance(outcome, Obstacle) and outcome.passes and not group.overdue:
                continue
            answer.changed = True
            _enter(group, outcome, history, now.taken)
    if history.baselines and (answer.changed or not any(m.unmeasured for m in history.moves)):
        answer.changed = True
        history.trim_baselines()
    for name, record in ((each.policy, each) for each in history.gains):
        if not decide_mode(record, policies.limits, snapshot.taken):
            continue
        answer.changed = True
        problem = demotion(record, policies.limits, snapshot.taken)
        if problem is not None:
            answer.demoted[name] = problem
    return answer


def _outcomes(
    now: Snapshot, policies: Mapping[str, Policy], history: History, settled: Sequence[Group]
) -> Iterator[tuple[Group, dict[str, GroupGain] | Obstacle]]:
    """For each group what it has brought by policy, or why that cannot be measured now."""
    selected = {
        name: SelectedNodes.of(policy, now)
        for name, policy in policies.items()
        if any(group.predicted(name) > 0 for group in settled)
    }
    ready = []
    for group in settled:
        wanted = [policies[name] for name in selected if group.predicted(name) > 0]
        obstacle = _obstacle(now, group, history, [(each, selected[each.name]) for each in wanted])
        if obstacle is None:
            ready.append(group)
        else:
            yield group, obstacle
    known: list[dict[str, GroupGain]] = [{} for _ in ready]
    failed: dict[int, Obstacle] = {}
    undone: dict[str, Snapshot] = {}
    for name, nodes in selected.items():
        wanting = [n for n, group in enumerate(ready) if group.predicted(name) > 0]
        if not wanting:
            continue
        reads = needs_readings(policies[name])
        if reads and nodes.key not in undone:
            undone[nodes.key] = without(now, ready, history, nodes)
        found = gains(policies[name], ready, now, undone[nodes.key] if reads else None)
        for number in wanting:
            gain = found[number]
            if isinstance(gain, Obstacle):
                failed[number] = replace(gain, text=f"policy {name}: {gain.text}")
            else:
                known[number][name] = gain
    for number, group in enumerate(ready):
        yield group, failed.get(number, known[number])


def _obstacle(
    now: Snapshot,
    group: Group,
    history: History,
    wanted: Sequence[tuple[Policy, SelectedNodes]],
) -> Obstacle | None:
    """Why the readings do not tell what the group has brought for one of these policies."""
    before: dict[str, Before] = {}
    for policy, nodes in wanted:
        if nodes.key not in before:
            before[nodes.key] = Before(now, group, history, nodes)
        found = before[nodes.key].obstacle(policy)
        if found is not None:
            return found
    return None


def _enter(
    group: Group, outcome: dict[str, GroupGain] | Obstacle, history: History, at: datetime
) -> None:
    """Keep with each move its part, like what was predicted of it, and count it for its policies.

    Moves from before a demotion do not count any more: they led to it.
    """
    for each in group.moves:
        move, gain = each.move, Gain(at=at)
        move.gain = gain
        if each.lost or isinstance(outcome, Obstacle):
            gain.problem = each.lost or (outcome.text if isinstance(outcome, Obstacle) else "")
            continue
        for name, whole in outcome.items():
            if move.gains.get(name, 0.0) <= 0:
                continue
            part = move.gains[name] / group.predicted(name)
            promised, measured = whole.promised * part, whole.measured * part
            gain.promised[name], gain.measured[name] = round(promised, 6), round(measured, 6)
            record = history.gains_of(name)
            if whole.promised < NEGLIGIBLE * group.predicted(name):
                gain.neutral.append(name)
            elif record.demoted is None or move.at >= record.demoted:
                record.add(promised, measured)
