"""What Helm installs, switches and removes on a real API server, and what outlasts it."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rescheduler.actions.steering.steering_format import encode_entries
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.forward_proxy import forward_proxy
from tests.e2e.installation import (
    KEPT,
    Installation,
    account_of,
    deployed_program,
    may_evict,
)
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import ACTING, AUDITING, NAMESPACE, WINDOW, swift, utilization
from tests.e2e.program import Program
from tests.e2e.steering_entries import entry, fill, made, pod

pytestmark = pytest.mark.e2e

MOVES = 3
LIMITS = swift(per_cycle=1, batch=1).replace("movesPerHour: 900", f"movesPerHour: {MOVES}")
ADDRESS = "http://prometheus-operated.monitoring.svc:9090"
PROMETHEUS = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "prometheus-operated", "namespace": "monitoring"},
    "spec": {"clusterIP": "None", "ports": [{"name": "web", "port": 9090}]},
}
VALUES: dict[str, Any] = {
    "policies": {"files": {"hot.yaml": utilization(gpu="50%"), "limits.yaml": LIMITS}},
    "prometheus": {"url": ADDRESS},
    "image": {"repository": "registry.example.com/rescheduler", "tag": "1"},
    "trail": {"enabled": True},
}


def test_one_command_gives_a_report_and_can_evict_nothing(
    binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path
) -> None:
    """Without any value: it finds Prometheus by itself, and reports within a minute."""
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    cluster.namespace("monitoring")
    cluster.create(PROMETHEUS)
    began = time.monotonic()
    said = Installation(cluster, tmp_path).install()
    assert "its account has no right to evict" in said
    assert account_of(cluster.api) == AUDITING
    assert not may_evict(cluster.api, AUDITING)

    log = tmp_path / "deployment.log"
    with forward_proxy({ADDRESS.removeprefix("http://"): metrics.url}) as proxy:
        inside = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HTTP_PROXY": proxy}
        program, arguments = deployed_program(cluster, binary, None, tmp_path, **inside)
        process = program.start(*arguments, log=log)
        try:
            cluster.until(lambda: "cycle ends" in log.read_text(), f"a report: {log}", 60)
        finally:
            process.terminate()
            process.wait(30)
        assert time.monotonic() - began < 60
        planned = program.run("plan", "-o", "json")
    policies = {policy["kind"]: policy.get("problem") for policy in planned.json()["policies"]}
    assert policies["Utilization"] is None, "its readings come from Prometheus alone"
    assert {line["level"] for line in map(json.loads, log.read_text().splitlines())} == {"info"}

    before = cluster.placement()
    assert program.kubeconfig is not None
    assert connect(program.kubeconfig).evict(cluster.pods()[0]) == 403
    done = replace(program, prometheus=metrics.url).run("run", "--once", "--mode", "Enforce")
    assert done.code not in (0, 2), done.stdout
    assert cluster.placement() == before


def test_the_right_to_evict_can_be_given_by_namespace(cluster: Cluster, tmp_path: Path) -> None:
    cluster.namespace("shop")
    release = Installation(cluster, tmp_path)
    release.install(
        mode="Enforce", prometheus={"url": ADDRESS}, evictions={"namespaces": ["default"]}
    )
    allowed = [may_evict(cluster.api, ACTING, namespace) for namespace in ("default", "shop")]
    assert allowed == [True, False]


def test_everything_that_counts_outlasts_switches_and_a_reinstallation(
    binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path
) -> None:
    """Audit, Enforce, Audit, back by rollback, gone, there again: one budget and one trail."""
    hot_gpus(cluster, count=20, hot=2)
    metrics.warm(2 * WINDOW)
    release = Installation(cluster, tmp_path)
    trail = tmp_path / "trail"
    trail.mkdir()

    def cycle(code: int = 0) -> int:
        """One cycle by what is deployed; how many pods it evicted."""
        program, _ = deployed_program(
            cluster, binary, metrics.url, tmp_path, RESCHEDULER_AUDIT_TRAIL=f"{trail}/"
        )
        done = program.run("run", "--once", "-o", "json")
        assert done.code == code, done.stderr + done.stdout
        report = done.json()
        moves = report["moves"] if report["kind"] == "Outcome" else []
        return sum(move["result"] == "evicted" for move in moves)

    release.install(**VALUES)
    assert cycle() == 0
    release.switch("Enforce")
    assert account_of(cluster.api) == ACTING
    assert sum(cycle() for _ in range(MOVES + 1)) == MOVES
    kept = outlasting(cluster)
    policy = cluster.api.read(ADMISSION, "MutatingAdmissionPolicy", "rescheduler-steering", "")

    release.switch("Audit")
    assert account_of(cluster.api) == AUDITING
    assert not any(may_evict(cluster.api, account) for account in (AUDITING, ACTING))
    assert unchanged(cluster)
    assert outlasting(cluster) == kept
    assert cycle() == 0

    release.rollback(2)
    assert may_evict(cluster.api, ACTING)
    assert outlasting(cluster) == kept
    assert cycle() == 0, "the hour's budget is spent"

    release.uninstall()
    left = release.present()
    assert left == KEPT
    assert not any(may_evict(cluster.api, account) for account in (AUDITING, ACTING))

    release.install(**VALUES, mode="Enforce")
    assert outlasting(cluster)["claim"] == kept["claim"]
    assert cycle() == 0, "the hour's budget is spent"
    again = cluster.api.read(ADMISSION, "MutatingAdmissionPolicy", "rescheduler-steering", "")
    assert again["metadata"]["uid"] == policy["metadata"]["uid"]
    steers(cluster)

    history = Program(binary).run("history", "--audit-trail", trail, "-o", "json")
    assert history.code == 0, history.stderr


ADMISSION = "admissionregistration.k8s.io/v1"


def outlasting(cluster: Cluster) -> dict[str, Any]:
    """What budgets, cool-downs and the trail are in."""
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    lease = cluster.api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
    claim = cluster.api.read("v1", "PersistentVolumeClaim", "rescheduler-trail", NAMESPACE)
    return {
        "state": state["binaryData"],
        "noted": lease["metadata"]["annotations"],
        "claim": claim["metadata"]["uid"],
    }


def unchanged(cluster: Cluster) -> bool:
    """Whether image, policies and address are still those of the values."""
    deployment = cluster.api.read("apps/v1", "Deployment", "rescheduler", NAMESPACE)
    settings = cluster.api.read("v1", "ConfigMap", "rescheduler-settings", NAMESPACE)["data"]
    policies = cluster.api.read("v1", "ConfigMap", "rescheduler-policies", NAMESPACE)["data"]
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    return bool(
        image == "registry.example.com/rescheduler:1"
        and settings["RESCHEDULER_PROMETHEUS_URL"] == ADDRESS
        and policies == VALUES["policies"]["files"]
    )


def steers(cluster: Cluster) -> None:
    """Wait until a pod with an entry in the table gets the affinity."""
    fill(cluster, encode_entries([entry()]))
    cluster.until(lambda: made(cluster, pod()) is not None, "the policy", 30)
