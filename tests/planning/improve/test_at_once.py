"""Runs at once: the best is kept, whichever is done first, and all that hangs on it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.at_once import annealed_at_once
from rescheduler.planning.improve.placement import Placement
from tests.planning.improve.test_loops import MADE, arrays, of_challenge


def ended(made: Placement, runs: int, seed: int, most: int) -> tuple[float, list[int]]:
    random = np.random.default_rng(seed)
    annealed_at_once(Task(made, most, [0.5], random, lambda done: done / 3), runs)
    return made.cost(), made.where.tolist()


def test_the_best_of_runs_is_kept_and_twice_the_same(tmp_path: Path) -> None:
    better = 0
    for make in MADE:
        for seed in range(20):
            most = 2 if seed % 2 else len(make(tmp_path, seed).movable)
            alone, _ = ended(make(tmp_path, seed), 1, seed, most)
            found = [ended(make(tmp_path, seed), 3, seed, most) for _ in range(2)]
            assert found[0] == found[1]
            assert found[0][0] <= alone + 1e-9
            better += found[0][0] < alone - 1e-9
    assert better > 2


@pytest.mark.parametrize("make", MADE)
def test_the_placement_is_as_if_pods_had_moved_one_by_one(
    tmp_path: Path, make: Callable[[Path, int], Placement]
) -> None:
    for seed in range(12):
        made, again = make(tmp_path, seed), make(tmp_path, seed)
        ended(made, 3, seed, 2)
        assert list(made.moved) == np.flatnonzero(made.where != made.home).tolist()
        assert len(made.moved) <= 2
        for pod in made.moved:
            again.move(pod, int(made.where[pod]))
        pairs = zip(
            (e.kernel for e in made.kernels), (e.kernel for e in again.kernels), strict=True
        )
        for one, other in (*pairs, *zip(made.rules, again.rules, strict=True)):
            its = arrays(other)
            for name, value in arrays(one).items():
                np.testing.assert_allclose(value, its[name], atol=1e-9, err_msg=f"{one} {name}")


def test_by_arrays_there_is_one(tmp_path: Path, both_ways: str) -> None:
    alone, where = ended(of_challenge(tmp_path, 3), 1, 3, 2)
    found, there = ended(of_challenge(tmp_path, 3), 3, 3, 2)
    assert found <= alone + 1e-9
    if both_ways == "arrays":
        assert there == where
