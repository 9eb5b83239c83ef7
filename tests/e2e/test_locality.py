"""Pods that are measured to talk are brought together, where the scheduler will have it so."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import TALKS_TO, Load
from tests.e2e.builders.nodes import ZONE, nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    USER,
    WINDOW,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    plan,
    swift,
    write_policies,
)
from tests.e2e.program import Program
from tests.e2e.traffic import TRAFFIC

pytestmark = pytest.mark.e2e


NEAR = ["a1", "a2", "a3"]
FAR = ["b1", "b2", "b3"]


def talkers(cluster: Cluster, full: Sequence[str]) -> None:
    """`front` in zone b calls `cache`, bound to zone a; the nodes of `full` are nearly full."""
    for zone in "ab":
        cluster.create(*nodes(3, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    cluster.arrange(
        [
            (deployment("hog", 3, cpu=12, memory="48Gi"), full),
            (deployment("cache", 3, cpu="500m", memory="1Gi", node_selector={ZONE: "a"}), NEAR),
            (
                deployment(
                    "front",
                    3,
                    cpu="500m",
                    memory="1Gi",
                    load=Load(transmit=2e6),
                    annotations={TALKS_TO: "cache"},
                ),
                FAR,
            ),
            (deployment("other", 3, cpu="500m", memory="1Gi", load=Load(transmit=5e6)), FAR),
        ]
    )


def cost(report: dict[str, Any]) -> float:
    [policy] = report["policies"]
    assert policy.get("problem") is None, policy
    return float(policy["cost"]["before"])


def test_measured_talkers_end_in_one_zone(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    talkers(cluster, full=FAR)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", TRAFFIC, swift())
    loop = Loop(actor, policies)
    mark = cluster.control_plane.audit.mark()

    with budgets_watched(cluster) as breaches:
        moves = loop.until_content()

    cluster.settled()
    assert {move["owner"]["name"] for move in moves} == {"front"}
    assert len(moves) == 3
    assert all(move["landedOn"] in NEAR for move in moves)
    assert set(cluster.placement("front")) <= set(NEAR)
    assert cluster.placement("cache") == dict.fromkeys(NEAR, 1)
    assert cluster.placement("other") == dict.fromkeys(FAR, 1)
    assert cost(loop.reports[0]) == pytest.approx(3)
    assert loop.reports[0]["policies"][0]["findings"][0]["code"] == "LOC001"
    [reading] = loop.reports[0]["readings"]
    assert reading["coverage"] == 1
    assert 0 <= reading["ageSeconds"] < 15
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 3
    only_evictions_and_own_state(records)

    metrics.warm(2 * WINDOW)
    assert cost(loop.once()) == pytest.approx(0, abs=1e-9)


def test_talkers_stay_where_the_scheduler_would_not_bring_them_together(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    talkers(cluster, full=NEAR)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", TRAFFIC, swift())
    mark = cluster.control_plane.audit.mark()

    report = Loop(actor, policies).once()

    assert cost(report) == pytest.approx(3)
    assert report["moves"] == []
    reported = {refusal["code"]: refusal for refusal in report["refused"]}
    assert set(reported) <= {"FEA002", "FEA003"}, reported
    assert reported
    assert cluster.control_plane.audit.since(mark).evictions(by=USER) == []


def test_without_the_series_nothing_is_said_and_nothing_moves(
    cluster: Cluster, metrics: Metrics, reporter: Program, tmp_path: Path
) -> None:
    talkers(cluster, full=FAR)
    metrics.warm(WINDOW)
    absent = TRAFFIC.replace("mesh_sent_bytes_total", "no_such_series_total")
    policies = write_policies(tmp_path / "policies", absent, swift())

    done, report = plan(reporter, policies)

    assert done.code == 1
    assert report["moves"] == []
    assert report["policies"][0]["problem"]["code"] == "RDG009"
