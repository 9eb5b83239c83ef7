"""Results of moves whose replacement was seen or is pending: text and numbers."""

from collections.abc import Iterable

from msgspec import structs

from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import STAYS, UNREADABLE, PastMove
from rescheduler.model.moves.plan import LandingShare, MoveResult
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG


def chances(landing: Iterable[LandingShare]) -> dict[str, float]:
    """The probability of each node that the landing names."""
    return {share.node: share.probability for share in landing}


def result_with_landing(result: MoveResult, past: PastMove) -> MoveResult:
    """The result with where the replacement landed, and how long that took."""
    said = {"code": past.code, "message": CATALOG[past.code].sentence}
    if past.state == "evicted" and past.code != STAYS:
        waits = f"{CATALOG['ACT001'].sentence} Its replacement is still pending."
        said = {"code": result.code, "message": waits}
    if past.steered is not None and past.steered.missed:
        said["message"] += " " + CATALOG["STR005"].sentence
    predicted = None
    if past.landedOn:
        predicted = chances(result.landing).get(past.landedOn, 0.0)
    return structs.replace(
        result,
        **said,
        landedOn=past.landedOn or None,
        predicted=predicted,
        readySeconds=past.readySeconds,
    )


def notes_of_unread_moves(history: History) -> list[Problem]:
    """What to note of moves that count as lost because nobody can read what became of them."""
    reason = CATALOG[UNREADABLE]
    return [
        Problem(UNREADABLE, f"{reason.sentence} It is {past.namespace}/{past.pod}. {reason.advice}")
        for past in history.moves
        if past.unread and not past.no_effect
    ]
