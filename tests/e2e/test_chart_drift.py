"""Nothing that was applied changes by itself, and kubectl removes what no label keeps."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.chart_sets import EVERYTHING, URL
from tests.e2e.controlplane.api import Manifest
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.installation import KEPT, Installation, deployed_program
from tests.e2e.installers import answer_of, helm_objects, objects_in, write_kustomization
from tests.e2e.loop import NAMESPACE
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

MANAGER = "argocd-controller"
MINUTE = 60


def applied(cluster: Cluster, manifest: Manifest, **more: str) -> Manifest:
    """Server-side apply, as Argo CD and Flux do it; more: as dryRun."""
    params = {"fieldManager": MANAGER, "force": "true", **more}
    kind = "application/apply-patch+yaml"
    answer = cluster.api.request("PATCH", cluster.api.path(manifest), manifest, params, kind)
    return dict(answer)


def compared(manifest: Manifest) -> Manifest:
    """What a difference is looked for in: all but the server's own notes."""
    noted = {"managedFields", "resourceVersion", "generation"}
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in noted}
    return {**manifest, "metadata": metadata}


def test_a_minute_later_nothing_differs_from_what_was_applied(
    binary: Path, cluster: Cluster, metrics: Metrics, tmp_path: Path
) -> None:
    """While the program acts, and the webhook writes its certificate and its authority."""
    values: dict[str, Any] = {
        "mode": "Enforce",
        "createNamespace": True,
        "prometheus": {"url": URL},
        "doctor": False,
        **EVERYTHING,
    }
    objects = helm_objects(tmp_path, values)
    objects.sort(key=lambda manifest: manifest["kind"] != "Namespace")
    for manifest in objects:
        applied(cluster, manifest)
    assert admitted_pods(cluster, objects) == ["extender", "rescheduler", "webhook"]
    began = time.monotonic()
    trail = tmp_path / "trail"
    trail.mkdir()
    program, _ = deployed_program(
        cluster, binary, metrics.url, tmp_path, RESCHEDULER_AUDIT_TRAIL=f"{trail}/"
    )
    program.run("run", "--once")
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    assert state["binaryData"], "it wrote its state"
    plane = cluster.control_plane
    served = Program(binary, plane.kubeconfig_for(NAMESPACE, "rescheduler-webhook"))
    webhook_writes(cluster, served, tmp_path)
    time.sleep(max(0.0, MINUTE - (time.monotonic() - began)))
    for manifest in objects:
        live = cluster.api.request("GET", cluster.api.path(manifest))
        predicted = applied(cluster, manifest, dryRun="All")
        assert compared(predicted) == compared(live), manifest["metadata"]["name"]


def admitted_pods(cluster: Cluster, objects: list[Manifest]) -> list[str]:
    """The containers whose pods the namespace admits, which enforces the restricted standard."""
    namespace = cluster.api.read("v1", "Namespace", NAMESPACE, "")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    path, admitted = f"/api/v1/namespaces/{NAMESPACE}/pods", []
    for manifest in objects:
        if manifest["kind"] == "Deployment":
            pod = manifest["spec"]["template"]
            pod = {**pod, "metadata": {**pod["metadata"], "generateName": "tried-"}}
            answer = cluster.api.request("POST", path, pod, {"dryRun": "All"})
            admitted.append(answer["spec"]["containers"][0]["name"])
    return sorted(admitted)


def webhook_writes(cluster: Cluster, program: Program, folder: Path) -> None:
    """Let the webhook run until both configurations name its authority."""
    log = folder / "webhook.log"
    process = program.start("webhook", "--listen", "127.0.0.1:0", log=log)
    path = (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/rescheduler-steering"
    )

    def registered() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        configuration = cluster.api.request("GET", path)
        return all(hook["clientConfig"].get("caBundle") for hook in configuration["webhooks"])

    try:
        cluster.until(registered, f"the webhook: {log}", 60)
    finally:
        process.terminate()
        process.wait(20)


def test_kubectl_removes_all_but_what_the_label_keeps(cluster: Cluster, tmp_path: Path) -> None:
    """As deploy/README.md says; a second installation finds the state and the policy."""
    folder = write_kustomization(
        tmp_path, "enforce-deployment", ("steering-policy", "trail-volume", "fence", "remembering")
    )
    kubeconfig = cluster.control_plane.kubeconfig
    release = Installation(cluster, tmp_path)

    def kubectl(*arguments: str) -> str:
        return answer_of("kubectl", *arguments, kubeconfig=kubeconfig)

    release.rendered = objects_in(kubectl("kustomize", str(folder)))
    kubectl("apply", "--server-side", "-k", str(folder))
    assert release.present() > KEPT - {("Lease", "rescheduler")}
    kubectl("delete", "-k", str(folder), "-l", "rescheduler.io/keep!=true")
    assert release.present() == KEPT - {("Lease", "rescheduler")}
    assert "No resources" not in kubectl("apply", "--server-side", "-k", str(folder))
