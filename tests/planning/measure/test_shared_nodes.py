"""Moves that share nodes are measured together, and are one trial of their policy."""

import pytest

from rescheduler.model.moves.past_move import PastMove
from tests.planning.measure.laboratory import Laboratory


def gain(move: PastMove) -> float:
    assert move.gain is not None
    return move.gain.measured["even"]


def chained(lab: Laboratory) -> list[PastMove]:
    """Ten moves of one batch that all share nodes: two pods of each of five hot nodes."""
    pairs = [
        (f"pod-default-p{node}-{more}", f"n{12 + node + more}")
        for node in range(5)
        for more in range(2)
    ]
    return lab.move_together(pairs)


def test_moves_that_share_nodes_are_one_trial() -> None:
    lab = Laboratory()
    moves = chained(lab)
    lab.base["n0"] += 6.0
    lab.wait()
    assert lab.measure().demoted == {}
    (pair,) = lab.history.gains_of("even").pairs
    assert pair.moves == len(moves)
    assert pair.measured == pytest.approx(sum(map(gain, moves)))
    assert pair.promised == pytest.approx(
        sum(move.gain.promised["even"] for move in moves if move.gain)
    )


def test_groups_of_moves_that_change_nothing_demote() -> None:
    lab = Laboratory(sticks=True)
    chained(lab)
    lab.wait()
    found = [list(lab.measure().demoted)]
    for number in range(3):
        lab.move(f"pod-default-p{6 + number}-0", f"n{20 + number}")
        lab.wait()
        found.append(list(lab.measure().demoted))
    assert found == [[], [], [], ["even"]]
