"""Entries of the table that steers, and pods that are made while they stand."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.model.moves.steering_entry import SteeringEntry
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Manifest
from tests.e2e.loop import NAMESPACE
from tests.e2e.program import ROOT
from tests.runtime.servers import entries

KUSTOMIZE = ROOT / "deploy" / "kustomize"
OWNER = "7b4ef0d6-0000-4000-8000-000000000001"


def entry(owner: str = OWNER, **more: Any) -> SteeringEntry:
    fields: dict[str, Any] = {
        "namespace": "default",
        "hostnames": ("n1", "n2"),
        "strength": "Require",
        "deadline": datetime.now(UTC) + timedelta(hours=1),
        **more,
    }
    return entries.entry(owner=owner, **fields)


def fill(cluster: Cluster, data: dict[str, str]) -> None:
    metadata = {"name": TABLE, "namespace": NAMESPACE}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    cluster.api.apply(manifest)


def pod(owner: str = OWNER, template: str = "abc", affinity: Any = None, **more: Any) -> Manifest:
    metadata: dict[str, Any] = {
        "generateName": "x-",
        "namespace": "default",
        "labels": {"pod-template-hash": template} if template else {},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "x",
                "uid": owner,
                "controller": True,
            }
        ],
        **more,
    }
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "pause"}]}
    if affinity is not None:
        spec["affinity"] = affinity
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def made(cluster: Cluster, manifest: Manifest) -> Any:
    """The affinity that the API server would give this pod, None for none."""
    path = f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods?dryRun=All"
    return cluster.api.request("POST", path, manifest)["spec"].get("affinity")
