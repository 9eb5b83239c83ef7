"""Hinges of many pods at once say what those of few say."""

import numpy as np
import pytest

from rescheduler.kube.arrays import IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared import hinges
from rescheduler.policies.shared.hinges import Hinges


@pytest.mark.parametrize("rows", [1, 7, 1 << 15])
def test_coming_adds_the_same_for_many_as_for_few(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    chance = np.random.default_rng(rows)
    parts = chance.normal(size=(30, 4))
    slack = chance.uniform(0.0, 3.0, size=(9, 4))
    slack[2] = np.inf
    where = chance.integers(-1, 9, size=30).astype(np.int32)
    made = Hinges(parts, slack, where, np.ones(30, dtype=np.bool_))
    pods, nodes = np.arange(30, dtype=np.int32)[::2], np.arange(9, dtype=np.int32)[::-1]
    few = made.arrival_deltas(pods, nodes)
    monkeypatch.setattr(hinges, "_FEW", 0)
    monkeypatch.setattr(hinges, "_WIDE", 0)
    monkeypatch.setattr(hinges, "_ROWS", rows)
    assert made.arrival_deltas(pods, nodes) == pytest.approx(few, abs=1e-12)
    assert few.max() > 0.1


class Renewed:
    """Twelve pods, two thirds of which add something else away from home; `where` they are now."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.parts, self.away = self.chance.normal(1.0, 1.0, size=(2, 12, 3))
        self.away[::3] = self.parts[::3]
        self.slack = self.chance.uniform(0.0, 3.0, size=(5, 3))
        self.home = self.chance.integers(0, 5, size=12).astype(np.int32)
        self.home[-1] = -1
        self.where = self.home.copy()
        movable = np.ones(12, dtype=np.bool_)
        self.made = Hinges(self.parts, self.slack, self.home, movable, self.away, self.home)

    def change(self, *moves: tuple[int, int]) -> float:
        """What these moves change, by the sums of all nodes."""
        moved = self.where.copy()
        for pod, node in moves:
            moved[pod] = node
        return self._cost(moved) - self._cost(self.where)

    def _cost(self, where: IntArray) -> float:
        over = -self.slack
        for pod, node in enumerate(where.tolist()):
            if node >= 0:
                over[node] += (self.parts if node == self.home[pod] else self.away)[pod]
        return float(np.maximum(over, 0.0).sum())

    def commit(self, pod: int, node: int) -> None:
        before = self.made.cost(), self.change((pod, node))
        self.made.commit(Shift(pod, int(self.where[pod]), node))
        self.where[pod] = node
        assert self.made.cost() == pytest.approx(sum(before), abs=1e-9)


def ones(*numbers: int) -> tuple[IntArray, ...]:
    return tuple(np.array([number], dtype=np.int32) for number in numbers)


@pytest.mark.parametrize("wide", [0, 1 << 13])
def test_a_pod_adds_on_other_nodes_what_its_replacement_does(
    monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    monkeypatch.setattr(hinges, "_FEW", wide)
    monkeypatch.setattr(hinges, "_WIDE", 0)
    found = Renewed(3)
    for pod, node in found.chance.integers((12, 5), size=(40, 2)).tolist():
        found.commit(pod, node)
        gone = found.change((pod, -1))
        assert float(found.made.departure_deltas(*ones(pod))[0]) == pytest.approx(gone, abs=1e-9)
        found.commit(pod, -1)
        one, everywhere = ones(pod)[0], np.arange(5, dtype=np.int32)
        coming = found.made.arrival_deltas(one, everywhere)[0]
        added = [found.change((pod, there)) for there in range(5)]
        assert coming == pytest.approx(added, abs=1e-9)
        if found.home[pod] >= 0:
            found.commit(pod, int(found.chance.integers(5)))


def test_pods_that_change_places_add_there_what_their_replacements_do() -> None:
    found, exchanged = Renewed(4), 0
    for pod, other in found.chance.integers(11, size=(60, 2)).tolist():
        here, there = int(found.where[pod]), int(found.where[other])
        if here == there:
            found.commit(pod, (here + 1) % 5)
            continue
        change = found.change((pod, there), (other, here))
        asked = float(found.made.exchange_deltas(*ones(pod, there, other))[0])
        assert asked == pytest.approx(change, abs=1e-9)
        before = found.made.cost()
        both = np.array([pod, other], dtype=np.int32)
        found.made.commit_all(both, np.array([there, here], dtype=np.int32))
        found.where[both] = there, here
        assert found.made.cost() == pytest.approx(before + change, abs=1e-9)
        exchanged += 1
    assert exchanged > 20
