"""Replacements that were created without the affinity that steering should have added.

What reads the table may show it and yet steer no pod: one of several API servers, or a webhook
whose answers come too late.
"""

from collections.abc import Sequence

from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.steering.means_base import SteeredMove, steered_moves


def missed_before(history: History, moves: Sequence[SteeredMove]) -> Problem | None:
    """Why these are not entered: their means has steered nobody before, by the same plan."""
    plans = {(move.plan, steering.by) for move, steering in moves}
    for past, steering in steered_moves(history.moves):
        if steering.missed and (past.plan, steering.by) in plans:
            said = f"the replacement of {past.namespace}/{past.pod} came without its node affinity"
            return Problem(code="STR002", message=f"{said}, so {steering.by} is not counted on")
    return None


def misses(history: History, plan: str) -> list[Problem]:
    """What to note of the replacements of this plan that were not steered."""
    reason = CATALOG["STR005"]
    return [
        Problem(
            code=reason.code,
            message=f"{reason.sentence} (steering.by {steering.by}: the one of "
            f"{past.namespace}/{past.pod}). {reason.advice}",
        )
        for past, steering in steered_moves(history.moves)
        if past.plan == plan and steering.missed
    ]
