"""What moves have brought is told apart from what they promised and from what changed by itself."""

import pytest

from rescheduler.model.moves.gains import GainRecord
from rescheduler.model.moves.past_move import PastMove
from tests.draws import tries
from tests.planning.measure.laboratory import EVEN, HOT, Laboratory

SEEDS = range(tries(25))
"""Of the noise."""


def record(lab: Laboratory) -> GainRecord:
    return lab.history.gains_of("even")


def brought(move: PastMove) -> float:
    assert move.gain is not None
    assert move.gain.problem == ""
    return move.gain.measured["even"]


def test_what_a_move_brings_is_what_it_promised_where_load_follows_the_pod() -> None:
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n12")
    truth = lab.truth([move])
    lab.wait()
    assert lab.measure().changed
    assert truth > 0.3
    assert brought(move) == pytest.approx(truth, rel=0.01)
    assert move.gain is not None
    assert move.gain.promised["even"] == pytest.approx(truth, rel=0.01)


def test_a_policy_that_helps_keeps_its_mode() -> None:
    lab = Laboratory()
    found = lab.rounds(HOT)
    assert [measurement.demoted for measurement in found] == [{}] * HOT
    assert record(lab).measured == pytest.approx(record(lab).promised, rel=0.1)
    assert len(record(lab).pairs) == HOT


def test_a_policy_whose_moves_change_nothing_is_demoted_after_the_sample() -> None:
    lab = Laboratory(sticks=True)
    found = lab.rounds(10)
    assert [list(measurement.demoted) for measurement in found] == [[]] * 9 + [["even"]]
    assert found[-1].demoted["even"].code == "MSR001"
    assert record(lab).demoted_at(lab.now)


def test_load_that_falls_by_itself_is_no_success_and_demotes_nobody() -> None:
    lab = Laboratory()

    def fall(_: int) -> None:
        lab.scale = 0.4

    def rise() -> None:
        lab.scale = 1.0

    for number in range(HOT):
        rise()
        move = lab.move(f"pod-default-p{number}-0", f"n{HOT + number}")
        fall(number)
        lab.wait()
        assert lab.measure().demoted == {}
        assert abs(brought(move)) < 0.05
        assert move.gain is not None
        assert move.gain.neutral == ["even"]
    assert record(lab).pairs == []


def test_a_share_of_the_load_that_falls_is_not_counted_as_gain() -> None:
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n12")
    lab.scale = 0.85
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert brought(move) == pytest.approx(truth, rel=0.1)


def test_truth_is_met_for_moves_that_share_nodes() -> None:
    lab = Laboratory()
    moves = lab.move_together([("pod-default-p0-0", "n12"), ("pod-default-p0-1", "n13")])
    lab.wait(4)
    moves += lab.move_together([("pod-default-p1-0", "n13"), ("pod-default-p2-0", "n14")])
    truth = lab.truth(moves)
    lab.wait()
    lab.measure()
    assert sum(map(brought, moves)) == pytest.approx(truth, rel=0.02)


def test_a_pod_that_goes_back_to_its_node_has_gained_nothing() -> None:
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n0", expected={"n12": 0.9, "n0": 0.1})
    lab.wait()
    lab.measure()
    assert brought(move) == pytest.approx(0.0, abs=1e-6)
    assert move.gain is not None
    assert move.gain.promised["even"] > 0.3


def test_noise_demotes_no_policy_that_helps() -> None:
    demoted = 0
    for seed in SEEDS:
        lab = Laboratory(noise=0.2, seed=seed)
        demoted += any(measurement.demoted for measurement in lab.rounds(4 * HOT))
    assert demoted == 0


def test_a_policy_that_changes_nothing_is_found_out_in_spite_of_noise() -> None:
    found = 0
    for seed in SEEDS:
        lab = Laboratory(noise=0.2, seed=seed, sticks=True)
        found += any(measurement.demoted for measurement in lab.rounds(4 * HOT))
    assert found >= 0.8 * len(SEEDS)


assert EVEN.name == "even"
