"""What `explain` reports, compared with what the real scheduler then does."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster, is_ready
from tests.e2e.builders.nodes import node, nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import bare_pod, deployment
from tests.e2e.controlplane.api import Manifest
from tests.e2e.loop import AUDITOR, SPREAD, install, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

GPU_ONLY = {"key": "gpu", "value": "only", "effect": "NoSchedule"}


@pytest.fixture
def reader(binary: Path, cluster: Cluster, tmp_path: Path) -> Program:
    """The program with the rights of reporting only, and no Prometheus."""
    return Program(binary, install(cluster, "audit-cronjob", tmp_path))


def explain(program: Program, *arguments: str | Path) -> dict[str, Any]:
    done = program.run("explain", *arguments, "-o", "json")
    assert done.code == 0, done.stderr
    answer: dict[str, Any] = done.json()
    return answer


def replacement(cluster: Cluster, app: str, before: set[str]) -> Manifest | None:
    """The pod of this workload that is new and has a node."""
    for pod in cluster.pods(app):
        if pod["metadata"]["uid"] not in before and pod["spec"].get("nodeName"):
            return pod
    return None


def evict(cluster: Cluster, app: str, name: str) -> str:
    """Evict the pod, and answer the node of its replacement."""
    pods = cluster.pods(app)
    before = {pod["metadata"]["uid"] for pod in pods}
    (victim,) = (pod for pod in pods if pod["metadata"]["name"] == name)
    assert cluster.api.evict(victim) in (200, 201)
    cluster.until(lambda: replacement(cluster, app, before) is not None, f"a pod for {name}", 40)
    found = replacement(cluster, app, before)
    assert found is not None
    return str(found["spec"]["nodeName"])


def test_an_evicted_pod_lands_where_explain_said(
    cluster: Cluster, reader: Program, tmp_path: Path
) -> None:
    for zone in "abc":
        cluster.create(*nodes(4, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    cluster.create(node("gpu", zone="a", taints=[GPU_ONLY], cpu=64))
    cluster.arrange(
        [
            (deployment("web", 4, cpu=2, memory="4Gi"), ["a1", "a1", "a2", "b1"]),
            (deployment("api", 4, cpu=3, memory="2Gi"), ["a1", "a3", "b2", "b3"]),
            (deployment("load", 3, cpu=9, memory="30Gi"), ["c1", "c2", "b4"]),
        ]
    )
    policies = write_policies(tmp_path / "policies", SPREAD, swift())
    mark = cluster.control_plane.audit.mark()
    for app, place in (("web", "a1"), ("api", "a1"), ("load", "c1")):
        pod = next(pod for pod in cluster.pods(app) if pod["spec"]["nodeName"] == place)
        name = pod["metadata"]["name"]
        reported = explain(reader, "pod", f"default/{name}", "--policies", policies)
        assert reported["refusal"] is None
        assert reported["node"] == place
        landing = {share["node"]: share["probability"] for share in reported["landing"]}
        assert sum(landing.values()) + reported["unschedulable"] == pytest.approx(1)
        assert "gpu" not in landing
        taints = next(
            plugin_result
            for plugin_result in reported["filters"]
            if plugin_result["plugin"] == "TaintToleration"
        )
        assert (taints["rejects"], taints["example"]) == (1, "gpu")
        assert {check["result"] for check in reported["eligibility"]} == {"passed"}

        landed = evict(cluster, app, name)

        assert landing.get(landed, 0.0) > 0, f"{name} landed on {landed}, reported {landing}"
        assert landing[landed] == pytest.approx(max(landing.values()))
        best = reported["scores"][0]
        assert best["total"] == sum(best["points"].values())
        cluster.settled()
    records = cluster.control_plane.audit.since(mark)
    assert records.reads(by=AUDITOR).on("pods")
    assert not records.writes(by=AUDITOR), "explaining writes nothing"
    table = reader.run("explain", "node", "a1", "--policies", policies)
    assert (table.code, table.stdout.splitlines()[0]) == (0, "NODE a1  zone a"), table.stderr


def told(cluster: Cluster, name: str) -> bool:
    return failed_scheduling(cluster, name) != ""


def failed_scheduling(cluster: Cluster, name: str) -> str:
    """The text of the scheduler's last event about this pod, or ""."""
    selector = f"involvedObject.name={name},reason=FailedScheduling"
    events = cluster.api.items("v1", "Event", "default", fieldSelector=selector)
    texts = [str(event.get("message", "")) for event in events]
    return texts[-1] if texts else ""


def test_the_reported_move_makes_room_for_a_pending_pod(
    cluster: Cluster, reader: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(3, cpu=8, memory="32Gi", zones=["a", "b"]))
    cluster.create(node("small", zone="a", cpu=2, memory="8Gi"))
    cluster.create(node("tainted", taints=[GPU_ONLY]), node("cordoned", unschedulable=True))
    names = ["n1", "n2", "n3"]
    cluster.arrange(
        [
            (deployment("web", 3, cpu=2, memory="1Gi", grace=1), names),
            (deployment("full", 3, cpu=5, memory="20Gi", grace=1), names),
        ]
    )
    cluster.create(budget("full", max_unavailable=0))
    cluster.create(deployment("big", 1, cpu=3, memory="1Gi"))
    cluster.create(bare_pod("fussy", node_selector={"disk": "ssd"}))
    cluster.until(lambda: len(cluster.pods("big")) == 1, "the Pending pod")
    big = cluster.pods("big")[0]["metadata"]["name"]
    for name in (big, "fussy"):
        cluster.until(partial(told, cluster, name), f"event of {name}")
    policies = write_policies(tmp_path / "policies", SPREAD, swift())

    reported = explain(reader, "pending", "--policies", policies)

    pods = {pod["pod"]["name"]: pod for pod in reported["pods"]}
    assert set(pods) == {big, "fussy"}
    for name, pod in pods.items():
        # What follows is about preemption and claims.
        assert failed_scheduling(cluster, name).startswith(f"{pod['event']} ")
        assert pod["feasible"] == 0
        assert pod["unschedulable"] == 1.0
    assert pods["fussy"]["moves"] == []
    assert "whatever is moved" in pods["fussy"]["none"]["message"]
    move = pods[big]["moves"][0]
    assert move["owner"]["name"] == "web"
    assert move["landing"] == [{"node": "small", "probability": 1.0}]

    assert evict(cluster, "web", move["pod"]["name"]) == "small"
    cluster.until(
        lambda: [is_ready(pod) for pod in cluster.pods("big")] == [True], "room for big", 60
    )
    assert cluster.placement("big") == {move["fits"]: 1}
