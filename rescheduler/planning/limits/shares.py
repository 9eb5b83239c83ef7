"""Shares: what each tenant may take of the limits on all moves while others have moves to make.

Each limit on all moves (`movesPerCycle`, `movesPerHour`, `movesPerDay`) is filled like water: what
is left of it goes to those who have taken least, until all who want more stand at one level.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.limits.allowances import Allowance
from rescheduler.planning.limits.tenants import Tenants
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import MoveLimit

SHARE = "BUD005"
"""The code with which a pod stays as its tenant has its share."""


@dataclass(slots=True)
class _Row:
    """A limit on all moves. past: of each tenant the moves that it counts. level: the share."""

    limit: MoveLimit
    allowance: Allowance
    past: Counter[str]
    level: int = 0


class Shares:
    """How much more of each limit on all moves a tenant may take, as the plan grows.

    Nobody is bounded until two tenants want moves. A tenant that has not reached its share may take
    all pods of a gang or chain, though they are more: else it could never be moved. Where those who
    have not reached theirs have no move that is worth making, the others share what is left.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        limits: Limits,
        rows: Iterable[tuple[MoveLimit, Allowance, Sequence[PastMove]]],
    ) -> None:
        """rows: each limit on all moves, what it allows, and the past moves that it counts."""
        self._tenants = Tenants(snapshot, limits)
        self._rows = [
            _Row(
                limit, allowance, Counter(self._tenants.tenant_of(move.namespace) for move in past)
            )
            for limit, allowance, past in rows
        ]
        self.start()

    def start(self) -> None:
        """Begin a plan in which nothing has moved, and nobody is known to want anything."""
        self._planned: Counter[str] = Counter()
        self._wanting: frozenset[str] = frozenset()

    def charge(self, pod: int, sign: int) -> None:
        """A move of this pod was planned (1), or is not any more (-1)."""
        self._planned[self._tenant_of(pod)] += sign

    def begin(self, pods: Iterable[int]) -> None:
        """These pods have moves that may be worth making: their tenants share what is left."""
        self._wanting = frozenset(map(self._tenant_of, pods))
        for row in self._rows:
            row.level = self._fill_level(row, self._wanting)

    def share_out(self, pods: Iterable[int]) -> bool:
        """Nobody else has a move worth making: share what is left among who has its share.

        pods: of their tenants. Answers whether one may take more now that might not before.
        """
        wanting = frozenset(
            tenant for tenant in map(self._tenant_of, pods) if not self._is_below_level(tenant)
        )
        if not wanting:
            return False
        self._wanting = wanting
        for row in self._rows:
            row.level = max(row.level, self._fill_level(row, wanting))
        while not any(self._is_below_level(tenant) for tenant in wanting):
            for row in self._rows:
                row.level += 1
        return True

    def refusal(self, pods: Iterable[int]) -> Problem | None:
        """BUD005: why one of these pods stays, or None."""
        if len(self._wanting) < 2:
            return None
        for tenant in dict.fromkeys(map(self._tenant_of, pods)):
            for row in self._rows:
                taken = self._moves_taken(row, tenant)
                if taken >= row.level:
                    return Problem(SHARE, self._sentence(row, tenant, taken))
        return None

    def _tenant_of(self, pod: int) -> str:
        names, of_pods = self._tenants.of_pods
        return names[int(of_pods[pod])]

    def _moves_taken(self, row: _Row, tenant: str) -> int:
        return row.past[tenant] + self._planned[tenant]

    def _is_below_level(self, tenant: str) -> bool:
        return all(self._moves_taken(row, tenant) < row.level for row in self._rows)

    def _remaining_moves(self, row: _Row) -> int:
        return row.allowance.most - row.past.total() - self._planned.total()

    def _fill_level(self, row: _Row, wanting: frozenset[str]) -> int:
        """The least level up to which what is left does not reach for all who want more."""
        return _level(
            [self._moves_taken(row, tenant) for tenant in wanting], self._remaining_moves(row)
        )

    def _sentence(self, row: _Row, tenant: str, taken: int) -> str:
        within = row.limit.within.text.partition(",")[0]
        planned = self._planned[tenant]
        part = f", {planned} of them in this plan" if planned and row.past[tenant] else ""
        others = count_text(len(self._wanting), self._tenants.noun)
        return (
            f"{tenant} has its share of {row.allowance}: {count_text(taken, 'move')} "
            f"{within}{part}; "
            f"{others} have moves that may be worth making"
        )


def _level(taken: Sequence[int], remaining: int) -> int:
    """The least level such that all who have taken less, raised to it, take what is left.

    Rounded up: what cannot be divided goes to who comes first.
    """
    level, order = 0, sorted(taken)
    for number, least in enumerate(order, 1):
        level = -(-(sum(order[:number]) + max(remaining, 0)) // number)
        if number == len(order) or level <= order[number]:
            return max(level, least)
    return level
