"""Traffic that is measured between zones, and from workloads to zones, says where pods belong."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import TALKS_TO, TALKS_TO_ZONE, Load
from tests.e2e.builders.nodes import ZONE, nodes
from tests.e2e.builders.workloads import Manifest, deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    USER,
    WINDOW,
    Json,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

LOCALITY = """
apiVersion: rescheduler.io/v1alpha1
kind: Locality
metadata: {name: talk}
spec:
  match: {labels: {matchExpressions: [{key: app, operator: In, values: [front, reader]}]}}
  levels:
    - {name: zone, labels: [topology.kubernetes.io/zone]}
"""

TO_ZONES = f"""
  traffic:
    series: flow_sent_bytes_total
    source: {{namespace: source_namespace, name: source_workload}}
    destinationDomain: destination_zone
    window: {WINDOW}s
    maxAge: 15s
"""

BETWEEN_ZONES = f"""
  traffic:
    series: mesh_sent_bytes_total
    source: {{namespace: source_namespace, name: source_workload}}
    destination: {{namespace: destination_namespace, name: destination_workload}}
    window: {WINDOW}s
    maxAge: 15s
  distances:
    series: flow_sent_bytes_total
    source: source_zone
    destination: destination_zone
    window: {WINDOW}s
    maxAge: 15s
"""

A, B, C = (["a1", "a2", "a3"], ["b1", "b2", "b3"], ["c1", "c2", "c3"])


def small(name: str, replicas: int, to: dict[str, str], sent: float, zone: str = "") -> Manifest:
    """A workload that sends so many bytes a second from each pod, bound to a zone where one is."""
    bound = {ZONE: zone} if zone else None
    load = Load(transmit=sent)
    return deployment(
        name, replicas, cpu="500m", memory="1Gi", annotations=to, load=load, node_selector=bound
    )


def cost(report: Json) -> float:
    [policy] = report["policies"]
    assert policy.get("problem") is None, policy
    return float(policy["cost"]["before"])


def repaired(cluster: Cluster, loop: Loop, moved: str, near: list[str]) -> None:
    """Run the loop until it is content; only that workload moves, to those nodes."""
    mark = cluster.control_plane.audit.mark()
    others = {pod["metadata"]["labels"]["app"] for pod in cluster.pods()} - {moved}
    still = {app: cluster.placement(app) for app in others}
    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()
    cluster.settled()
    assert {move["owner"]["name"] for move in moves} == {moved}
    assert len(moves) == 3
    assert all(move["landedOn"] in near for move in moves)
    assert set(cluster.placement(moved)) <= set(near)
    assert still == {app: cluster.placement(app) for app in others}
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 3
    only_evictions_and_own_state(records)


def test_who_exchanges_traffic_with_a_zone_goes_there(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    for zone in "ab":
        cluster.create(*nodes(3, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    cluster.arrange(
        [
            (deployment("hog", 3, cpu=12, memory="48Gi"), B),
            (small("reader", 3, {TALKS_TO_ZONE: "a"}, 2e6), B),
            (small("writer", 3, {TALKS_TO_ZONE: "b"}, 2e6), B),
            (small("abroad", 3, {TALKS_TO_ZONE: "another-region"}, 9e6), B),
        ]
    )
    metrics.warm(WINDOW + 3)
    loop = Loop(actor, write_policies(tmp_path / "policies", LOCALITY + TO_ZONES, swift()))

    repaired(cluster, loop, "reader", A)

    assert loop.reports[0]["policies"][0]["findings"][0]["code"] == "LOC001"
    [reading] = loop.reports[0]["readings"]
    assert reading["coverage"] == 1
    metrics.warm(WINDOW + 3)
    assert cost(loop.once()) == pytest.approx(0, abs=1e-9)


def test_where_the_right_zone_is_full_the_nearest_by_measure_will_do(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    for zone in "abc":
        cluster.create(*nodes(3, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    cluster.arrange(
        [
            (deployment("full", 3, cpu=15, memory="48Gi"), A),
            (deployment("hog", 3, cpu=12, memory="48Gi"), C),
            (small("cache", 2, {}, 0, "a"), ["a1", "a2"]),
            (small("front", 3, {TALKS_TO: "cache"}, 2e6), C),
            # A tenth goes between a and b of what goes between the others.
            (small("sync-ab", 1, {TALKS_TO_ZONE: "b"}, 1e6, "a"), ["a1"]),
            (small("sync-ac", 1, {TALKS_TO_ZONE: "c"}, 1e7, "a"), ["a2"]),
            (small("sync-bc", 1, {TALKS_TO_ZONE: "c"}, 1e7, "b"), ["b1"]),
            (deployment("rest", 1, cpu="500m", memory="1Gi"), ["a3"]),
            (deployment("more", 1, cpu="500m", memory="1Gi"), ["a3"]),
        ]
    )
    metrics.warm(WINDOW + 3)
    policies = write_policies(tmp_path / "policies", LOCALITY + BETWEEN_ZONES, swift())
    mark = cluster.control_plane.audit.mark()

    metrics.inject(hidden=["flow_"])
    metrics.prometheus.wait_for("absent(flow_sent_bytes_total)")
    unmeasured = Loop(actor, policies).once(code=None)
    assert unmeasured["moves"] == []
    assert unmeasured["policies"][0]["problem"]["code"] in {"RDG003", "RDG009"}
    assert cluster.control_plane.audit.since(mark).evictions(by=USER) == []

    metrics.heal()
    # Samples of before still count in the window, so it must be there now as well.
    metrics.prometheus.wait_for(
        f"count_over_time(flow_sent_bytes_total[{WINDOW}s]) >= 8 and flow_sent_bytes_total", 3
    )
    loop = Loop(actor, policies)
    repaired(cluster, loop, "front", B)

    # All of the talk went as far as it can, and goes a tenth of that now.
    assert cost(loop.reports[0]) == pytest.approx(2.5, rel=0.1)
    metrics.warm(WINDOW + 3)
    assert cost(loop.once()) == pytest.approx(0.25, rel=0.2)
