"""Compiled loops: what they keep is what rules and kernels would count anew."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from rescheduler.planning.improve.allotted import Allotted
from rescheduler.planning.improve.annealed import annealed
from rescheduler.planning.improve.annealing import Annealing, Task
from rescheduler.planning.improve.loops import annealing as loop
from rescheduler.planning.improve.loops.run import Loops
from rescheduler.planning.improve.loops.state import state_of
from rescheduler.planning.improve.partners import Partners
from rescheduler.planning.improve.placement import Placement, Priced
from rescheduler.planning.improve.rules import Apart
from tests.bench import roadef_files as files
from tests.planning.improve import drawn_challenge, drawn_gpus, drawn_traffic
from tests.planning.improve.test_improve import placement as challenge


def of_challenge(folder: Path, seed: int) -> Placement:
    made, _ = challenge(files.read(*drawn_challenge.write(folder, seed)))
    return made


def of_traffic(folder: Path, seed: int) -> Placement:
    return drawn_traffic.placement(drawn_traffic.write(folder, seed))


def with_allowances(folder: Path, seed: int) -> Placement:
    made = of_challenge(folder, seed)
    share = (np.arange(len(made.home)) % 2).astype(np.int32)
    left = np.array([1, 2], dtype=np.int32)
    rules = [*made.rules, Allotted(share, left, made.home, made.where)]
    every = np.ones(len(made.home), dtype=np.bool_)
    return Placement(made.home, every, len(made.nodes), made.kernels, rules, made.price + 0.2)


def loops(made: Placement, most: int, steps: int, seed: int = 1, heat: float = 1.0) -> Loops:
    state = state_of(made)
    assert state is not None
    random = np.random.default_rng(seed)
    return Loops(Task(made, most, [0.5], random, lambda done: done / steps, heat), state)


def arrays(part: object) -> dict[str, Any]:
    return {name: value for name, value in vars(part).items() if isinstance(value, np.ndarray)}


MADE = [of_challenge, of_traffic, with_allowances]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("make", MADE)
def test_what_loops_leave_behind_is_what_moves_one_by_one_do(
    tmp_path: Path, make: Callable[[Path, int], Placement], seed: int
) -> None:
    made, again = make(tmp_path, seed), make(tmp_path, seed)
    most = 1 + seed % 4 if seed % 3 else len(made.movable)
    run = loops(made, most, steps=100, heat=10.0)
    run.run()
    moved = np.flatnonzero(made.where != made.home).tolist()
    assert list(made.moved) == moved
    assert len(moved) <= most
    assert run.best == pytest.approx(made.cost(), abs=1e-9)
    for pod in moved:
        again.move(pod, int(made.where[pod]))
    kernels = zip((e.kernel for e in made.kernels), (e.kernel for e in again.kernels), strict=True)
    for one, other in (*kernels, *zip(made.rules, again.rules, strict=True)):
        its = arrays(other)
        for name, value in arrays(one).items():
            np.testing.assert_allclose(value, its[name], atol=1e-9, err_msg=f"{one} {name}")


@pytest.mark.parametrize("make", MADE)
def test_the_cost_is_kept_move_by_move_and_rules_hold_on_the_way(
    tmp_path: Path, make: Callable[[Path, int], Placement]
) -> None:
    made_moves = 0
    for seed in range(15):
        made = make(tmp_path, seed)
        run = loops(made, len(made.movable), steps=1)
        for _ in range(40):
            run._anneal(50, 0.3)
            made.settle()
            amounts = run._counters.amounts
            assert amounts[loop.COST] == pytest.approx(made.cost(), abs=1e-9)
            assert run._counters.numbers[loop.AWAY] == len(made.moved)
            assert np.all(run._state.rules.allotted.left >= 0)
            for rule in made.rules:
                for name in ("free", "_missing"):
                    assert np.all(getattr(rule, name, np.zeros(1)) >= 0), name
                if isinstance(rule, Apart):
                    assert np.all(rule._count[1:] <= 1)
        made_moves += int(run._counters.numbers[loop.MADE])
    assert made_moves > 500


@pytest.mark.parametrize("fault", [ImportError("llvmlite"), OSError("no space left")])
def test_where_loops_cannot_be_compiled_it_is_by_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(Loops, "compile", Mock(side_effect=fault))
    random = np.random.default_rng(1)
    task = Task(of_challenge(tmp_path, 1), 2, [1.0], random, lambda _: 1.0)
    run = annealed(task)
    assert type(run) is Annealing


def test_all_placements_are_of_one_sort_for_the_compiler(tmp_path: Path) -> None:
    for make in MADE:
        loops(make(tmp_path, 1), 2, steps=1).run()
    assert len(loop.anneal.signatures) == 1  # type: ignore[attr-defined]


def test_being_away_costs_more_while_too_many_are(tmp_path: Path) -> None:
    dearer = 0
    for seed in range(20):
        run = loops(of_challenge(tmp_path, seed), 1, steps=100)
        run._anneal(3_000, 50.0)
        dearer += run._counters.amounts[loop.PRICE] > 2 * run._worth
    assert dearer > 3


def test_what_has_no_arrays_is_annealed_as_before(tmp_path: Path, both_ways: str) -> None:
    def sort(made: Placement, most: int) -> type:
        random = np.random.default_rng(1)
        return type(annealed(Task(made, most, [1.0], random, lambda _: 1.0)))

    traffic, some = of_traffic(tmp_path, 1), of_challenge(tmp_path, 1)
    compiled = both_ways == "loops"
    assert sort(some, 2) is (Loops if compiled else Annealing)
    assert sort(traffic, len(traffic.movable)) is (Loops if compiled else Partners)
    assert sort(traffic, 2) is (Loops if compiled else Annealing)
    twice: list[Priced] = [*some.kernels, *some.kernels]
    doubled = Placement(some.home, some.where >= 0, len(some.nodes), twice, some.rules, some.price)
    assert sort(doubled, 2) is Annealing
    assert sort(drawn_gpus.placement(1), 2) is Annealing
