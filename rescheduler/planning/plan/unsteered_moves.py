"""Counts the moves that are not steered although their policies steer, by reason."""

from collections import Counter
from collections.abc import Sequence

from rescheduler.planning.eligibility.steerable import Steerable
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.working_copy import WorkingCopy


def count_unsteered(copy: WorkingCopy, moves: Sequence[Evaluation]) -> dict[str, int]:
    """How many of the moves are not steered, by code; "" where nothing would be gained by it.

    Moves for policies that do not steer are not counted.
    """
    steering = {
        binding.policy.name
        for binding in copy.active
        if (binding.policy.steering or copy.limits.steering).means != "None"
    }
    steerable = Steerable(copy.snapshot)
    counts: Counter[str] = Counter()
    for move in moves:
        if move.choice is None and any(move.gains.get(name, 0.0) > 0 for name in steering):
            problem = steerable.problem(move.pod, whole=bool(move.group))
            counts["" if problem is None else problem.code] += 1
    return dict(sorted(counts.items()))
