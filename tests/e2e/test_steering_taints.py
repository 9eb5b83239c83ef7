"""Steered by soft taints: each replacement where it was predicted to land, and no taint left."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.moves.taint_value import read
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.killed_runs import killed_before_its_eviction
from tests.e2e.load_scenarios import LoadScenario, unwanted_calm
from tests.e2e.loop import (
    USER,
    WINDOW,
    Json,
    Loop,
    budgets_watched,
    install,
    only_evictions_and_own_state,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import ROOT, Program

pytestmark = pytest.mark.e2e

COMPONENT = ROOT / "deploy" / "kustomize" / "steering-taint"
THEIRS = {"key": "tier", "value": "soon", "effect": "PreferNoSchedule"}
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "m", "uid": "m-1"}
"""The garbage collector leaves a node alone whose owner is of a kind that it does not know."""
STEERED = "  steering: {by: SoftTaint}\n"


def tainted(cluster: Cluster) -> dict[str, str]:
    """The nodes that bear our taint, with its value."""
    return {
        node["metadata"]["name"]: taint.get("value", "")
        for node in cluster.api.items("v1", "Node")
        for taint in node["spec"].get("taints", [])
        if (taint["key"], taint["effect"]) == (SOFT_TAINT.key, SOFT_TAINT.effect)
    }


def taint_all(cluster: Cluster) -> None:
    """Every node bears a taint of somebody else, so that it changes no score."""
    for node in cluster.api.items("v1", "Node"):
        cluster.api.patch(node, {"spec": {"taints": [*node["spec"].get("taints", []), THEIRS]}})


def repair(cluster: Cluster, loop: Loop, scenario: LoadScenario) -> list[Json]:
    """Run until content, and assert what holds for every repair that taints steer."""
    mark = cluster.control_plane.audit.mark()
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled(deadline=120)
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == len(moves)
    only_evictions_and_own_state(records, "nodes")
    assert not breaches()
    assert not {name: load for name, load in scenario.load(cluster).items() if load > 0.5}
    for move in moves:
        assert move["landedOn"] in {share["node"] for share in move["landing"]}, move
        assert move["landedOn"] not in scenario.hot, move
        assert move["node"] in move["steered"]["shunned"], move
    assert tainted(cluster) == {}
    for node in cluster.api.items("v1", "Node"):
        assert THEIRS in node["spec"]["taints"], node["metadata"]["name"]
    return moves


def test_hot_gpu_nodes_that_the_scheduler_likes_best(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """Unsteered, every pod would come back to one of them. The first run is killed on its way."""
    scenario = unwanted_calm(cluster)
    taint_all(cluster)
    apply_manifests(cluster.api, [COMPONENT])
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift() + STEERED)

    killed_before_its_eviction(cluster, metrics, actor, policies, tmp_path)
    left = tainted(cluster)
    assert left
    assert set(left) & set(scenario.hot)
    assert all(read(value) for value in left.values())
    # Whatever is left there, the next run sweeps it, and its pod is left alone for a while.
    moves = repair(cluster, Loop(actor, policies), scenario)
    assert len(moves) == 15


@pytest.fixture
def owned(cluster: Cluster) -> Iterator[Json]:
    """A node with an owner and a finalizer, which must not stay when it is deleted."""
    cluster.create(*nodes(1, cpu=16))
    (node,) = cluster.api.items("v1", "Node")
    metadata = {"finalizers": ["a.io/f"], "ownerReferences": [OWNER]}
    yield cluster.api.patch(node, {"metadata": metadata})
    cluster.api.patch(node, {"metadata": {"finalizers": None}})


@pytest.mark.usefixtures("owned")
def test_the_account_may_change_nothing_of_a_node_but_that_taint(
    cluster: Cluster, tmp_path: Path
) -> None:
    ours = connect(install(cluster, "enforce-cronjob", tmp_path))
    taint_all(cluster)
    mine = {"key": SOFT_TAINT.key, "effect": SOFT_TAINT.effect, "value": "fence-1.until-x"}

    assert "forbidden" in refused(ours, cluster, {"spec": {"taints": [THEIRS, mine]}})
    apply_manifests(cluster.api, [COMPONENT])
    # Until the policy takes effect, each try changes something.
    tries = count()
    cluster.until(
        lambda: "the rescheduler" in refused(ours, cluster, labelled(next(tries))), "the policy", 60
    )
    for change in (
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [mine]}},
        {"spec": {"taints": [THEIRS, {"key": "x", "effect": "PreferNoSchedule"}]}},
        {"spec": {"taints": [THEIRS, {**mine, "effect": "NoSchedule"}]}},
        {"spec": {"taints": [THEIRS, {**mine, "effect": "NoExecute"}]}},
        {"spec": {"taints": [{**THEIRS, "value": "now"}]}},
        {"spec": {"taints": [THEIRS, {**mine, "value": "mine"}]}},
        labelled(-1),
        {"metadata": {"annotations": {"note": "ours"}}},
        {"metadata": {"finalizers": ["b.io/f"]}},
        {"metadata": {"finalizers": ["a.io/f", "b.io/f"]}},
        {"metadata": {"finalizers": None}},
        {"metadata": {"ownerReferences": [{**OWNER, "uid": "other"}]}},
        {"metadata": {"ownerReferences": [{**OWNER, "blockOwnerDeletion": True}]}},
        {"metadata": {"ownerReferences": None}},
        {"metadata": {"generateName": "n"}},
    ):
        assert "the rescheduler" in refused(ours, cluster, change), change
    assert refused(ours, cluster, {"spec": {"taints": [THEIRS, mine]}}) == ""
    assert tainted(cluster)
    assert refused(ours, cluster, {"spec": {"taints": [THEIRS]}}) == ""
    assert tainted(cluster) == {}
    # Nobody else is held by it.
    (node,) = cluster.api.items("v1", "Node")
    cluster.api.patch(node, {"spec": {"unschedulable": True}})


def labelled(number: int) -> dict[str, Any]:
    return {"metadata": {"labels": {"number": f"n{number}"}}}


def refused(api: Api, cluster: Cluster, change: dict[str, Any]) -> str:
    """What the API server says against this patch of the node; "" where it does not."""
    (node,) = cluster.api.items("v1", "Node")
    try:
        api.patch(node, change)
    except ApiError as error:
        return str(error)
    return ""
