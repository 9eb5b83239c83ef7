"""Pods that crash-loop leave a broken node as their budgets let them, and are not chased around."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster, is_ready
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.loop import (
    USER,
    Loop,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

CRASH_LOOPS = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: crash-loops}
spec:
  match: {namespaces: [default]}
  restarts: {atLeast: 5, states: [CrashLoopBackOff]}
  failed: {above: 0s, reasons: [Evicted]}
"""


def crash(cluster: Cluster, app: str, node: str) -> None:
    """Let the pods of a workload on that node crash-loop, as a kubelet reports it."""
    for pod in cluster.pods(app):
        if pod["spec"]["nodeName"] == node:
            kept = [c for c in pod["status"]["conditions"] if c["type"] != "Ready"]
            state = {"waiting": {"reason": "CrashLoopBackOff"}}
            (container,) = pod["status"]["containerStatuses"]
            failing = {"ready": False, "started": False, "restartCount": 9, "state": state}
            change = {
                "conditions": [*kept, {"type": "Ready", "status": "False"}],
                "containerStatuses": [container | failing],
            }
            cluster.api.patch({**pod, **KIND}, {"status": change}, "status")


KIND = {"apiVersion": "v1", "kind": "Pod"}


def broken_node(cluster: Cluster) -> None:
    """On n1 nothing runs for long; `everywhere` crash-loops wherever it is; a pod has failed."""
    cluster.create(*nodes(4, cpu=16, memory="64Gi", zones=["a"]))
    cluster.create(
        budget("lone", min_available=1, unhealthy="AlwaysAllow"),
        budget("pair", min_available=1, unhealthy="IfHealthyBudget"),
        budget("short", min_available=2, unhealthy="IfHealthyBudget"),
    )
    rows = {
        "lone": ["n1"],
        "pair": ["n1", "n2"],
        "short": ["n1", "n3"],
        "everywhere": ["n2", "n3"],
        "ended": ["n4"],
    }
    cluster.arrange(
        [
            (deployment("large", 1, cpu=8, memory="32Gi"), ["n1"]),
            *((deployment(app, len(on), cpu="100m"), on) for app, on in rows.items()),
        ]
    )
    (ended,) = cluster.pods("ended")
    failure = {"phase": "Failed", "reason": "Evicted"}
    cluster.api.patch({**ended, **KIND}, {"status": failure}, "status")
    cluster.settled()
    for app in ("lone", "pair", "short"):
        crash(cluster, app, "n1")
    for node in ("n2", "n3"):
        crash(cluster, "everywhere", node)

    def counted() -> bool:
        budgets = cluster.api.items("policy/v1", "PodDisruptionBudget")
        healthy = {b["metadata"]["name"]: b["status"].get("currentHealthy") for b in budgets}
        return healthy == {"lone": 0, "pair": 1, "short": 1}

    cluster.until(counted, "budgets that count the healthy pods")


def reported(report: dict[str, Any]) -> dict[str, str]:
    """Workload to the code for which its pods stay."""
    return {refusal["owner"]["name"]: refusal["code"] for refusal in report["refused"]}


def test_they_leave_the_broken_node_once(cluster: Cluster, actor: Program, tmp_path: Path) -> None:
    broken_node(cluster)
    still = cluster.placement("large")
    allow = f"{swift()}  crashLooping: Allow\n"
    program = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    refusing = Loop(program, write_policies(tmp_path / "refusing", CRASH_LOOPS, swift()))
    loop = Loop(program, write_policies(tmp_path / "policies", CRASH_LOOPS, allow))
    mark = cluster.control_plane.audit.mark()

    assert set(reported(refusing.once()).values()) == {"ELG006"}
    report = loop.once()

    moved = {move["owner"]["name"]: move for move in report["moves"]}
    assert set(moved) == {"lone", "pair"}
    assert {(m["node"], m["code"], m["crashLooping"]) for m in moved.values()} == {
        ("n1", "ACT001", True)
    }
    assert reported(report) == {"short": "BUD002", "everywhere": "ELG023"}
    (policy,) = report["policies"]
    failed = [finding for finding in policy["findings"] if finding["code"] == "CNF008"]
    assert [(finding["subject"], finding["cost"]) for finding in failed] == [
        ("Deployment default/ended", 0)
    ]
    for app in ("lone", "pair"):
        assert "n1" not in cluster.placement(app)
        assert all(map(is_ready, cluster.pods(app)))

    # The node was not the cause after all: it crash-loops where it went, and stays there.
    (where,) = cluster.placement("lone")
    crash(cluster, "lone", where)
    again = loop.once()
    assert again["moves"] == []
    assert reported(again) == {"lone": "ELG023", "short": "BUD002", "everywhere": "ELG023"}
    assert cluster.placement("large") == still
    records = cluster.control_plane.audit.since(mark)
    assert [r.code for r in records.evictions(by=USER)] == [201, 201]
    only_evictions_and_own_state(records)
