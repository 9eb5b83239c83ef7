"""What stands around workloads: budgets, Services, volumes and priorities."""

from typing import Any

from tests.e2e.builders.nodes import HOSTNAME

Manifest = dict[str, Any]
# Static volumes need a class that no provisioner answers to.
STATIC = "static"


def budget(
    app: str,
    *,
    namespace: str = "default",
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    name: str | None = None,
    unhealthy: str | None = None,
) -> Manifest:
    """A PodDisruptionBudget over the pods labelled `app: <app>`; exactly one of the two limits.

    unhealthy: `AlwaysAllow` or `IfHealthyBudget`.
    """
    if (min_available is None) == (max_unavailable is None):
        raise ValueError("a budget has exactly one of min_available and max_unavailable")
    spec: Manifest = {"selector": {"matchLabels": {"app": app}}}
    if min_available is not None:
        spec["minAvailable"] = min_available
    else:
        spec["maxUnavailable"] = max_unavailable
    if unhealthy is not None:
        spec["unhealthyPodEvictionPolicy"] = unhealthy
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name or app, "namespace": namespace},
        "spec": spec,
    }


def service(app: str, *, namespace: str = "default", headless: bool = False) -> Manifest:
    """A Service over the pods labelled `app: <app>`."""
    spec: Manifest = {"selector": {"app": app}, "ports": [{"port": 80}]}
    if headless:
        spec["clusterIP"] = "None"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app, "namespace": namespace},
        "spec": spec,
    }


def volume(name: str, *, size: str = "10Gi", node: str | None = None) -> Manifest:
    """A PersistentVolume for the claim of the same name; local to `node` where one is given."""
    spec: Manifest = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": STATIC,
    }
    if node is None:
        spec["csi"] = {"driver": "disk.test", "volumeHandle": name}
    else:
        spec["local"] = {"path": f"/mnt/{name}"}
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim(
    name: str, *, namespace: str = "default", size: str = "10Gi", volume_name: str | None = None
) -> Manifest:
    """A PersistentVolumeClaim of the static volume of the same name (or `volume_name`)."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": STATIC,
            "volumeName": volume_name or name,
            "resources": {"requests": {"storage": size}},
        },
    }


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> Manifest:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }
