"""Kueue itself on a test cluster: its CRDs, its controllers, a queue. No webhook is registered.

So a Job is created suspended, as its webhook would make it.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import ApiError, Manifest
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.controlplane.versions import KUEUE

API = "kueue.x-k8s.io/v1beta1"
KINDS = ("Workload", "ClusterQueue", "LocalQueue", "ResourceFlavor")


@contextmanager
def kueue(cluster: Cluster, folder: Path) -> Iterator[Process]:
    """Kueue with the integration of Jobs, as `admin`."""
    for each in _crds():
        cluster.api.apply(each)
    cluster.create(*_surroundings())
    for kind in KINDS:
        cluster.until(partial(_served, cluster, kind), f"{kind} is served")
    process = Process("kueue", _command(cluster, folder), folder)
    try:
        yield process
    finally:
        process.stop()


def queue(cpu: str, name: str = "all") -> list[Manifest]:
    """A ClusterQueue with so much quota in one flavor, and LocalQueue `team` of `default`."""
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "usual", "resources": resources}]}
    return [
        {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "usual"}, "spec": {}},
        {
            "apiVersion": API,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": API,
            "kind": "LocalQueue",
            "metadata": {"name": "team", "namespace": "default"},
            "spec": {"clusterQueue": name},
        },
    ]


def workloads(cluster: Cluster) -> list[Manifest]:
    """The Workloads of `default`."""
    path = f"/apis/{API}/namespaces/default/workloads"
    found: list[Manifest] = cluster.api.request("GET", path)["items"]
    return found


def admitted(workload: Manifest) -> bool:
    """Whether it was admitted."""
    conditions = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions)


def _surroundings() -> list[Manifest]:
    """What it looks after of its certificate; the webhooks that it would serve are none."""
    metadata = {"name": "kueue-webhook-server-cert", "namespace": "kueue-system"}
    configurations = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{each}WebhookConfiguration",
            "metadata": {"name": f"kueue-{each.lower()}-webhook-configuration"},
        }
        for each in ("Validating", "Mutating")
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata},
        *configurations,
    ]


def _served(cluster: Cluster, kind: str) -> bool:
    try:
        cluster.api.request("GET", f"/apis/{API}/{kind.lower()}s")
    except ApiError:
        return False
    return True


def _crds() -> list[Manifest]:
    """The definitions that come with this version."""
    found = subprocess.run(
        ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"],
        cwd=KUEUE.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    bases = Path(found.stdout.strip()) / "config" / "components" / "crd" / "bases"
    return [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(bases.glob("*.yaml"))]


def _command(cluster: Cluster, folder: Path) -> list[str]:
    """It serves webhooks in any case, so that it gets a certificate, as mounted from its Secret."""
    certificates = folder / "kueue-certificates"
    certificates.mkdir(parents=True)
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-keyout", str(certificates / "tls.key"), "-out", str(certificates / "tls.crt")),
            *("-subj", "/CN=localhost"),
        ],
        check=True,
        capture_output=True,
    )
    webhook, probes = free_ports(2)
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": webhook, "host": "127.0.0.1", "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "integrations": {"frameworks": ["batch/job"]},
    }
    path = folder / "kueue.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return [
        str(binaries((KUEUE,))["kueue"]),
        f"--config={path}",
        f"--kubeconfig={cluster.control_plane.kubeconfig}",
        "--feature-gates=VisibilityOnDemand=false",
        "--zap-log-level=2",
    ]
