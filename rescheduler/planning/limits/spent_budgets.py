"""What the moves of the past have used of each limit on moves, without a snapshot."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan_basis import CountedPods
from rescheduler.model.run_status import SpentBudget
from rescheduler.planning.limits.allowances import share_allowance
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import MoveLimit


def spent_budgets(
    history: History, limits: Limits, now: datetime, counted: Sequence[CountedPods] = ()
) -> list[SpentBudget]:
    """Each limit on all moves, and those on some of which any is used; the shortest window first.

    The moves of a cycle count for `cyclePeriod`. counted: the pods that percentages are of.
    """
    pods = {(count.limit, count.group): count.pods for count in counted}
    return [row for limit in limits.move_limits for row in _rows(history, limits, limit, now, pods)]


def _rows(
    history: History,
    limits: Limits,
    limit: MoveLimit,
    now: datetime,
    pods: dict[tuple[str, str], int],
) -> Iterator[SpentBudget]:
    span = limit.within.span or limits.cyclePeriod
    groups: dict[str, list[PastMove]] = defaultdict(list)
    if limit.overall:
        groups[""] = []
    for move in history.charged_since(now - span):
        if not (limit.per.of_node and not move.source):
            groups[limit.per.of_past(move) or ""].append(move)
    for group, moves in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        most = _most_moves(limits, limit, pods.get((limit.field, group)))
        yield _budget_row(limits, limit, _group_name(limit, group, moves), moves, now, span, most)


def _most_moves(limits: Limits, limit: MoveLimit, pods: int | None) -> int | None:
    """How many moves the limit allows; None for a percentage of nobody knows how many pods."""
    amount = limits.amount(limit)
    if isinstance(amount, int):
        return amount
    return None if pods is None else share_allowance(limits, limit, amount, pods).most


def _group_name(limit: MoveLimit, group: str, moves: list[PastMove]) -> str:
    """What is counted together, as people call it; a workload by the last pod that it lost."""
    if limit.overall:
        return ""
    if limit.per.gang_is_one:
        return f"workload of pod {moves[-1].namespace}/{moves[-1].pod}"
    return limit.per.group_name(group)


def _budget_row(
    limits: Limits,
    limit: MoveLimit,
    group: str,
    moves: list[PastMove],
    now: datetime,
    span: timedelta,
    most: int | None,
) -> SpentBudget:
    return SpentBudget(
        limit=limit.field,
        window=limit.within.name,
        group=group,
        amount=str(limits.amount(limit)),
        used=len(moves),
        most=most,
        remaining=None if most is None else max(0, most - len(moves)),
        since=now - span,
        free=min(move.at for move in moves) + span if moves else None,
    )
