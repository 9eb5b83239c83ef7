"""JobSet itself on a test cluster: its CRD, its controllers, and its webhooks, which it needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.modules import config, define
from tests.e2e.builders.webhooks import present, register
from tests.e2e.builders.workloads import job
from tests.e2e.controlplane.api import ApiError, Manifest
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, free_ports
from tests.e2e.controlplane.versions import JOBSET

API = "jobset.x-k8s.io/v1alpha2"


@contextmanager
def jobset_controller(cluster: Cluster, folder: Path) -> Iterator[Process]:
    """JobSet, as `admin`, once its webhooks answer."""
    manifests = config(JOBSET, "sigs.k8s.io/jobset")
    define(cluster, manifests, API, "JobSet")
    certificates = folder / "jobset-certificates"
    authority = present(certificates)
    (port,) = free_ports(1)
    settings = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    path = folder / "jobset.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    kubeconfig = f"--kubeconfig={cluster.control_plane.kubeconfig}"
    command = [str(binaries((JOBSET,))["jobset"]), f"--config={path}", kubeconfig]
    process = Process("jobset", command, folder)
    try:
        register(cluster, manifests / "webhook" / "manifests.yaml", port, authority)
        process.wait_until(lambda: _answers(cluster), 60)
        yield process
    finally:
        process.stop()


def jobset(name: str, parts: Mapping[str, tuple[int, int]], **pod: Any) -> Manifest:
    """A suspended JobSet; `parts` has replicas and pods of each by name, `pod` as in `template`."""
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": {}},
        "spec": {
            "suspend": True,
            "replicatedJobs": [
                {
                    "name": part,
                    "replicas": replicas,
                    "template": {"spec": job(name, pods, **pod)["spec"]},
                }
                for part, (replicas, pods) in parts.items()
            ],
        },
    }


def _answers(cluster: Cluster) -> bool:
    """Whether a JobSet could be created; nothing is."""
    tried = jobset("tried", {"part": (1, 1)})
    try:
        cluster.api.request("POST", f"/apis/{API}/namespaces/default/jobsets?dryRun=All", tried)
    except ApiError:
        return False
    return True
