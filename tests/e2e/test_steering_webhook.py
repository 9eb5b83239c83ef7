"""The webhook steers replacements on a real API server, and never keeps a pod from being made."""

import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from rescheduler.actions.steering.steering_format import SEEN, SEEN_BY
from rescheduler.kube.pods.steered_affinity import steered_affinity
from rescheduler.runtime.servers.webhook.certificates import (
    KeyPair,
    make_authority,
    make_certificate,
)
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.loop import NAMESPACE
from tests.e2e.program import ROOT, Program
from tests.e2e.steering import entry_of, replaced, write_table

pytestmark = pytest.mark.e2e

FOLDER = ROOT / "deploy" / "kustomize" / "steering-webhook"
LISTENING = re.compile(r"port[=\": ]+(\d+)")


class Webhook:
    """The program as the webhook of this cluster, under the rights that deploy/ gives it."""

    def __init__(self, cluster: Cluster, binary: Path, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        apply_manifests(cluster.api, [FOLDER / "access.yaml"])
        cluster.until(lambda: cluster.control_plane.has_service_account(NAMESPACE), "the account")
        kubeconfig = cluster.control_plane.kubeconfig_for(NAMESPACE, "rescheduler-webhook")
        self.program = Program(binary, kubeconfig)
        self.authority = make_authority(datetime.now(UTC))
        self._present(make_certificate(self.authority, ["localhost"], datetime.now(UTC)))
        self._process: subprocess.Popen[bytes] | None = None
        self._logs = 0

    def _present(self, pair: KeyPair) -> None:
        (self.folder / "tls.crt").write_bytes(pair.certificate)
        (self.folder / "tls.key").write_bytes(pair.key)

    def start(self) -> None:
        self._logs += 1
        log = self.folder / f"webhook-{self._logs}.log"
        files: list[str | Path] = [
            "--tls-cert-file",
            self.folder / "tls.crt",
            "--tls-key-file",
            self.folder / "tls.key",
        ]
        self._process = self.program.start(
            "webhook", "--listen", "127.0.0.1:0", "--log-format", "json", *files, log=log
        )
        self.cluster.until(lambda: bool(LISTENING.search(log.read_text())), "the webhook")
        found = LISTENING.search(log.read_text())
        assert found is not None
        self.register(int(found[1]))

    def register(self, port: int) -> None:
        """Let the API server ask that port; it has no Service network to reach one by name."""
        import base64  # noqa: PLC0415

        (manifest,) = yaml.safe_load_all((FOLDER / "configuration.yaml").read_text())
        bundle = base64.b64encode(self.authority.certificate).decode()
        client = {"url": f"https://localhost:{port}/steer", "caBundle": bundle}
        for webhook in manifest["webhooks"]:
            webhook["clientConfig"] = client
        self.cluster.api.apply(manifest)
        time.sleep(0.5)  # the API server hears of it by a watch

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(10) == 0
            self._process = None


@pytest.fixture
def webhook(cluster: Cluster, binary: Path, tmp_path: Path) -> Iterator[Webhook]:
    cluster.namespace(NAMESPACE)
    made = Webhook(cluster, binary, tmp_path)
    yield made
    made.stop()


def made_within(cluster: Cluster, name: str) -> float:
    """Seconds that the API server takes to make a pod of a ReplicaSet's kind."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "x",
        "uid": "u-1",
        "controller": True,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "gone"},
    }
    began = time.monotonic()
    cluster.api.create(pod)
    return time.monotonic() - began


def test_as_many_replacements_are_steered_as_the_table_says(
    cluster: Cluster, webhook: Webhook
) -> None:
    cluster.create(*nodes(6))
    names = sorted(manifest["metadata"]["name"] for manifest in cluster.api.items("v1", "Node"))
    zone = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    cluster.place(deployment("web", 4, affinity=affinity), {names[0]: 4})
    webhook.start()
    first, second, *_ = cluster.pods("web")
    write_table(cluster, entry_of(first, names[4], names[5]))
    table = cluster.api.read("v1", "ConfigMap", "rescheduler-steering", NAMESPACE)
    updated = cluster.api.request("PUT", cluster.api.path(table), table, params={"dryRun": "All"})
    for stamp in (SEEN, f"{SEEN_BY}Webhook"):
        assert updated["metadata"]["annotations"][stamp] == table["metadata"]["resourceVersion"]
    steered = replaced(cluster, first)
    assert steered["spec"]["nodeName"] in names[4:]
    merged = steered_affinity(affinity, names[4:], require=True)
    assert steered["spec"]["affinity"] == merged
    # Nobody has taken the entry out yet, and still the next pod is made as its template says.
    assert replaced(cluster, second)["spec"]["affinity"] == affinity
    write_table(cluster)
    webhook.stop()


def test_a_webhook_that_is_down_slow_or_untrusted_holds_up_no_pod(
    cluster: Cluster, webhook: Webhook
) -> None:
    webhook.start()
    usual = [made_within(cluster, f"usual-{number}") for number in range(20)]
    assert max(usual) < 0.5
    webhook.stop()
    assert made_within(cluster, "down") < 0.5
    with contextlib.closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        webhook.register(silent.getsockname()[1])
        assert made_within(cluster, "slow") < 1.5
    webhook.start()
    webhook.authority = make_authority(datetime.now(UTC))
    (port,) = {
        hook["clientConfig"]["url"].split(":")[2].split("/")[0]
        for hook in cluster.api.read(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "rescheduler-steering",
        )["webhooks"]
    }
    webhook.register(int(port))
    assert made_within(cluster, "untrusted") < 0.5


def test_its_certificate_is_in_the_cluster_and_known_to_the_api_server(
    cluster: Cluster, webhook: Webhook, tmp_path: Path
) -> None:
    apply_manifests(cluster.api, [FOLDER / "configuration.yaml"])
    log = tmp_path / "own.log"
    process = webhook.program.start(
        "webhook", "--listen", "127.0.0.1:0", "--log-format", "json", log=log
    )
    try:
        cluster.until(lambda: bool(LISTENING.search(log.read_text())), "the webhook")
    finally:
        process.terminate()
        process.wait(10)
    kept = cluster.api.read("v1", "Secret", "rescheduler-webhook", NAMESPACE)["data"]
    assert set(kept) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    hooks = cluster.api.read(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "rescheduler-steering"
    )["webhooks"]
    assert {hook["clientConfig"]["caBundle"] for hook in hooks} == {kept["ca.crt"]}
