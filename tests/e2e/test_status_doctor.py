"""On a real API server: status, pause and doctor say what is so, with rights to read alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.container import Container
from tests.e2e.controlplane.manifests import load_manifests
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus, zone_outage
from tests.e2e.loop import (
    ACTING,
    AUDITING,
    NAMESPACE,
    SPREAD,
    WINDOW,
    Json,
    Loop,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program
from tests.e2e.steering import KUSTOMIZE

pytestmark = pytest.mark.e2e

ADMIN = "rbac.authorization.k8s.io/v1"
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "never", "namespace": "default"},
    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web-0"}}},
}
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "mesh"},
    "webhooks": [
        {
            "name": "inject.mesh.io",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                    "operations": ["CREATE"],
                }
            ],
        }
    ],
}


def admin(actor: Program, cluster: Cluster) -> Program:
    """The program with the rights of an administrator, as on a laptop."""
    return Program(actor.binary, cluster.control_plane.kubeconfig)


def status(program: Program, *more: str | Path) -> Json:
    done = program.run("status", "-o", "json", *more)
    assert done.code == 0, done.stderr
    answer: Json = json.loads(done.stdout)
    return answer


def test_status_tells_of_moves_a_pause_and_budgets(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    laptop = admin(actor, cluster)
    assert [reason["message"] for reason in status(laptop)["reasons"]] == [
        "No cycle has ended yet."
    ]
    zone_outage(cluster)
    unmeasured = Program(actor.binary, actor.kubeconfig)
    policies = write_policies(tmp_path / "policies", SPREAD, swift(per_cycle=2))
    loop = Loop(unmeasured, policies)
    loop.once()
    moved = len(loop.evicted())
    assert moved == 2
    found = status(laptop)
    assert (found["mode"], found["paused"]) == ("Enforce", False)
    assert found["cycles"][0]["cycle"]["evicted"] == moved
    assert found["lock"]["holder"] == ""
    used = {row["limit"]: row for row in found["budgets"] if not row["group"]}
    assert (used["movesPerHour"]["used"], used["movesPerHour"]["remaining"]) == (moved, 900 - moved)
    page = tmp_path / "report.html"
    assert laptop.run("status", "-o", "html", "--out", page).code == 0
    assert page.read_text().startswith("<!doctype html>")

    asked = laptop.run("pause")
    assert (asked.code, "Give --yes" in asked.stderr) == (2, True)
    assert "are paused." in laptop.run("pause", "--yes").stdout
    loop.once(code=0)
    assert len(loop.evicted()) == moved
    found = status(laptop)
    assert [reason["code"] for reason in found["reasons"]] == ["GRD006"]
    assert [row["cycle"]["code"] for row in found["cycles"]] == ["GRD006", ""]
    assert "The pause" in laptop.run("resume", "--yes").stdout
    loop.once(code=None)
    assert len(loop.evicted()) > moved


def test_status_reads_with_few_rights_and_writes_nothing(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    policies = write_policies(tmp_path / "policies", SPREAD, swift())
    zone_outage(cluster)
    Loop(Program(actor.binary, actor.kubeconfig), policies).once(code=None)
    cluster.settled()
    audit = cluster.control_plane.audit
    reader = Program(actor.binary, cluster.control_plane.kubeconfig_for(NAMESPACE, AUDITING))
    mark = audit.mark()
    found = status(reader)
    assert found["cycles"], "the account that reports may read the last report"
    assert found["lock"] is None
    assert any(note.startswith("Who holds the lock is not known") for note in found["notes"])
    user = f"system:serviceaccount:{NAMESPACE}:{AUDITING}"
    written = {record.resource for record in audit.since(mark).writes(by=user)}
    assert written <= {"selfsubjectaccessreviews"}


def doctor(
    program: Program, policies: Path, *more: str | Path, code: int | None = None
) -> list[dict[str, Any]]:
    done = program.run("doctor", "--policies", policies, "-o", "json", *more)
    assert code is None or done.code == code, f"{done.stdout}\n{done.stderr}"
    rows: list[dict[str, Any]] = json.loads(done.stdout)["diagnoses"]
    return rows


def said(rows: list[dict[str, Any]], severity: str, area: str = "") -> str:
    return "\n".join(
        row["message"] for row in rows if row["severity"] == severity and area in ("", row["area"])
    )


@pytest.fixture
def roles(cluster: Cluster) -> Iterator[None]:
    """Objects of the cluster that tests of doctor make, which are gone afterwards."""
    yield
    cluster.api.delete(WEBHOOK)


@pytest.mark.usefixtures("roles")
def test_doctor_finds_what_is_missing(
    cluster: Cluster, actor: Program, metrics: Metrics, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())
    rows = doctor(actor, policies, "--mode", "Enforce", code=0)
    assert said(rows, "error") == ""
    assert said(rows, "warning", "Rights") == "", "deploy/ grants no more than is needed"
    user = f"system:serviceaccount:{NAMESPACE}:{ACTING}"
    assert said(rows, "ok", "Rights").startswith(f"{user} has the ")
    assert "was compared" in said(rows, "ok", "API server")
    assert "answers." in said(rows, "ok", "Prometheus")

    cluster.create(BUDGET, WEBHOOK)
    laptop = admin(actor, cluster)
    binding = cluster.api.read(ADMIN, "ClusterRoleBinding", "rescheduler-evictor", "")
    cluster.api.delete(binding)
    metrics.inject(hidden=("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE"))
    metrics.warm(2 * WINDOW)
    program = Program(laptop.binary, laptop.kubeconfig, metrics.url)
    rows = doctor(program, policies, "--mode", "Enforce", code=1)
    assert f"{user} lacks for mode Enforce: create pods/eviction" in said(rows, "error", "Rights")
    assert "dcgm-exporter is there but does not export" in said(rows, "error", "Exporters")
    assert "1 webhook (inject.mesh.io) may change pods" in said(rows, "note", "Webhooks")


def test_the_job_of_doctor_runs_as_its_manifest_says(
    cluster: Cluster, reporter: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    zone_outage(cluster)
    cluster.create(BUDGET)
    cluster.settled()
    name = {"name": "rescheduler-policies", "namespace": NAMESPACE}
    documents = {"spread.yaml": SPREAD, "limits.yaml": swift()}
    cluster.api.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": documents}
    )
    (job,) = [
        manifest for manifest in load_manifests([KUSTOMIZE / "doctor"]) if manifest["kind"] == "Job"
    ]
    cluster.create(job)  # the API server takes it as it is
    served = cluster.api.read("batch/v1", "Job", job["metadata"]["name"], NAMESPACE)
    folder = tmp_path_factory.mktemp("pod")
    pod = Container(cluster.api, reporter, NAMESPACE, served["spec"]["template"], folder)
    audit = cluster.control_plane.audit
    mark = audit.mark()
    done = pod.run()
    assert done.code == 0, f"{done.stdout}\n{done.stderr}"
    user = f"system:serviceaccount:{NAMESPACE}:{AUDITING}"
    text = " ".join(done.stdout.split())
    assert f"{user} has the " in text
    assert "default/never can never allow an eviction" in text
    assert {record.resource for record in audit.since(mark).writes(by=user)} <= {
        "selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"
    }  # fmt: skip


def test_the_account_of_the_job_needs_no_more_rights_than_reporting(
    cluster: Cluster, reporter: Program, tmp_path: Path
) -> None:
    zone_outage(cluster)
    cluster.create(BUDGET)
    cluster.settled()
    (job,) = [
        manifest for manifest in load_manifests([KUSTOMIZE / "doctor"]) if manifest["kind"] == "Job"
    ]
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == AUDITING
    policies = write_policies(tmp_path / "policies", SPREAD, swift())
    rows = doctor(reporter, policies, code=0)
    assert said(rows, "error") == ""
    assert "default/never can never allow an eviction: maxUnavailable is 0." in said(
        rows, "warning", "PodDisruptionBudgets"
    )
    user = f"system:serviceaccount:{NAMESPACE}:{AUDITING}"
    assert said(rows, "ok", "Rights").startswith(f"{user} has the ")
