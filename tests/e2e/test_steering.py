"""Steered by the API server itself: the least evictions, each to its place, nothing left over."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.killed_runs import killed_before_its_eviction
from tests.e2e.load_scenarios import LoadScenario, hot_gpus, unwanted_calm
from tests.e2e.loop import (
    USER,
    WINDOW,
    Json,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program
from tests.e2e.steering import entries, install_policy, open_times, steered, told

pytestmark = pytest.mark.e2e


def repair(cluster: Cluster, loop: Loop, scenario: LoadScenario) -> list[Json]:
    """Run until content, and assert what holds for every steered repair."""
    mark = cluster.control_plane.audit.mark()
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled(deadline=120)
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == len(moves)
    only_evictions_and_own_state(records)
    assert not breaches()
    assert not {name: load for name, load in scenario.load(cluster).items() if load > 0.5}
    for move in moves:
        assert move["landedOn"] not in scenario.hot, move
        if move["steered"] is not None:
            assert move["landedOn"] in move["steered"]["nodes"], move
    assert entries(cluster) == []
    stood = sorted(open_times(records))
    assert len(stood) == len([move for move in moves if move["steered"] is not None])
    if stood:
        # So long any pod of the controller is steered; the first that is made is seen at once.
        assert stood[len(stood) // 2] < 1.5, stood
        assert stood[-1] < 5.0, stood
    return moves


def test_five_hot_gpu_nodes_of_sixty(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = hot_gpus(cluster)
    install_policy(cluster)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), steered())
    assert len(repair(cluster, Loop(actor, policies, pause=WINDOW), scenario)) == 20


def test_by_default_replacements_are_steered_by_what_is_installed(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """Unsteered, every pod would come back to a node that the scheduler likes best."""
    scenario = unwanted_calm(cluster)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())
    before = actor.run("plan", "--policies", policies, "-o", "json").json()
    (note,) = [note["message"] for note in before["notes"] if note["code"] == "STR010"]
    assert "may not read and update the table of replacements, if there is one" in note
    install_policy(cluster)
    moves = repair(cluster, Loop(actor, policies, pause=WINDOW), scenario)
    assert {move["steered"]["by"] for move in moves if move["steered"]} == {"AdmissionPolicy"}
    assert {move["steered"]["strength"] for move in moves if move["steered"]} == {"Prefer"}


def test_nodes_that_the_scheduler_likes_best(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """Unsteered, every pod would come back to one of them. The first run is killed on its way."""
    scenario = unwanted_calm(cluster)
    install_policy(cluster)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), steered("Require"))

    killed_before_its_eviction(cluster, metrics, actor, policies, tmp_path)
    (left,) = entries(cluster)
    # Whatever is left there, the next run sweeps it, and its pod is left alone for a while.
    loop = Loop(actor, policies, pause=WINDOW)
    moves = repair(cluster, loop, scenario)

    assert left.pod not in {move["pod"]["uid"] for move in moves}
    assert len(moves) == 15
    assert {pod["metadata"]["uid"] for pod in cluster.pods() if told(pod)} == {
        pod["metadata"]["uid"]
        for pod in cluster.pods()
        if pod["spec"]["nodeName"] not in scenario.hot and "lean" in pod["metadata"]["name"]
    }
