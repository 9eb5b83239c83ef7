"""A pod that would come back is not evicted, and the report says so."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import unwanted_calm
from tests.e2e.loop import USER, WINDOW, Loop, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def test_pods_that_would_come_back_stay(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = unwanted_calm(cluster)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())
    mark = cluster.control_plane.audit.mark()

    report = Loop(actor, policies).once()

    assert report["moves"] == []
    (policy,) = report["policies"]
    assert policy["cost"]["before"] > 0
    assert policy["cost"]["after"] == policy["cost"]["before"]
    hot = {p["metadata"]["uid"] for p in cluster.pods() if p["spec"]["nodeName"] in scenario.hot}
    refused = {r["pod"]["uid"]: r for r in report["refused"]}
    assert hot <= set(refused)
    assert {refused[uid]["code"] for uid in hot} <= {"FEA002", "FEA003"}
    assert all(refused[uid]["message"] for uid in hot)
    assert not cluster.control_plane.audit.since(mark).evictions(by=USER)
