"""Plans with suggestions, and what planning with the written change gives, told independently."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.suggestion import Suggestion, TrialResult
from rescheduler.planning.plan.planner import plan, plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits

OUTLINE = Outline(mode="Audit", seed=0, tool="", recorded=False, suggests=True)
_WRITTEN = re.compile(r"Write `([^`]+)` in (the Limits|policy (\S+?))(?:[,.]|$)")


def suggested(
    snapshot: Snapshot, policies: Sequence[Policy], limits: Limits, seed: int = 0
) -> Plan:
    """The plan with its suggestions."""
    outline = Outline(mode="Audit", seed=seed, tool="", recorded=False, suggests=True)
    policy_documents = policy_set(list(policies), limits)
    return plan_and_observations(snapshot, policy_documents, History(), FindingHistory(), outline)[
        0
    ]


def written(
    suggestion: Suggestion, policies: Sequence[Policy], limits: Limits
) -> tuple[list[Policy], Limits]:
    """The documents after a person has written what the suggestion says."""
    changed, fields = list(policies), dict[str, Any]()
    for text, where, name in _WRITTEN.findall(suggestion.how):
        if where == "the Limits":
            fields |= yaml.safe_load(text)
            continue
        changed = [
            type(policy).model_validate(policy.model_dump() | yaml.safe_load(text))
            if policy.name == name
            else policy
            for policy in changed
        ]
    return changed, Limits.model_validate(limits.model_dump() | fields)


def promise(suggestion: Suggestion) -> TrialResult:
    """What the suggestion promises; it was tried."""
    assert suggestion.trial is not None
    return suggestion.trial


def check_promise(trial: TrialResult, now: Plan, changed: Plan) -> None:
    """Compare each promised figure with the plans themselves."""
    assert (trial.movesNow, trial.moves) == (enforced(now), enforced(changed))
    assert trial.gainNow == gained(now)
    assert trial.gain == gained(changed)
    if trial.worst is not None:
        name = trial.worst.reading
        assert trial.worst.now == highest(now, name)
        assert trial.worst.changed == highest(changed, name)
    for count in trial.counts:
        assert count.after == sum(other.after for other in changed.counts if other.one == count.one)


def enforced(made: Plan) -> int:
    return sum(move.mode == "Enforce" for move in made.moves)


def gained(made: Plan) -> float:
    return sum(move.gain for move in made.moves if move.mode == "Enforce")


def highest(made: Plan, reading: str) -> float:
    loads = [node.load[reading].after for node in made.nodes]
    return max(load for load in loads if load is not None)


def replanned(
    suggestion: Suggestion,
    snapshot: Snapshot,
    policies: Sequence[Policy],
    limits: Limits,
    seed: int = 0,
) -> Plan:
    """A plan of the same snapshot with the documents as the suggestion says."""
    changed, others = written(suggestion, policies, limits)
    return plan(snapshot, policy_set(changed, others), History(), mode="Audit", seed=seed)
