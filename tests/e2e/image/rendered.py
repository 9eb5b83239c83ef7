"""All that deploy/kustomize says on the API server, and the pods that controllers make of it."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.loop import KUSTOMIZE, NAMESPACE, gathered, leave_past_run

_STRATEGIC = "application/strategic-merge-patch+json"


def apply_overlay(
    cluster: Cluster,
    overlay: str,
    policies: Mapping[str, str],
    settings: Mapping[str, str],
    *components: str,
) -> None:
    """Apply an overlay with its patches, with these policies and these settings beside its own."""
    folder = KUSTOMIZE / "overlays" / overlay
    for part in (folder, *(KUSTOMIZE / component for component in components)):
        apply_manifests(cluster.api, gathered(part), namespace=NAMESPACE)
    leave_past_run(cluster)
    stored = cluster.api.read("v1", "ConfigMap", "rescheduler-policies", NAMESPACE)
    cluster.api.patch(stored, {"data": None})
    cluster.api.patch(stored, {"data": dict(policies)})
    stored = cluster.api.read("v1", "ConfigMap", "rescheduler-settings", NAMESPACE)
    cluster.api.patch(stored, {"data": dict(settings)})
    for patch in yaml.safe_load((folder / "kustomization.yaml").read_text()).get("patches", ()):
        change = yaml.safe_load((folder / patch["path"]).read_text())
        cluster.api.request("PATCH", cluster.api.path(change), change, content_type=_STRATEGIC)


def pod_of(cluster: Cluster, app: str, account: str) -> Manifest:
    """The pod of a Deployment that runs as this account, once the controllers have made it."""
    pods: list[Manifest] = []

    def is_made() -> bool:
        labelled = {"labelSelector": f"app.kubernetes.io/name={app}"}
        items = cluster.api.items("v1", "Pod", NAMESPACE, **labelled)
        pods[:] = [pod for pod in items if pod["spec"]["serviceAccountName"] == account]
        return bool(pods)

    cluster.until(is_made, f"a pod of {app}")
    return pods[0]


def pod_of_cronjob(cluster: Cluster, account: str) -> Manifest:
    """The pod of a Job from the CronJob, as `kubectl create job --from` makes one."""
    cronjob = cluster.api.read("batch/v1", "CronJob", "rescheduler", NAMESPACE)
    metadata = {"name": "first", "namespace": NAMESPACE}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    cluster.api.create({**job, "spec": cronjob["spec"]["jobTemplate"]["spec"]})
    return pod_of(cluster, "rescheduler", account)


def files_of(folder: Path) -> dict[str, str]:
    """The files of a folder, as configMapGenerator takes them."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
