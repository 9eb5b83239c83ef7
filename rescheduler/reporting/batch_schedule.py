"""The batches of a plan in their order, and the PodDisruptionBudgets that it spends."""

from collections.abc import Iterable
from dataclasses import dataclass

from rescheduler.model.plan import Plan
from rescheduler.reporting.rows import MoveRow

MOST = 60
"""Batches that are drawn."""


@dataclass(frozen=True)
class Batch:
    """Moves that are made together; the next batch waits until their replacements are Ready."""

    number: int
    rows: list[MoveRow]


@dataclass(frozen=True)
class Spending:
    """A PodDisruptionBudget: how many moves spend it, and what it allowed."""

    name: str
    moves: int
    allowed: int


def batches(rows: Iterable[MoveRow]) -> list[Batch]:
    """The batches of these moves in their order."""
    found: dict[int, list[MoveRow]] = {}
    for row in rows:
        found.setdefault(row.move.batch, []).append(row)
    return [Batch(number, rows) for number, rows in sorted(found.items())]


def budgets(plan: Plan) -> list[Spending]:
    """The PodDisruptionBudgets that the moves spend, the tightest first."""
    spent: dict[str, list[int]] = {}
    for move in plan.moves:
        if move.budget is not None:
            spent.setdefault(f"{move.pod.namespace}/{move.budget.name}", []).append(
                move.budget.allowed
            )
    found = [Spending(name, len(left), max(left)) for name, left in spent.items()]
    return sorted(found, key=lambda each: (each.allowed - each.moves, each.name))
