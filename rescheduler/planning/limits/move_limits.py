"""What our limits on moves have left, after the moves of every run that still count.

The limits are the rows of the Limits (`policies/move_limits.py`), and no row is named here.
Planning asks for the plan that grows, acting right before each intent. A move counts in the past or
in the plan, never in both: the past is what the history held when this was made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rescheduler.documents.fields import duration_text
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import RAMP_CYCLES, History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, instant
from rescheduler.planning.limits.allowances import Allowance, Allowances
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import CYCLE, WINDOWS, MoveLimit, Window

_RAMP = "PAC007"


class LimitGroups(NamedTuple):
    """What a move counts to: the number of its group for each limit that is not on all moves.

    None: the limit does not count it, as it leaves no node.
    """

    groups: tuple[int | None, ...]


class MoveLimits:
    """What may still be moved of what, by every limit on moves at once.

    Before an intent:

        allowed = MoveLimits(snapshot, limits, history, now, plan)
        subject, others = allowed.of_move(move), map(allowed.of_move, earlier)
        refusal = allowed.overall_refusal(len(earlier)) or allowed.refusal(subject, others)

    earlier: moves of the plan that come before it and are not in the history yet.

    Moves off nodes or of workloads that are not in the snapshot count together. A move in the
    future was made just now: by a clock that was wrong.
    """

    def __init__(
        self, snapshot: Snapshot, limits: Limits, history: History, now: datetime, plan: str = ""
    ) -> None:
        """now: the API server's time. plan: the id of the plan that is being carried out.

        The moves of that plan count as of this cycle however long it takes.
        """
        self._snapshot = snapshot
        self._limits = limits
        self._allowances = Allowances(snapshot, limits)
        self._since = {window: now - (window.span or limits.cyclePeriod) for window in WINDOWS}
        self._past = {window: history.charged_since(since) for window, since in self._since.items()}
        self._past[CYCLE] = [
            move
            for move in history.moves
            if move.charged and (move.at >= self._since[CYCLE] or (plan and move.plan == plan))
        ]
        self._ramp = history.ramp_left(self._since[CYCLE])
        self.rows = tuple(row for row in limits.move_limits if not row.overall)
        """The limits that are not on all moves, in the order of the groups of a `LimitGroups`."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The reason codes of `overall_refusal`, then those of `refusal`, in their order."""
        return (_RAMP, *(row.code for row in self._limits.move_limits))

    def of_pod(self, pod: int) -> LimitGroups:
        """The move of the pod with this index of the snapshot."""
        return LimitGroups(tuple([groups[pod] for groups in self._pod_groups]))

    def of_move(self, move: PlannedMove) -> LimitGroups:
        """A move as a plan has it."""
        return LimitGroups(
            tuple(
                count.number(count.row.per.of_move(move, self._snapshot), move.source)
                for count in self._counts
            )
        )

    def of_replacement(self, past: PastMove) -> LimitGroups:
        """The eviction of the Pending replacement of a past move: as that, but off no node.

        A label that was not noted counts as one that it does not have.
        """
        return LimitGroups(
            tuple(count.number(count.row.per.of_past(past) or "", "") for count in self._counts)
        )

    def overall_refusal(self, planned: int = 0) -> Problem | None:
        """Why nothing more may be moved, whatever the pod: the slow start, or limits on all moves.

        planned: moves of the plan that is being made, which the history does not hold.
        """
        made = len(self._past[CYCLE])
        if self._ramp and made + planned >= 1:
            text = _moves(made, planned, self._since[CYCLE])
            return Problem(
                code=_RAMP,
                message=f"slow start: one pod in each of the first {RAMP_CYCLES} cycles that move "
                f"anything, {self._ramp} to go: {text} already",
            )
        for row, allowance, past in self.overall:
            if len(past) + planned >= allowance.most:
                message = self._limit_text(allowance, len(past), planned, row.within)
                return Problem(code=row.code, message=message)
        return None

    def remaining_moves(self, planned: int) -> int:
        """How many more moves the limits on all moves allow, beside so many that are planned."""
        most = [allowance.most - len(past) for _, allowance, past in self.overall]
        if self._ramp:
            most.append(1 - len(self._past[CYCLE]))
        return max(0, min(most) - planned)

    def refusal(
        self, subject: LimitGroups, planned: Iterable[LimitGroups] = (), *, follows: bool = False
    ) -> Problem | None:
        """Why this may not be moved, by the limits that are not on all moves; the first in order.

        planned: earlier moves of the same plan, which the history does not hold. follows: one of
        the same workload and gang, which moves with it, was counted already: limits by workload
        count both as one.
        """
        counts: list[Counter[int | None]] = [Counter() for _ in self.rows]
        for other in planned:
            for count, group in zip(counts, other.groups, strict=True):
                count[group] += 1
        return self.reached_limit(subject, counts, follows=follows)

    def reached_limit(
        self,
        subject: LimitGroups,
        planned: Sequence[Mapping[int | None, int]],
        *,
        follows: bool = False,
    ) -> Problem | None:
        """As `refusal`. planned: for each limit, how many planned moves are in each group."""
        for count, group, by_group in zip(self._counts, subject.groups, planned, strict=True):
            of_plan = by_group.get(group, 0)
            if group is None or of_plan < count.remaining_moves(group):
                continue
            if not (follows and count.row.per.gang_is_one):
                past, allowance = count.past(group), count.allowance(group)
                text = self._limit_text(allowance, past, of_plan, count.row.within)
                named = count.row.per.group_name(count.name(group))
                return Problem(code=count.row.code, message=f"{named}: {text}")
        return None

    def groups(self) -> list[tuple[IntArray, IntArray]]:
        """For each limit: (pods,) the number of each pod's group; (k,) the moves left of each."""
        return [
            (
                count.of_pods,
                np.array([*map(count.remaining_moves, range(count.groups))], dtype=np.int32),
            )
            for count in self._counts
        ]

    def too_many(self, pods: Iterable[int], *, gang: bool = False) -> str:
        """Which limit never lets these pods move at once, with both numbers; "" where all do.

        gang: they are one gang, which is one move to limits by workload.
        """
        moved = np.fromiter(pods, dtype=np.int32)
        for row in sorted(self._limits.move_limits, key=lambda row: row.per.noun):
            if gang and row.per.gang_is_one:
                continue
            groups = self._allowances.groups(row.per)
            for group, number in enumerate(np.bincount(groups.of_pods[moved]).tolist()):
                allowance = self._allowances.allowance_of(row, group)
                if number > allowance.most:
                    where = row.per.group_suffix(groups.names[group], self._snapshot)
                    moves = count_text(number, "move")
                    return f"{moves} at once{where}, more than {allowance} allows"
        return ""

    @cached_property
    def overall(self) -> list[tuple[MoveLimit, Allowance, list[PastMove]]]:
        """The limits on all moves, with what they allow and the past moves that they count."""
        rows = [row for row in self._limits.move_limits if row.overall]
        return [(row, self._allowances.allowance_of(row), self._past[row.within]) for row in rows]

    @cached_property
    def _pod_groups(self) -> list[memoryview]:
        """For each limit the group of each pod, for single look-ups: an array is slow at those."""
        return [np.ascontiguousarray(count.of_pods).data for count in self._counts]

    @cached_property
    def _counts(self) -> tuple["_Count", ...]:
        return tuple(_Count(row, self._past[row.within], self._allowances) for row in self.rows)

    def _limit_text(self, limit: Allowance, past: int, planned: int, within: Window) -> str:
        """How so many moves reach the limit."""
        if not limit.most:
            return f"no move is allowed ({limit})"
        shown = str(limit)
        if past and within == CYCLE:
            shown += f", cyclePeriod {duration_text(self._limits.cyclePeriod)}"
        verb = "reaches" if past + planned == 1 else "reach"
        moves = _moves(past, planned, self._since[within])
        return f"{moves} {verb} the limit of {limit.most} ({shown})"


class _Count:
    """The past moves that one limit counts, by the number of their group.

    of_pods: (pods,) the group of each pod. groups: how many of them the snapshot has.
    """

    def __init__(self, row: MoveLimit, past: Iterable[PastMove], allowances: Allowances) -> None:
        self.row = row
        self._allowances = allowances
        self._groups = allowances.groups(row.per)
        self.of_pods, self.groups = self._groups.of_pods, len(self._groups.names)
        self._past: dict[int, int] = {}
        self._anywhere = 0
        self._left: dict[int, int] = {}
        for move in past:
            if row.per.of_node and not move.source:
                continue
            name = row.per.of_past(move)
            if name is None:
                self._anywhere += 1
            else:
                group = self._groups.number(name)
                self._past[group] = self._past.get(group, 0) + 1

    def number(self, name: str, source: str) -> int | None:
        """The group of this name of a move off this node; None where it is in none."""
        return None if self.row.per.of_node and not source else self._groups.number(name)

    def name(self, group: int) -> str:
        """The name of the group."""
        return self._groups.names[group]

    def remaining_moves(self, group: int) -> int:
        """How many moves of the group are allowed before anything is planned."""
        remaining = self._left.get(group)
        if remaining is None:
            remaining = self._left[group] = self.allowance(group).most - self.past(group)
        return remaining

    def allowance(self, group: int) -> Allowance:
        """How many moves of the group are allowed in all."""
        return self._allowances.allowance_of(self.row, group)

    def past(self, group: int) -> int:
        """The past moves of the group, and those whose group is not known."""
        return self._past.get(group, 0) + self._anywhere


def _moves(past: int, planned: int, since: datetime) -> str:
    if not past:
        return f"{count_text(planned, 'move')} in this plan"
    more = f" and {planned} in this plan" if planned else ""
    return f"{count_text(past, 'move')} since {instant(since)}{more}"
