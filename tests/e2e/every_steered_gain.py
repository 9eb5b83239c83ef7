"""What NUMA and locality gain on 100 nodes, with and without steering: `make gains-e2e`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.kubelets import Kubelets
from tests.e2e.builders.load import TALKS_TO, Load
from tests.e2e.builders.nodes import ZONE, nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import WINDOW, Loop, budgets_watched, swift, write_policies
from tests.e2e.numa import NUMA
from tests.e2e.program import Program
from tests.e2e.steering import entries, install_policy, steered
from tests.e2e.traffic import TRAFFIC

pytestmark = pytest.mark.e2e

Placed = tuple[dict[str, Any], Sequence[str]]
_FAST: dict[str, Any] = {"per_cycle": 12, "per_workload": 8, "batch": 6}


@dataclass(frozen=True)
class Gain:
    """What came of one loop. before, after: the policy's cost, measured. planned: by its moves."""

    before: float
    after: float
    planned: float
    moves: int

    @property
    def measured(self) -> float:
        """By how much the cost fell."""
        return self.before - self.after

    def __str__(self) -> str:
        return (
            f"{self.measured:.1f} of {self.before:.1f} with {self.moves} moves, "
            f"{self.planned:.1f} planned"
        )


def side_by_side(
    cluster: Cluster,
    actor: Program,
    folder: Path,
    policy: str,
    movers: Callable[[], list[Placed]],
    wait: Callable[[], None],
) -> tuple[Gain, Gain]:
    """The gain without steering, and then with it, of pods that begin at the same places."""
    install_policy(cluster)
    cluster.create(
        *(budget(manifest["metadata"]["name"], max_unavailable=8) for manifest, _ in movers())
    )
    found: list[Gain] = []
    for limits in (swift(**_FAST), steered("Require", **_FAST)):
        cluster.arrange(movers(), deadline=180)
        wait()
        with budgets_watched(cluster) as breaches:
            found.append(_gain(cluster, actor, folder / str(len(found)), policy, limits, wait))
        assert not breaches()
        assert entries(cluster) == []
        names = [manifest["metadata"]["name"] for manifest, _ in movers()]
        for manifest in cluster.api.items("apps/v1", "Deployment"):
            if manifest["metadata"]["name"] in names:
                cluster.api.delete(manifest)
        cluster.until(partial(_gone, cluster, names), "their end", 180)
    sys.stdout.write(f"unsteered: {found[0]}; steered: {found[1]}\n")
    return found[0], found[1]


def _gone(cluster: Cluster, names: list[str]) -> bool:
    return not any(map(cluster.pods, names))


def _gain(
    cluster: Cluster,
    actor: Program,
    folder: Path,
    policy: str,
    limits: str,
    wait: Callable[[], None],
) -> Gain:
    loop = Loop(actor, write_policies(folder, policy, limits))
    for _ in range(8):
        report = loop.once(code=None)
        cluster.settled(deadline=180)
        wait()
        if not report["moves"]:
            break
    moves = loop.evicted()
    for move in moves:
        steering = move["steered"]
        assert steering is None or move["landedOn"] in steering["nodes"], move
    return Gain(
        before=_cost(loop.reports[0]),
        after=_cost(loop.reports[-1]),
        planned=sum(move["gain"] for move in moves),
        moves=len(moves),
    )


def _cost(report: dict[str, Any]) -> float:
    [policy] = report["policies"]
    assert policy.get("problem") is None, policy
    return float(policy["cost"]["before"])


def _named(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(1, count + 1)]


def test_numa_on_100_nodes(cluster: Cluster, actor: Program, tmp_path: Path) -> None:
    """In zone a, where most pods are, kube-scheduler likes the nodes best that would split them."""
    kinds = {"trapa": 24, "wholea": 14, "trapb": 14, "wholeb": 8}
    cluster.create(*nodes(40, prefix="plain", cpu=64, memory="256Gi"))
    for prefix, count in kinds.items():
        zone = prefix[-1]
        cluster.create(*nodes(count, prefix=prefix, zones=[zone], cpu=64, memory="256Gi", gpus=8))
    names = {prefix: _named(prefix, count) for prefix, count in kinds.items()}
    every = [name for group in names.values() for name in group]
    with Kubelets(cluster, dict.fromkeys(every, "best-effort")) as kubelets:
        # A trap has one GPU left in each zone: room for two by kube-scheduler's count alone.
        filling: list[Placed] = [
            (deployment("biga", 48, gpus=3, cpu=1, memory="1Gi"), names["trapa"] * 2),
            (deployment("bigb", 28, gpus=3, cpu=20, memory="80Gi"), names["trapb"] * 2),
            (deployment("busy", 14, cpu=48, memory="192Gi"), names["wholea"]),
        ]
        cluster.arrange(filling, deadline=300)
        cluster.until(lambda: len(kubelets.lies) == 48 + 28 + 14, "the kubelets' admission", 300)

        def movers() -> list[Placed]:
            return [
                (
                    deployment(app, count, gpus=2, cpu=1, memory="1Gi", node_selector={ZONE: zone}),
                    names[f"trap{zone}"][:count],
                )
                for app, count, zone in (("train", 8, "a"), ("infer", 4, "b"))
            ]

        def admitted() -> None:
            cluster.until(lambda: _admitted(cluster, kubelets), "the kubelets' reports", 300)

        unsteered, with_steering = side_by_side(cluster, actor, tmp_path, NUMA, movers, admitted)
        assert kubelets.refused == []
    assert unsteered.before == with_steering.before == 12
    assert unsteered.measured < with_steering.measured
    assert unsteered.measured == pytest.approx(unsteered.planned)
    assert with_steering.measured == pytest.approx(with_steering.planned)
    assert with_steering.after == 0


def _admitted(cluster: Cluster, kubelets: Kubelets) -> bool:
    """Whether the kubelets have taken in every pod with GPUs that there is, and no other."""
    there = {
        pod["metadata"]["uid"]
        for pod in cluster.pods()
        if pod["spec"].get("nodeName") in kubelets.policies
    }
    return set(kubelets.lies) == there


def test_locality_on_100_nodes(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """Most callers want to be in zone a, whose nodes kube-scheduler likes least."""
    names = {zone: _named(zone, count) for zone, count in {"a": 33, "b": 33, "c": 34}.items()}
    for zone, own in names.items():
        cluster.create(*nodes(len(own), prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    filling: list[Placed] = [
        (deployment("hog", 33, cpu=12, memory="48Gi"), names["a"]),
        (deployment("half", 33, cpu=6, memory="24Gi"), names["b"]),
        *(
            (
                deployment(
                    f"cache-{zone}", 4, cpu="500m", memory="1Gi", node_selector={ZONE: zone}
                ),
                names[zone][:4],
            )
            for zone in "ac"
        ),
    ]
    cluster.arrange(filling, deadline=300)

    def movers() -> list[Placed]:
        return [
            (
                deployment(
                    f"front-{zone}",
                    count,
                    cpu="500m",
                    memory="1Gi",
                    load=Load(transmit=2e6),
                    annotations={TALKS_TO: f"cache-{zone}"},
                ),
                names["b"][:count],
            )
            for zone, count in (("a", 8), ("c", 4))
        ]

    def measured() -> None:
        metrics.warm(WINDOW + 2)

    unsteered, with_steering = side_by_side(cluster, actor, tmp_path, TRAFFIC, movers, measured)
    assert unsteered.before == pytest.approx(with_steering.before, rel=0.1)
    assert unsteered.measured + 1 < with_steering.measured
    assert with_steering.measured == pytest.approx(with_steering.planned, rel=0.1)
    assert with_steering.after == pytest.approx(0, abs=0.1)
