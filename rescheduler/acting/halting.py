"""`Halted`: why a run ends before its plan was carried out."""

from collections.abc import Iterable

from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.reasons import problem


class Halted(Exception):
    """Nothing more may be sent in this run; the verdict says why."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.verdict = problem(code, detail)


def names_of(moves: Iterable[PastMove]) -> str:
    """The pods of these moves, as people name them."""
    return ", ".join(f"{past.namespace}/{past.pod}" for past in moves)
