"""Annealing towards partners: within the rules, at the cost that is told, and repeatable."""

import json
from pathlib import Path

import numpy as np
import pytest

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.annealing_choice import choose_annealing
from rescheduler.planning.improve.partners import Partners, Residents
from rescheduler.planning.improve.placement import Placement
from rescheduler.policies.shared.separable_terms import Attracting, Exchanging, Kernel
from tests.bench.checkers.rasa import judge
from tests.planning.improve import drawn_traffic


def kernel(placement: Placement) -> Kernel:
    [priced] = placement.kernels
    return priced.kernel


def answered(path: Path, steps: int, seed: int = 1) -> tuple[Placement, float, float]:
    """The placement at the end, and what it costs at first and then."""
    made = drawn_traffic.placement(path)
    before, random = made.cost(), np.random.default_rng(seed)
    task = Task(made, len(made.movable), [0.1 * before], random, lambda done: done / steps)
    found = choose_annealing(task)
    assert isinstance(found, Partners) or not len(made.attracted)
    found.run()
    return made, before, found.best


def containers(path: Path) -> list[str]:
    services = json.loads(path.read_text())["ServiceList"]
    return [name for service in services for name in service["ContainerList"]]


@pytest.mark.parametrize("seed", range(20))
def test_the_judge_finds_nothing_and_the_cost_that_was_promised(tmp_path: Path, seed: int) -> None:
    path = drawn_traffic.write(tmp_path, seed)
    made, first, best = answered(path, steps=400)
    new = {name: f"m{made.where[pod]}" for pod, name in enumerate(containers(path))}
    old = {name: f"m{made.home[pod]}" for pod, name in enumerate(containers(path))}
    verdict, before = judge(path, new), judge(path, old)
    assert before.moves == 0
    assert verdict.violations == ()
    assert verdict.gained >= before.gained - 1e-9
    assert made.cost() == pytest.approx(best, abs=1e-9)
    if first:
        unit = first / (1 - before.gained)
        assert best == pytest.approx(unit * (1 - verdict.gained), abs=1e-6)


def test_the_same_is_found_again_and_more_with_more_steps(tmp_path: Path) -> None:
    better = 0
    for seed in range(12):
        path = drawn_traffic.write(tmp_path, seed)
        _, _, short = answered(path, steps=1)
        found, _, best = answered(path, steps=400)
        again, _, _ = answered(path, steps=400)
        assert np.array_equal(found.where, again.where)
        assert best <= short + 1e-9
        better += best < short - 1e-9
    assert better > 3


@pytest.mark.parametrize("seed", range(10))
def test_what_two_change_is_what_the_cost_changes(tmp_path: Path, seed: int) -> None:
    made = drawn_traffic.placement(drawn_traffic.write(tmp_path, seed))
    told, random = kernel(made), np.random.default_rng(seed)
    assert isinstance(told, Exchanging)
    pods = len(made.home)
    for _ in range(60):
        one, other = random.choice(pods, 2, replace=False).astype(np.int32)
        source, node = int(made.where[one]), int(made.where[other])
        if source == node:
            continue
        other = -1 if random.random() < 0.3 else int(other)
        both = [one] if other < 0 else [one, other]
        ends = [node, source][: len(both)]
        before = told.cost()
        [change] = told.exchange_deltas(
            *(np.array([index], dtype=np.int32) for index in (one, node, other))
        )
        told.commit_all(np.array(both, dtype=np.int32), np.array(ends, dtype=np.int32))
        made.where[both] = ends
        assert told.cost() == pytest.approx(before + change, abs=1e-9)


def test_pods_are_drawn_to_those_they_exchange_traffic_with(tmp_path: Path) -> None:
    path = drawn_traffic.write(tmp_path, 3)
    made = drawn_traffic.placement(path)
    told, random = kernel(made), np.random.default_rng(0)
    assert isinstance(told, Attracting)
    service = [name.split("-")[0] for name in containers(path)]
    pairs = {
        frozenset((pair["Service1"], pair["Service2"]))
        for pair in json.loads(path.read_text())["TrafficList"]
    }
    assert set(made.attracted.tolist()) == {
        pod for pod, own in enumerate(service) if any(own in pair for pair in pairs)
    }
    for pod in made.attracted.tolist():
        nodes = set(told.attracting_nodes(np.full(200, pod, dtype=np.int32), random).tolist())
        partners = {
            int(made.where[other])
            for other, its in enumerate(service)
            if frozenset((service[pod], its)) in pairs and its != service[pod]
        }
        assert nodes <= partners
        assert len(nodes) > len(partners) // 2


def test_residents_are_who_is_there() -> None:
    random = np.random.default_rng(5)
    where: IntArray = random.integers(6, size=20).astype(np.int32)
    residents = Residents(where, 6)
    several = 0
    for _ in range(200):
        moves = []
        for source, node in random.permutation(6).reshape(-1, 2).astype(np.int32):
            here, there = np.flatnonzero(where == source), np.flatnonzero(where == node)
            if len(here) and random.random() < 0.8:
                swapping = len(there) and random.random() < 0.5
                moves.append(
                    (random.choice(here), source, node, random.choice(there) if swapping else -1)
                )
        several += len(moves) > 1
        pods, sources, nodes, others = np.array(moves, dtype=np.int32).reshape(-1, 4).T
        residents.move(pods, sources, nodes, others)
        where[pods] = nodes
        where[others[others >= 0]] = sources[others >= 0]
        for _ in range(3):
            drawn = residents.draw_pods(np.arange(6, dtype=np.int32), random)
            for node_index, pod in enumerate(drawn.tolist()):
                assert where[pod] == node_index if pod >= 0 else not (where == node_index).any()
    assert several > 100
