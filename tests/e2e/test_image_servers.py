"""The image as webhook and extender: what the rendered pods serve is asked by the real servers."""

import base64
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from rescheduler.actions.steering.extender_lease import LAST_REQUEST
from rescheduler.runtime.servers.webhook.certificates import make_authority, make_certificate
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import node, nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.controlplane.programs import Layout
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.image.container import PodContainer, UnpackedImage
from tests.e2e.image.rendered import apply_overlay, pod_of
from tests.e2e.loop import AUDITING, KUSTOMIZE, NAMESPACE, SPREAD
from tests.e2e.steering import entry_of, replaced, told, write_table
from tests.runtime.servers.extender.authority import client

pytestmark = pytest.mark.e2e

EXTENDER, WEBHOOK = "rescheduler-extender", "rescheduler-webhook"


@contextmanager
def running(container: PodContainer, cluster: Cluster) -> Iterator[None]:
    """The container, from when it is alive until it has ended in order."""
    (port,) = container.ports.values()
    process = container.start()
    try:
        cluster.until(lambda: is_healthy(port), f"an answer: {container.log}", 60)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    assert code == 0, container.log.read_text()


def is_healthy(port: int) -> bool:
    try:
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"https://127.0.0.1:{port}/healthz", verify=False, timeout=3).ok
    except requests.RequestException:
        return False


def lead_to_loopback(cluster: Cluster, port: int) -> None:
    """Let the API server reach the webhook's Service on this machine, by the port of its pod here.

    It resolves such a Service itself, and asks for the certificate of the Service's own name.
    """
    service = cluster.api.read("v1", "Service", WEBHOOK, NAMESPACE)
    ports = [{"name": "https", "port": port, "targetPort": "https"}]
    gone = {"clusterIP": None, "clusterIPs": None, "ipFamilies": None, "ipFamilyPolicy": None}
    external = {"type": "ExternalName", "externalName": "localhost", "ports": ports}
    cluster.api.patch(service, {"spec": {**gone, **external}})


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_the_webhooks_pod_steers_by_its_own_certificate(
    cluster: Cluster, image: UnpackedImage, tmp_path: Path
) -> None:
    cluster.create(*nodes(6))
    names = sorted(manifest["metadata"]["name"] for manifest in cluster.api.items("v1", "Node"))
    cluster.place(deployment("web", 4), {names[0]: 4})
    apply_overlay(cluster, "enforce-cronjob", {}, {}, "steering-webhook")
    container = PodContainer(
        cluster.api, pod_of(cluster, WEBHOOK, WEBHOOK), image, tmp_path / "pod"
    )
    (port,) = container.ports.values()
    configuration = cluster.api.read(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "rescheduler-steering"
    )
    for hook in configuration["webhooks"]:
        hook["clientConfig"]["service"]["port"] = port
    cluster.api.patch(configuration, {"webhooks": configuration["webhooks"]})
    lead_to_loopback(cluster, port)
    with running(container, cluster):
        first, *_ = cluster.pods("web")
        write_table(cluster, entry_of(first, names[4], names[5]))
        steered = replaced(cluster, first)
    assert told(steered) == set(names[4:])
    assert steered["spec"]["nodeName"] in names[4:]


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_the_extenders_pod_is_asked_by_the_scheduler_with_its_certificate(
    image: UnpackedImage, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    authority = make_authority(datetime.now(UTC))
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    own = str(client(authority, tmp_path))
    tls = {"caFile": str(tmp_path / "ca.crt"), "certFile": own, "keyFile": own}
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-image-"))
    plane = ControlPlane(folder, lambda layout: options(layout, port, tls), audited=False)
    try:
        cluster = Cluster(plane)
        cluster.create(*(node(f"n{number}", zone="abc"[number % 3]) for number in range(6)))
        cluster.place(deployment("web", 6), {"n0": 3, "n1": 3})
        apply_overlay(cluster, "audit-cronjob", {"spread.yaml": SPREAD}, {}, "steering-extender")
        serving = make_certificate(authority, [f"{EXTENDER}.{NAMESPACE}.svc"], datetime.now(UTC))
        files = {"tls.crt": serving.certificate, "tls.key": serving.key}
        files["ca.crt"] = authority.certificate
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        metadata = {"name": EXTENDER, "namespace": NAMESPACE}
        cluster.api.create({**secret, "metadata": metadata, "data": data})
        pod = pod_of(cluster, EXTENDER, AUDITING)
        container = PodContainer(plane.api, pod, image, tmp_path / "pod", {8888: port})
        with running(container, cluster):
            cluster.until(lambda: "refreshed" in container.log.read_text(), "its data", 90)
            # Zones a and b are full of it: what comes next goes to zone c, whatever the room.
            cluster.api.patch(
                cluster.api.read("apps/v1", "Deployment", "web"), {"spec": {"replicas": 8}}
            )
            cluster.settled()
            cluster.until(lambda: LAST_REQUEST in lease_notes(cluster), "a note of who asked", 60)
        placement = cluster.placement("web")
        assert placement["n2"] + placement["n5"] == 2, placement
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)


def lease_notes(cluster: Cluster) -> dict[str, str]:
    """What the extender says of itself, such as when a scheduler asked it last."""
    lease = cluster.api.read("coordination.k8s.io/v1", "Lease", EXTENDER, NAMESPACE)
    return dict(lease["metadata"].get("annotations") or {})


def options(layout: Layout, port: int, tls: dict[str, str]) -> list[str]:
    """kube-scheduler with the example's extender, on this machine."""
    example = KUSTOMIZE / "steering-extender" / "kube-scheduler.example.yaml"
    configuration: dict[str, Any] = yaml.safe_load(example.read_text())
    extender = configuration["extenders"][0]
    extender["urlPrefix"] = f"https://127.0.0.1:{port}"
    extender["tlsConfig"] |= tls
    extender["httpTimeout"] = "2s"  # the machine is shared with the tests
    kubeconfig = str(layout.kubeconfig("system-kube-scheduler"))
    configuration["clientConnection"] = {"kubeconfig": kubeconfig}
    configuration["leaderElection"] = {"leaderElect": False}
    path = layout.root / "scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    return [f"--config={path}"]
