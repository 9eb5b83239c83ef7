"""A full cluster, where no single move is possible: some make room, and others take it."""

import time
from pathlib import Path

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.crashing import Crashes
from tests.e2e.loop import CONFORMING, Json, Loop, write_policies
from tests.e2e.steering import entries, steered

FAST = {"fast1", "fast2"}
LOST = ("slow1", "slow2")
"""The nodes with an SSD, and those that lost theirs."""


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
    cluster.arrange([(deployment("web", 2, cpu="500m"), ["hub1", "hub1"])], deadline=180)
    fill(cluster)


def fill(cluster: Cluster) -> None:
    """The pods that are in each other's way, created again where they were there before."""
    for manifest in cluster.api.items("apps/v1", "Deployment"):
        if manifest["metadata"]["name"] in ("ssd", "hdd"):
            cluster.api.delete(manifest)
    cluster.until(lambda: not any(map(cluster.pods, ("ssd", "hdd"))), "the end of the old", 180)
    _label(cluster, "ssd")
    cluster.arrange(
        [
            (deployment("ssd", 2, cpu=4, node_selector={"disk": "ssd"}), list(LOST)),
            (deployment("hdd", 2, cpu=3), sorted(FAST)),
        ],
        deadline=180,
    )
    _label(cluster, "none")
    cluster.until(lambda: all(map(_counted, _budgets(cluster))), "budgets that allow moves", 60)


def _budgets(cluster: Cluster) -> list[Json]:
    return cluster.api.items("policy/v1", "PodDisruptionBudget")


def _counted(json: Json) -> bool:
    return int(json.get("status", {}).get("disruptionsAllowed", 0)) > 0


def _label(cluster: Cluster, disk: str) -> None:
    for name in LOST:
        node = cluster.api.read("v1", "Node", name)
        cluster.api.patch(node, {"metadata": {"labels": {"disk": disk}}})


def steered_policies(folder: Path) -> Path:
    """Policies under which chains are made: one batch after the other, steered."""
    return write_policies(
        folder, CONFORMING, steered("Require", per_cycle=4, per_workload=4, batch=1)
    )


def repaired(cluster: Cluster) -> bool:
    """Whether all that want an SSD are where one is."""
    return set(cluster.placement("ssd")) <= FAST and cluster.placement("ssd").total() == 2


def repair(chained: Crashes, deadline: float = 300) -> list[Json]:
    """Cycles until it is repaired: what an earlier run left open is waited for."""
    loop = Loop(chained.program, chained.policies)
    limit = time.monotonic() + deadline
    while not repaired(chained.cluster):
        assert time.monotonic() < limit, [
            (report["verdict"], [(r["pod"]["name"], r["code"]) for r in report["refused"]])
            for report in loop.reports
        ]
        loop.once(code=None)
        chained.cluster.settled(deadline=180)
    return loop.evicted()


def whole(chained: Crashes, evicted: int = 4) -> None:
    """Everything runs, nobody was evicted twice, and nothing of ours is left.

    evicted: how many pods in all; two leave and two come each time that it was full.
    """
    chained.cluster.settled(deadline=180)
    chained.judge("in the end")
    assert chained.cluster.placement("web") == {"hub1": 2}
    assert not FAST & set(chained.cluster.placement("hdd"))
    assert len(chained.evictions()) == evicted
    loop = Loop(chained.program, chained.policies)
    assert loop.once(code=None)["moves"] == []
    assert entries(chained.cluster) == []
