"""Time limits of steering: how long it is waited for, and how long a replacement may be Pending."""

from collections.abc import Callable
from datetime import timedelta

from rescheduler.model.problem import Problem
from rescheduler.steering.port import Port

PENDING = timedelta(minutes=1)
"""So long after the pod's grace period its replacement is waited for and, once it is seen, may stay
Pending where it is required to go to the chosen nodes."""
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
"""Seconds between two questions whether the table is read as it was written."""
PATIENCE = sum(_PAUSES)
"""Seconds after which it counts as not read."""


def seen_in_time(port: Port, problem_now: Callable[[], Problem | None]) -> Problem | None:
    """The problem that remains after enough tries; a means that is not set up ends the tries."""
    for pause in (*_PAUSES, 0.0):
        problem = problem_now()
        if problem is None or problem.code == "STR001":
            return problem
        port.sleep(pause)
    return problem
