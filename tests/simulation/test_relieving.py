"""A node that was hot is relieved to `low`, though every cycle moves only some of its pods."""

from collections import Counter

import pytest

from tests.simulation.loads import constant
from tests.simulation.scenario import Run, simulated

POLICIES = """
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  mode: Enforce
  match: {all: true}
  nodes: {all: true}
  targets: {cpu: {high: 60%, low: 50%}}
"""
PERIOD = 600.0


def build(cores: dict[str, float]) -> Run:
    """Eight nodes; n0 runs a pod of each of 24 workloads. cores: what each pod of some uses."""
    run = Run(1, Counter(), text=POLICIES)
    for number in range(8):
        run.cluster.add_node(f"n{number}", zone="ab"[number % 2])
    for number in range(24):
        where = ["n0", f"n{1 + number % 7}", f"n{1 + (number + 3) % 7}"]
        run.cluster.add_workload("Deployment", f"app{number}", where, cpu=0.1)
        run.metrics.loads[f"app{number}"] = constant(cores.get(f"app{number}", 0.1))
    run.cluster.pick = run.as_predicted
    run.metrics.begin()
    return run


def scrape(run: Run) -> None:
    run.metrics.scrape()
    run.cluster.timeline.after(300.0, lambda: scrape(run))


def cycles(run: Run, count: int) -> list[float]:
    """The load of n0 after each cycle, which a new process makes."""
    loads = []
    for _ in range(count):
        run.cluster.timeline.advance(PERIOD)
        run.process().run()
        run.universe.log.clear()
        loads.append(run.metrics.true_load("n0"))
    return loads


@pytest.fixture
def hot() -> dict[str, float]:
    """Loads with which n0 begins at 61.5%."""
    return {f"app{number}": 0.1 + (0.015 if number < 4 else 0.0) for number in range(24)}


def test_a_hot_node_is_relieved_to_low_over_several_cycles(hot: dict[str, float]) -> None:
    with simulated():
        run = build(hot)
        scrape(run)
        assert run.metrics.true_load("n0") > 0.6
        loads = cycles(run, 24)
        assert loads[-1] <= 0.5 + 1e-9
        # It stops there, and no other node has become hot.
        assert loads[-1] > 0.5 - 0.03
        assert max(map(run.metrics.true_load, run.metrics.exporters)) < 0.55
        moved = Counter(eviction.workload for eviction in run.ground.evicted)
        assert max(moved.values()) == 1
        before = len(run.ground.evicted)
        cycles(run, 12)
        assert len(run.ground.evicted) == before
        assert run.ground.broken == []


def test_a_node_that_was_never_hot_is_left_alone() -> None:
    with simulated():
        run = build({f"app{number}": 0.099 for number in range(24)})
        scrape(run)
        assert 0.5 < run.metrics.true_load("n0") <= 0.6
        cycles(run, 6)
        assert run.ground.evicted == []
