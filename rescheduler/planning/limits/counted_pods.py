"""The pods that percentages in the Limits are of, for those who look later without a snapshot."""

from collections.abc import Sequence

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.moves.plan_basis import CountedPods
from rescheduler.planning.limits.allowances import Allowances
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import MoveLimit


def count_pods(
    snapshot: Snapshot, limits: Limits, history: History, moves: Sequence[PlannedMove]
) -> list[CountedPods]:
    """Of each limit that is a percentage: the pods of all, and of groups with a move.

    moves: those of the plan that is made.
    """
    allowances = Allowances(snapshot, limits)
    return [
        CountedPods(limit=row.field, group=group, pods=_pods(allowances, row, group))
        for row in limits.move_limits
        if isinstance(limits.amount(row), str)
        for group in _touched_groups(row, snapshot, limits, history, moves)
    ]


def _touched_groups(
    row: MoveLimit,
    snapshot: Snapshot,
    limits: Limits,
    history: History,
    moves: Sequence[PlannedMove],
) -> list[str]:
    """The names of the groups that past moves of the window or planned ones are in."""
    if row.overall:
        return [""]
    since = snapshot.taken - (row.within.span or limits.cyclePeriod)
    past = (row.per.of_past(move) or "" for move in history.charged_since(since))
    return sorted({*past, *(row.per.of_move(move, snapshot) for move in moves)})


def _pods(allowances: Allowances, row: MoveLimit, group: str) -> int:
    return allowances.pods(row.per, allowances.groups(row.per).number(group))
