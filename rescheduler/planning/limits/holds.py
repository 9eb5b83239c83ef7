"""Holds: who is left alone since replacements went wrong, whom it is for, and how it ends.

What goes wrong with a workload holds that workload and its namespace. Everybody is held only where
several show it, as it is then no longer one tenant's own doing.
"""

from dataclasses import dataclass

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.wording import instant
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.limits.missing import (
    Missing,
    missing_replacements,
    namespaces_that_move,
)
from rescheduler.policies.limits import Limits

SEVERAL = 3
"""Namespaces that show the same before everybody is held; fewer where fewer can move."""
_LAST, _THIRD = 20, 7
"""Or so many of the last moves, of more than one namespace."""


@dataclass(frozen=True, slots=True)
class Holds:
    """Who is held, as one snapshot and the history show it.

    everybody: why all moves are held; empty where only some are. namespaces: by name, why the pods
    in it are left alone.
    """

    everybody: tuple[Problem, ...]
    namespaces: dict[str, Problem]

    @property
    def some(self) -> bool:
        """Whether anybody is held alone."""
        return bool(self.namespaces)

    def refusal(self, namespace: str) -> Problem | None:
        """ELG038: why pods of this namespace are left alone, or None."""
        return self.namespaces.get(namespace)


def holds_of(
    snapshot: Snapshot, eligibility: Eligibility, limits: Limits, history: History
) -> Holds:
    """The holds that follow from this history, as this snapshot shows it."""
    missing = missing_replacements(snapshot, eligibility, limits, history)
    if _of_several(missing, snapshot, limits, history):
        return Holds(tuple(Problem("GRD003", _told(each, "nothing moves")) for each in missing), {})
    namespaces: dict[str, Problem] = {}
    for each in missing:
        name = each.move.namespace
        text = _told(each, f"nothing moves in namespace {name}")
        namespaces.setdefault(name, Problem("ELG038", text))
    return Holds((), namespaces)


def _of_several(
    missing: list[Missing], snapshot: Snapshot, limits: Limits, history: History
) -> bool:
    """Whether so many show it that it is no tenant's own doing."""
    found = {each.move.namespace for each in missing}
    if not found:
        return False
    can_move = max(namespaces_that_move(snapshot, limits, SEVERAL), 1)
    if len(found) >= min(SEVERAL, can_move):
        return True
    late = {move.podUid for each in missing for move in each.moves}
    last = [move for move in history.moves if move.charged and not move.frees][-_LAST:]
    return len(found) > 1 and sum(move.podUid in late for move in last) >= _THIRD


def _told(missing: Missing, held: str) -> str:
    """What is missing, who is held for it, and how that ends."""
    latest = "" if missing.until is None else f", at the latest until {instant(missing.until)}"
    return f"{missing.sentence}; {held} until {missing.cause}{latest}"
