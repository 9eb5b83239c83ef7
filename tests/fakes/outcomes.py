"""What became of a run on the stage."""

from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Outcome
from tests.fakes.stage import Process, Stage


def history(stage: Stage) -> list[PastMove]:
    """The moves that the state holds now."""
    return Process(stage, "reader").ledger.peek().moves


def results(outcome: Outcome) -> list[tuple[str, str]]:
    """The result and the code of each move."""
    return [(move.result, move.code) for move in outcome.moves]
