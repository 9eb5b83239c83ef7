"""The descent, beside asking all pods of all nodes before each move."""

import numpy as np
import pytest

from rescheduler.planning.improve import descent
from rescheduler.planning.improve.beside import Beside
from rescheduler.planning.improve.descent import Descent
from rescheduler.planning.improve.placement import NOTHING, Placement, Priced
from rescheduler.planning.improve.rules import Apart, Room, Rule
from rescheduler.policies.shared.hinges import Hinges


def drawn(seed: int, nodes: int = 12, pods: int = 80) -> Placement:
    """Tight nodes, some of them crowded, targets and a balance that some pods mend."""
    chance = np.random.default_rng(seed)
    crowded = chance.integers(nodes, size=pods)
    home = np.where(chance.random(pods) < 0.5, crowded % (nodes // 3), crowded).astype(np.int32)
    demands = chance.integers(1, 9, size=(pods, 2)).astype(np.float64)
    used = np.zeros((nodes, 2))
    np.add.at(used, home, demands)
    free = chance.integers(0, 30, size=(nodes, 2)).astype(np.float64)
    target = (used + free) * chance.uniform(0.3, 0.8, size=(nodes, 2))
    parts = np.column_stack([demands, demands[:, 0] - demands[:, 1]])
    slack = np.column_stack([target, chance.uniform(0.0, 5.0, size=nodes)])
    movable = chance.random(pods) < 0.9
    kernel = Hinges(parts, slack, home, movable)
    group = chance.integers(-1, 40, size=pods).astype(np.int32)
    rules: list[Rule] = [
        Room(demands, free, np.array([False, True]), home),
        Apart(group, nodes, home),
    ]
    return Placement(home, movable, nodes, [Priced(kernel, 0.5)], rules, chance.random(pods) / 4)


def confined(seed: int) -> Placement:
    """The same, where some pods may only be where others are, and a resource is kept at home."""
    chance, made = np.random.default_rng(seed), drawn(seed, 40, 200)
    domain = (np.arange(40) // 5).astype(np.int32)
    group = chance.integers(-1, 12, size=200).astype(np.int32)
    needs = np.array([[0, 1], [1, 2], [3, 1], [4, 5], [4, 6]], dtype=np.int32)
    rules: list[Rule] = [*made.rules, Beside(group, needs, domain, made.home)]
    return Placement(made.home, np.ones(200, dtype=np.bool_), 40, made.kernels, rules, made.price)


def best(placement: Placement, most: int) -> float:
    """What the best single move changes, 0 if none gains."""
    pods = placement.movable
    if len(placement.moved) >= most:
        pods = np.array(sorted(placement.moved), dtype=np.int32)
    changes = placement.leaving(pods)[:, None] + placement.arriving(pods, placement.nodes)
    least = float(changes.min(initial=0.0))
    return least if least < -NOTHING else 0.0


@pytest.mark.parametrize("listed", [1, 3, 8])
def test_lists_and_bounds_find_the_best_move_each_time(
    monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(descent, "_LISTED", listed)
    monkeypatch.setattr(descent, "_TRIED", listed)
    moves = 0
    for seed in range(15):
        made, most = drawn(seed), 10 + 3 * seed
        running = Descent(made, made.movable, most).run()
        while True:
            expected = best(made, most)
            found = float(np.sum(next(running, 0.0)))
            assert found == pytest.approx(expected)
            if not found:
                break
            moves += 1
        assert len(made.moved) <= most
    assert moves > 150


@pytest.mark.parametrize("near", [1, 1_000])
def test_moves_at_once_change_together_what_each_is_said_to_change(
    monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    monkeypatch.setattr(descent, "_NODES_OF_MOVE", 3)
    monkeypatch.setattr(descent, "_LISTED", 2)
    monkeypatch.setattr(descent, "_NEAR", near)
    monkeypatch.setattr(descent, "_RENEW", 1)
    together = 0
    for seed in range(15):
        made = drawn(seed)
        before = made.cost()
        for changes in Descent(made, made.movable, 20).run():
            assert (changes < 0.0).all()
            assert made.cost() == pytest.approx(before + changes.sum())
            before = made.cost()
            together += len(changes) > 1
        assert len(made.moved) <= 20
    assert together > 20


def test_few_pods_are_asked_where_few_may_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "_ASKED", 1)
    asked = 0
    for seed in range(5):
        made = drawn(seed, nodes=40, pods=800)
        running = Descent(made, made.movable, 3)
        expected = best(made, 3)
        assert next(running.run()) == pytest.approx(expected)
        asked += int(running._asked.sum())
    assert asked < 0.5 * 5 * 700


@pytest.mark.parametrize("pairs", [1, 1 << 16])
@pytest.mark.parametrize("tried", [1, 4, 32])
def test_who_may_come_to_few_nodes_is_told_the_best_of_them(
    monkeypatch: pytest.MonkeyPatch, pairs: int, tried: int
) -> None:
    monkeypatch.setattr(descent, "_PAIRS", pairs)
    monkeypatch.setattr(descent, "_TRIED", tried)
    monkeypatch.setattr(descent, "_LISTED", 2)
    few = 0
    for seed in range(8):
        made = confined(seed)
        for pod, to in ((0, 7), (3, 20), (9, 33)):  # some are no longer at home
            made.move(pod, to)
        running = Descent(made, made.movable, 20)
        places = np.arange(len(made.movable))[::-1]
        few += len(made.confined(made.movable, 10)[0])
        running._ask(places)
        table = made.arriving(made.movable, made.nodes)
        known = np.isfinite(running._values)
        rows, columns = np.nonzero(known)
        told = table[rows, running._nodes[rows, columns]]
        assert running._values[known] == pytest.approx(told)
        table[rows, running._nodes[rows, columns]] = np.inf
        assert (table.min(axis=1) >= running._bound - NOTHING).all()
        finite = np.isfinite(made.arriving(made.movable, made.nodes)).any(axis=1)
        assert (np.isfinite(running._best) | ~finite).all()
    assert few > 100
