"""The Deployment mode: cycles, a clean end on SIGTERM, and a second replica that takes over."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import NAMESPACE, WINDOW, swift, utilization, write_policies
from tests.e2e.program import Program
from tests.e2e.replica import Replica

pytestmark = pytest.mark.e2e


def test_three_cycles_a_clean_end_and_a_successor(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    scenario = hot_gpus(cluster, count=20, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(
        tmp_path / "policies", utilization(gpu="50%"), swift(per_cycle=2, batch=2)
    )
    first = Replica(actor, policies, tmp_path, "first")
    second = None
    try:
        cluster.until(lambda: first.cycles() >= 1, f"a cycle: {first.log}", 60)
        second = Replica(actor, policies, tmp_path, "second")
        cluster.until(lambda: first.cycles() >= 3, f"three cycles: {first.log}", 120)
        for path in ("/readyz", "/livez"):
            answer = first.get(path)
            assert answer is not None, path
            assert answer.status_code == 200, path
        holder = lease(cluster)["spec"]["holderIdentity"]
        assert second.process.poll() is None
        assert second.cycles() == 0, "two replicas act at once"
        cluster.until(lambda: second.get("/livez") is not None, "the second one", 60)
        cluster.until(lambda: "stands by" in getattr(second.get("/"), "text", ""), "its page", 30)
        page, ready = second.get("/"), second.get("/readyz")
        assert page is not None
        assert f"This instance stands by: {holder} holds the lock" in page.text
        assert ready is not None
        assert ready.status_code == 200

        first.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert first.process.wait(60) == 0, first.said()
        assert time.monotonic() - started < 45
        assert "Traceback" not in first.said()

        cluster.until(lambda: second.cycles() >= 1, f"a successor: {second.log}", 120)
        assert lease(cluster)["spec"]["holderIdentity"] != holder
        cluster.until(lambda: max(scenario.load(cluster).values()) <= 0.5, "the repair", 120)
    finally:
        for replica in (first, second):
            if replica is not None and replica.process.poll() is None:
                replica.process.terminate()
                replica.process.wait(60)
    assert second.process.returncode == 0, second.said()
    for line in second.said().splitlines():
        json.loads(line)


def lease(cluster: Cluster) -> dict[str, Any]:
    return cluster.api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
