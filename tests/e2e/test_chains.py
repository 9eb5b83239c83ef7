"""A full cluster, where no single move is possible: some make room, and others take it."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.between import Between
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.crashing import Crashes
from tests.e2e.loop import Json, Loop, budgets_watched, write_policies
from tests.e2e.program import Program
from tests.e2e.steering import entries, install_policy, steered

pytestmark = pytest.mark.e2e

RULES = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: rules}
spec:
  match: {namespaces: [default]}
  nodeAffinity: {}
"""
FAST = {"fast1", "fast2"}


def full_cluster(cluster: Cluster) -> None:
    """Two pods that want an SSD are on nodes that lost theirs, and others fill those with one.

    No node takes one more pod of `ssd`. `hub1` takes one of `hdd`; `slow2` the other, which is a
    swap with the pod that is there.
    """
    cluster.create(
        *nodes(1, "slow", cpu=4, memory="64Gi", labels={"disk": "ssd"}),
        *nodes(1, "slow", first=2, cpu=7, memory="64Gi", labels={"disk": "ssd"}),
        *nodes(2, "fast", cpu=4, memory="64Gi", labels={"disk": "ssd"}),
        *nodes(1, "hub", cpu=4, memory="64Gi"),
    )
    cluster.create(*(budget(app, max_unavailable=1) for app in ("ssd", "hdd", "web")))
    cluster.arrange(
        [
            (deployment("ssd", 2, cpu=4, node_selector={"disk": "ssd"}), ["slow1", "slow2"]),
            (deployment("hdd", 2, cpu=3), ["fast1", "fast2"]),
            (deployment("web", 2, cpu="500m"), ["hub1", "hub1"]),
        ],
        deadline=180,
    )
    for name in ("slow1", "slow2"):
        node = cluster.api.read("v1", "Node", name)
        cluster.api.patch(node, {"metadata": {"labels": {"disk": "none"}}})


@pytest.fixture
def chained(cluster: Cluster, actor: Program, tmp_path: Path) -> Iterator[Crashes]:
    """The program behind a proxy that sees its writes, on the full cluster."""
    plane = cluster.control_plane
    assert actor.kubeconfig is not None
    between = Between(plane.url, plane.layout.authority)
    try:
        proxied = between.kubeconfig(actor.kubeconfig, tmp_path / "between.kubeconfig")
        full_cluster(cluster)
        install_policy(cluster)
        made = Crashes(cluster, between, replace(actor, kubeconfig=proxied), tmp_path)
        limits = steered("Require", per_cycle=4, per_workload=4, batch=1)
        made.policies = write_policies(tmp_path / "chains", RULES, limits)
        yield made
    finally:
        between.stop()


def repaired(cluster: Cluster) -> bool:
    """Whether all that want an SSD are where one is."""
    return set(cluster.placement("ssd")) <= FAST and cluster.placement("ssd").total() == 2


def repair(chained: Crashes) -> list[Json]:
    """Cycles until it is repaired: what an earlier run left open is waited for."""
    loop = Loop(chained.program, chained.policies)
    limit = time.monotonic() + 600
    while True:
        loop.once(code=None)
        chained.cluster.settled(deadline=180)
        if repaired(chained.cluster):
            return loop.evicted()
        assert time.monotonic() < limit, [each["verdict"] for each in loop.reports]
        time.sleep(2)


def whole(chained: Crashes) -> None:
    """Everything runs, nobody was evicted twice, and nothing of ours is left."""
    chained.cluster.settled(deadline=180)
    chained.judge("in the end")
    assert chained.cluster.placement("web") == {"hub1": 2}
    assert not FAST & set(chained.cluster.placement("hdd"))
    assert len(chained.evictions()) == 4, "two that leave, and two that come"
    loop = Loop(chained.program, chained.policies)
    assert loop.once()["moves"] == []
    assert entries(chained.cluster) == []


def test_swaps_and_chains_repair_a_full_cluster(chained: Crashes) -> None:
    with budgets_watched(chained.cluster) as breaches:
        moves = repair(chained)
    helpers = {each["pod"]["uid"] for each in moves if each["pod"]["name"].startswith("hdd")}
    movers = [each for each in moves if each["pod"]["name"].startswith("ssd")]
    assert len(helpers) == len(movers) == 2
    # Who makes room, leaves before.
    for move in movers:
        assert set(move["after"]) <= helpers
        assert move["landedOn"] in FAST
    assert any(move["after"] for move in movers)
    whole(chained)
    assert not breaches()
