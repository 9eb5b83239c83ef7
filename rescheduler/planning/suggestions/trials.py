"""Suggestions: the remedies that bring most, by planning again with each on the same snapshot."""

import math
from collections.abc import Callable
from dataclasses import replace

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_count import FindingCount
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.suggestion import Suggestion, TrialResult, WorstNode
from rescheduler.model.wording import count_text
from rescheduler.planning.suggestions.limit_remedies import (
    STEERABLE,
    STEERING_CHANGE,
    limit_remedies,
    steering_remedy,
)
from rescheduler.planning.suggestions.object_remedies import object_remedies
from rescheduler.planning.suggestions.policy_remedies import policy_remedies
from rescheduler.planning.suggestions.remedies import Remedy, Situation
from rescheduler.policies.files.policy_set import PolicySet

MOST_SUGGESTIONS = 3
MOST_TRIALS = 6
"""Plans that are made again at most."""
_PAIRS = 6_000_000
"""Pairs of a pod and a node that all trials together may have where the plan has moves."""
_MOST_PAIRS = 50_000_000
"""On a larger cluster nothing is tried at all."""
_LEAST = 0.001
"""A load that changes by less does not."""

PlanAgain = Callable[[Snapshot, PolicySet], Plan]
"""Makes a plan as the first one was made, from another snapshot or other policies."""


def suggestions(situation: Situation, plan_again: PlanAgain) -> list[Suggestion]:
    """At most three changes, what brings most first; none where nothing stays wrong.

    What cannot be tried, or not on a cluster of this size, comes last and without a figure.
    """
    if not leaves_wrong(situation.plan):
        return []
    remedies = [
        *limit_remedies(situation),
        *policy_remedies(situation),
        *object_remedies(situation),
    ]
    remedies.sort(key=lambda remedy: -remedy.pods)
    trials = _Trials(situation, plan_again)
    for remedy in remedies:
        trials.make(remedy)
    return trials.best()


class _Trials:
    """Plannings again, so many and no more; and what came of them."""

    def __init__(self, situation: Situation, plan_again: PlanAgain) -> None:
        self._situation, self._plan_again = situation, plan_again
        self._remaining = most_trials(situation)
        self._helpful: list[tuple[float, Suggestion]] = []
        self._untried: list[Suggestion] = []
        self._with_steering: set[str] = set()
        self._by_steering = -math.inf

    def make(self, remedy: Remedy) -> None:
        """Try the remedy; where replacements would still land wrong, with steering besides."""
        if not remedy.tries or remedy.lacking or not self._remaining:
            self._leave_untried(remedy)
            return
        situation, made = self._situation, self._plan(remedy)
        options = [(remedy, made)]
        obstacles = sum(made.totals.refused.get(code, 0) for code in STEERABLE)
        steered = steering_remedy(situation, remedy.policies) if obstacles else None
        if steered is not None and self._remaining:
            both = _add_steering(remedy, steered)
            options.append((both, self._plan(both)))
        outcomes = [(compare_plans(situation.plan, plan), chosen, plan) for chosen, plan in options]
        trial, best, plan = max(outcomes, key=lambda option: round(option[0].gain, 6))
        more = trial.gain - trial.gainNow
        if more > situation.policies.limits.margin or _reveals(situation.plan, plan):
            self._helpful.append((more, _suggestion(best, trial)))
        if best is not remedy:
            self._with_steering.add(best.change)
        if remedy.change == STEERING_CHANGE:
            self._by_steering = more

    def best(self) -> list[Suggestion]:
        """What brings most first, and of equals what makes nothing less safe.

        What brings with steering no more than steering alone is no suggestion of its own.
        """
        enough = self._by_steering + self._situation.policies.limits.margin
        self._helpful = [
            (more, made)
            for more, made in self._helpful
            if more > enough or made.change not in self._with_steering
        ]
        self._helpful.sort(key=lambda pair: (-round(pair[0], 6), pair[1].risk != ""))
        return [*(made for _, made in self._helpful), *self._untried][:MOST_SUGGESTIONS]

    def _leave_untried(self, remedy: Remedy) -> None:
        """What cannot be tried is told without a figure; so is all where nothing can be."""
        if not remedy.tries or remedy.lacking:
            self._untried.append(_suggestion(remedy, None, remedy.lacking))
        elif not most_trials(self._situation):
            stay = (
                f"{count_text(remedy.pods, 'pod')} could move; not tried on a cluster of this size"
            )
            self._untried.append(_suggestion(remedy, None, stay))

    def _plan(self, remedy: Remedy) -> Plan:
        self._remaining -= 1
        return self._plan_again(remedy.snapshot or self._situation.snapshot, remedy.policies)


def _add_steering(remedy: Remedy, steered: Remedy) -> Remedy:
    return replace(
        remedy,
        change=f"{remedy.change} and turn on steering",
        how=f"{remedy.how}. {steered.how}",
        policies=steered.policies,
    )


def leaves_wrong(plan: Plan) -> bool:
    """Whether something stays wrong after the plan, or nobody knows."""
    if plan.assessment is None or plan.assessment.state == "Healthy":
        return any(policy.silent and policy.weight > 0 for policy in plan.policies)
    if plan.assessment.state != "Improvable" or any(move.mode == "Audit" for move in plan.moves):
        return True
    return any(
        policy.silent or policy.cost.after + policy.immovable > 0 for policy in plan.policies
    )


def most_trials(situation: Situation) -> int:
    """How many plans may be made again: on a large cluster one, where the plan has no move.

    By size alone, so that the same snapshot has the same suggestions.
    """
    pairs = max(1, len(situation.snapshot.pods) * len(situation.snapshot.nodes))
    fitting = min(MOST_TRIALS, _PAIRS // pairs)
    return fitting if situation.plan.moves or pairs > _MOST_PAIRS else max(fitting, 1)


def compare_plans(now: Plan, changed: Plan) -> TrialResult:
    """What the changed plan gives beside the plan as it is."""
    made = [[move for move in plan.moves if move.mode == "Enforce"] for plan in (now, changed)]
    return TrialResult(
        movesNow=len(made[0]),
        moves=len(made[1]),
        gainNow=sum(move.gain for move in made[0]),
        gain=sum(move.gain for move in made[1]),
        worst=_worst_node(now, changed),
        counts=_changed_counts(now, changed),
    )


def _worst_node(now: Plan, changed: Plan) -> WorstNode | None:
    """Of the reading whose hottest node gets coolest by the change."""
    highest = [_highest(plan) for plan in (now, changed)]
    cooler = [
        WorstNode(reading=name, now=load, changed=highest[1][name])
        for name, load in sorted(highest[0].items())
        if load - highest[1].get(name, load) > _LEAST
    ]
    return max(cooler, key=lambda worst: worst.now - worst.changed, default=None)


def _highest(plan: Plan) -> dict[str, float]:
    """Reading to the highest load of any node after the plan."""
    loads: dict[str, float] = {}
    for node in plan.nodes:
        for name, load in node.load.items():
            if load.after is not None:
                loads[name] = max(loads.get(name, 0.0), load.after)
    return loads


def _changed_counts(now: Plan, changed: Plan) -> list[FindingCount]:
    counts = {(count.one, count.many): count.after for count in now.counts}
    pairs = [(count, counts.get((count.one, count.many), count.before)) for count in changed.counts]
    return [
        FindingCount(one=count.one, many=count.many, before=before, after=count.after)
        for count, before in pairs
        if before != count.after
    ]


def _reveals(now: Plan, changed: Plan) -> bool:
    """Whether a policy that judged nothing finds something wrong in the changed plan."""
    pairs = zip(now.policies, changed.policies, strict=True)
    return any(
        before.silent
        and after.assessment is not None
        and after.assessment.state in ("Powerless", "Improvable")
        for before, after in pairs
    )


def _suggestion(remedy: Remedy, trial: TrialResult | None, untried: str = "") -> Suggestion:
    return Suggestion(
        code=remedy.code,
        change=remedy.change,
        how=remedy.how,
        pods=remedy.pods,
        trial=trial,
        untried=untried,
        risk=remedy.risk,
        decides=remedy.decides,
    )
