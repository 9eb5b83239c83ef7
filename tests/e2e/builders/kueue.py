"""Kueue itself on a test cluster: its CRDs, its controllers, a queue. No webhook is registered.

So a Job is created suspended, as its webhook would make it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.modules import config, define
from tests.e2e.builders.webhooks import present
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.controlplane.versions import KUEUE

API = "kueue.x-k8s.io/v1beta1"
KINDS = ("Workload", "ClusterQueue", "LocalQueue", "ResourceFlavor")


@contextmanager
def kueue(cluster: Cluster, folder: Path, *more: str) -> Iterator[Process]:
    """Kueue with the integration of Jobs, as `admin`; `more` are further integrations."""
    define(cluster, config(KUEUE, "sigs.k8s.io/kueue"), API, *KINDS)
    cluster.create(*_surroundings())
    process = Process("kueue", _command(cluster, folder, "batch/job", *more), folder)
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
    return any(
        condition["type"] == "Admitted" and condition["status"] == "True"
        for condition in conditions
    )


def _surroundings() -> list[Manifest]:
    """What it looks after of its certificate; the webhooks that it would serve are none."""
    metadata = {"name": "kueue-webhook-server-cert", "namespace": "kueue-system"}
    configurations = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"kueue-{kind.lower()}-webhook-configuration"},
        }
        for kind in ("Validating", "Mutating")
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata},
        *configurations,
    ]


def _command(cluster: Cluster, folder: Path, *frameworks: str) -> list[str]:
    """It serves webhooks in any case, so that it gets a certificate."""
    present(folder / "kueue-certificates")
    webhook, probes = free_ports(2)
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {
            "port": webhook,
            "host": "127.0.0.1",
            "certDir": str(folder / "kueue-certificates"),
        },
        "leaderElection": {"leaderElect": False},
        "integrations": {"frameworks": list(frameworks)},
    }
    path = folder / "kueue.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return [
        str(binaries((KUEUE,))["kueue"]),
        f"--config={path}",
        f"--kubeconfig={cluster.control_plane.kubeconfig}",
        "--feature-gates=VisibilityOnDemand=false",
        "--zap-log-level=2",
    ]
