"""Two pods that change places, and many moves at once: what was told is what comes out.

The judge reads the challenge's files and knows nothing of ours.
"""

from pathlib import Path

import numpy as np
import pytest

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.compiled_placement import compile_placement
from rescheduler.planning.improve.placement import Placement
from tests.bench import roadef_files as files
from tests.bench.checkers.roadef import Verdict, judge
from tests.bench.running import wide
from tests.planning.improve import drawn_challenge


class Drawn:
    """A small instance, and what the judge says of where its pods are."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._files = drawn_challenge.write(folder, seed)
        instance = files.read(*self._files)
        policy, self.scale = files.policy(instance)
        copy = WorkingCopy(files.cluster(instance), [policy], wide(9), History())
        made = compile_placement(copy)
        assert isinstance(made, Placement), made
        self.placement = made

    def judged(self, where: IntArray) -> Verdict:
        out = self._folder / "new.txt"
        out.write_text(" ".join(map(str, where.tolist())))
        return judge(*self._files, out)


def pairs(placement: Placement) -> tuple[IntArray, IntArray, IntArray]:
    """Every pod to every other node, with nobody or with each pod that is there."""
    rows = [
        (pod, node, other)
        for pod in placement.movable.tolist()
        for node in placement.nodes.tolist()
        if node != placement.where[pod]
        for other in [-1, *np.flatnonzero(placement.where == node).tolist()]
    ]
    made = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return made[:, 0], made[:, 1], made[:, 2]


def after(placement: Placement, pod: int, node: int, other: int) -> IntArray:
    where = placement.where.copy()
    if other >= 0:
        where[other] = where[pod]
    where[pod] = node
    return where


@pytest.mark.parametrize("seed", range(12))
def test_an_exchange_changes_what_it_promised_and_breaks_no_rule(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(tmp_path, seed)
    placement = drawn.placement
    start = placement.cost()
    pods, nodes, others = pairs(placement)
    changes = placement.exchange_deltas(pods, nodes, others)
    more = placement.displacement(pods, nodes, others)
    admitted = placement.admits(pods, nodes, others)
    for place in range(len(pods)):
        triple = int(pods[place]), int(nodes[place]), int(others[place])
        verdict = drawn.judged(after(placement, *triple))
        assert (start + changes[place]) * drawn.scale == pytest.approx(verdict.cost, abs=1e-6)
        assert more[place] == verdict.moves
        one = slice(place, place + 1)
        if admitted[place] and len(placement.compatible_moves(pods[one], nodes[one], others[one])):
            assert verdict.violations == (), triple


def test_exchanges_are_admitted_where_no_pod_could_go_by_itself(tmp_path: Path) -> None:
    found = 0
    for seed in range(20):
        placement = Drawn(tmp_path, seed).placement
        pods, nodes, others = pairs(placement)
        nobody = np.full(len(pods), -1, dtype=np.int32)
        alone = placement.admits(pods, nodes, nobody)
        found += int((placement.admits(pods, nodes, others) & ~alone & (others >= 0)).sum())
    assert found > 20


@pytest.mark.parametrize("seed", range(40))
def test_what_is_moved_together_keeps_the_rules_and_the_cost(tmp_path: Path, seed: int) -> None:
    drawn = Drawn(tmp_path, seed)
    placement = drawn.placement
    random = np.random.default_rng(seed)
    cost = placement.cost()
    for _ in range(15):
        pods, nodes, others = pairs(placement)
        order = random.permutation(len(pods))
        pods, nodes, others = pods[order], nodes[order], others[order]
        some = np.flatnonzero(placement.admits(pods, nodes, others))
        some = some[placement.compatible_moves(pods[some], nodes[some], others[some])]
        if not len(some):
            continue
        cost += float(placement.exchange_deltas(pods[some], nodes[some], others[some]).sum())
        placement.move_all(pods[some], nodes[some], others[some])
        verdict = drawn.judged(placement.where)
        assert verdict.violations == ()
        assert placement.cost() == pytest.approx(cost)
        assert placement.cost() * drawn.scale == pytest.approx(verdict.cost, abs=1e-6)
        assert len(placement.moved) == verdict.moves


def test_several_moves_are_made_at_once(tmp_path: Path) -> None:
    most = 0
    for seed in range(20):
        placement = Drawn(tmp_path, seed).placement
        pods, nodes, others = pairs(placement)
        some = np.flatnonzero(placement.admits(pods, nodes, others))
        made = some[placement.compatible_moves(pods[some], nodes[some], others[some])]
        ends = [*placement.where[pods[made]].tolist(), *nodes[made].tolist()]
        assert len(set(ends)) == len(ends)
        most = max(most, len(made))
    assert most > 1
