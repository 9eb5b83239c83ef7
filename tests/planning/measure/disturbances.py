"""What a move gained while something else disturbed its nodes."""

from rescheduler.model.moves.past_move import PastMove

POD = "pod-default-p0-0"
"""Of workload w0 on hot node n0; the others of w0 are on five other hot nodes and a cold one."""


def gain(move: PastMove) -> float:
    assert move.gain is not None
    assert move.gain.problem == ""
    return move.gain.measured["even"]


def unknown(move: PastMove) -> str:
    assert move.gain is not None
    assert not move.gain.measured
    return move.gain.problem
