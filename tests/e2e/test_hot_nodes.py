"""Hot nodes are repaired with few moves, each of which lands where it was said to land."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import Load
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import LoadScenario, hot_gpus, hot_nodes
from tests.e2e.loop import (
    USER,
    WINDOW,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def repair(
    cluster: Cluster, metrics: Metrics, actor: Program, scenario: LoadScenario, policies: Path
) -> Loop:
    """Run until content, and assert what holds for every repair."""
    metrics.warm(2 * WINDOW)
    assert max(scenario.load(cluster).values()) > 0.5
    loop = Loop(actor, policies, pause=WINDOW)
    mark = cluster.control_plane.audit.mark()
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled()
    records = cluster.control_plane.audit.since(mark)
    accepted = [r for r in records.evictions(by=USER) if r.code == 201]
    assert len(accepted) == len(moves)
    only_evictions_and_own_state(records)
    assert not breaches()
    assert not {name: load for name, load in scenario.load(cluster).items() if load > 0.5}
    for move in moves:
        predicted = {share["node"] for share in move["landing"]}
        assert move["landedOn"] in predicted, move
        assert move["landedOn"] not in scenario.hot, move
        assert move["node"] in scenario.hot, move
        assert move["readySeconds"] >= 0  # Ready is told in whole seconds
    return loop


def test_five_hot_gpu_nodes_of_sixty(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = hot_gpus(cluster)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())

    loop = repair(cluster, metrics, actor, scenario, policies)

    assert 20 <= len(loop.evicted()) <= 22


def test_hot_cpu_where_requests_look_balanced(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = hot_nodes(cluster, Load(cpu=4.9, memory=1 << 30), use=4.9, capacity=64)
    scenario.base = 1 / 64
    policies = write_policies(tmp_path / "policies", utilization(cpu="50%"), swift())

    loop = repair(cluster, metrics, actor, scenario, policies)

    assert 12 <= len(loop.evicted()) <= 14


def test_hot_network_where_requests_look_balanced(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    busy = Load(cpu=0.5, transmit=0.95e8, receive=0.2e8)
    scenario = hot_nodes(cluster, busy, use=0.95e8, capacity=1.25e9)
    policies = write_policies(tmp_path / "policies", utilization(network="50%"), swift())

    loop = repair(cluster, metrics, actor, scenario, policies)

    assert 12 <= len(loop.evicted()) <= 14
