"""Limits on the time and the steps of planning."""

from collections.abc import Callable
from dataclasses import dataclass

MOST_STEPS = 50_000
"""How many evaluations one search may make, unless another number is given."""


def never() -> bool:
    """Whether the time is up where there is no end to it."""
    return False


@dataclass(frozen=True, slots=True)
class Effort:
    """What one plan may cost to make.

    steps: evaluations of each search; with so many the same input gives the same plan.
    expired: whether the time is up; the clock is the caller's. half_spent: whether half of it is:
    what only makes a plan better leaves the other half to what comes after it.
    """

    steps: int = MOST_STEPS
    expired: Callable[[], bool] = never
    half_spent: Callable[[], bool] = never


UNHURRIED = Effort()
"""As long as it takes, but for the number of evaluations."""
