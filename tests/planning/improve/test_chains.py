"""Chains in compiled loops: what they change is told right, and rules hold."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rescheduler.planning.improve.loops import chains
from rescheduler.planning.improve.loops.run import Loops
from rescheduler.planning.improve.loops.tables import Drawn
from rescheduler.planning.improve.placement import Placement
from tests.bench import roadef_files as files
from tests.planning.improve.test_improve import placement
from tests.planning.improve.test_loops import MADE, loops

_FREELY = 1e9


def drawn(run: Loops) -> Drawn:
    made = run._placement
    return Drawn(run._pool, run._attracted, made.movable, made.nodes, *run._slots)


def chained(run: Loops, pod: int, there: int, most_accepted: float) -> tuple[int, float, int]:
    made = run._placement
    here = int(made.where[pod])
    out, change, turned = chains.begun(
        run._chance, run._state, drawn(run), 0.0, most_accepted, pod, here, there
    )
    made.settle()
    return int(out), float(change), int(turned)


@pytest.mark.parametrize("make", MADE)
def test_a_chain_changes_what_it_says_and_moves_two(
    tmp_path: Path, make: Callable[[Path, int], Placement]
) -> None:
    chance, found = np.random.default_rng(1), 0
    for seed in range(40):
        made = make(tmp_path, seed)
        if not len(made.movable):
            continue
        run = loops(made, len(made.movable), steps=1)
        for _ in range(20):
            pod, there = int(chance.choice(made.movable)), int(chance.choice(made.nodes))
            before, cost, away = made.where.copy(), made.cost(), len(made.moved)
            if there == before[pod]:
                continue
            out, change, turned = chained(run, pod, there, _FREELY)
            if out < 0:
                assert np.array_equal(made.where, before)
                assert made.cost() == pytest.approx(cost, abs=1e-9)
                continue
            found += 1
            assert made.cost() - cost == pytest.approx(change, abs=1e-9)
            assert len(made.moved) - away == turned
            assert set(np.flatnonzero(made.where != before).tolist()) == {pod, out}
            assert (made.where[pod], before[out]) == (there, there)
            assert made.where[out] != before[pod]
            for rule in made.rules:
                for name in ("free", "_missing"):
                    assert np.all(getattr(rule, name, np.zeros(1)) >= 0), name
            run._begin()
    assert found > 20


def full(folder: Path) -> Placement:
    """One pod is where nothing should be, and the node that it could go to is full.

    Of the two there each may go to a third node, which the first may not.
    """
    rooms = [(4, 4), (4, 4), (4, 0)]
    safe = [(4, 0), (4, 4), (4, 0)]
    words: list[int] = [2, 0, 1, 0, 10, len(rooms)]
    for number, (room, its) in enumerate(zip(rooms, safe, strict=True)):
        words += [number, number, *room, *its, 0, 0, 0]
    words += [3, 0, 0, 0, 0, 0, 0]
    words += [3, 0, 2, 2, 0, 1, 2, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0]
    model, assignment = folder / "model.txt", folder / "assignment.txt"
    model.write_text(" ".join(map(str, words)))
    assignment.write_text("0 1 1")
    made, _ = placement(files.read(model, assignment))
    return made


def test_room_is_made_where_no_move_and_no_swap_gains(tmp_path: Path) -> None:
    made = full(tmp_path)
    run = loops(made, 2, steps=1)
    assert made.cost() > 0.0
    run._anneal(1_000, 1e-6)
    made.settle()
    assert made.cost() == pytest.approx(0.0, abs=1e-9)
    assert sorted(made.where[[1, 2]].tolist()) == [1, 2]


def test_a_chain_that_costs_too_much_is_not_made(tmp_path: Path) -> None:
    made = full(tmp_path)
    run, cost = loops(made, 2, steps=1), made.cost()
    assert chained(run, 0, 1, -cost - 1e-6)[0] == -1
    assert made.where.tolist() == made.home.tolist()
    assert chained(run, 0, 1, -cost + 1e-6)[0] in {1, 2}
