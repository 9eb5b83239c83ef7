"""Kubernetes objects as plain JSON, and what is asked of them again and again."""

from datetime import datetime, timedelta
from typing import Any

from rescheduler.kube.pods.steered_affinity import REQUIRED
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.moves.taint_value import read
from tests.fakes.manners import stamp
from tests.simulation.virtual_time import START

Object = dict[str, Any]
LONG_AGO = stamp(START - timedelta(days=2))
MAINTENANCE = {"key": "example.com/maintenance", "effect": "PreferNoSchedule"}
"""A soft taint of somebody else."""
STATE = ("configmaps", "rescheduler", "rescheduler-state")
LEASE = ("leases", "rescheduler", "rescheduler")


def condition(kind: str, value: str, since: str) -> Object:
    """One of status.conditions."""
    return {"type": kind, "status": value, "lastTransitionTime": since}


def reference(kind: str, owner: Object) -> Object:
    """An ownerReference to a controller."""
    metadata = owner["metadata"]
    return {"kind": kind, "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def pod_template(
    app: str,
    *,
    cpu: float = 0.5,
    labels: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    selector: dict[str, str] | None = None,
) -> Object:
    """The template of an app's pods. selector: the labels of nodes that they ask for."""
    container = {
        "name": "main",
        "image": f"{app}:1",
        "resources": {"requests": {"cpu": f"{int(cpu * 1000)}m", "memory": "256Mi"}},
    }
    return {
        "metadata": {"labels": {"app": app, **(labels or {})}, "annotations": notes or {}},
        "spec": {"containers": [container], "priority": 0, "nodeSelector": selector or {}},
    }


def sized(kind: str, pods: int) -> Object:
    """How many pods a controller wants, in its spec."""
    if kind == "Job":
        ignore = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
        return {"parallelism": pods, "podFailurePolicy": {"rules": [ignore]}}
    return {} if kind == "DaemonSet" else {"replicas": pods}


def takes_pods(path: str) -> bool:
    """Whether a write to this path takes pods away: an eviction, or a Workload of Kueue deleted."""
    return path.endswith("/eviction") or "/workloads/" in path


def uid_of(thing: Object) -> str:
    """metadata.uid."""
    return str(thing["metadata"]["uid"])


def owner_uid(thing: Object) -> str:
    """The UID of what controls the object, or ""."""
    owners = thing["metadata"].get("ownerReferences") or []
    return str(owners[0]["uid"]) if owners else ""


def leaving(thing: Object) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in thing["metadata"]


def is_ready(thing: Object) -> bool:
    """Whether its condition Ready is True."""
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in thing["status"].get("conditions", ())
    )


def taints_of(node: Object) -> list[Object]:
    """spec.taints of a node."""
    return list(node["spec"].get("taints") or ())


def is_hard(taint: Object) -> bool:
    """Whether nothing may be put on a node that bears it."""
    return bool(taint["effect"] != "PreferNoSchedule")


def is_ours(taint: Object) -> bool:
    """Whether it is a soft taint that the rescheduler has set."""
    ours = (taint["key"], taint["effect"]) == (SOFT_TAINT.key, SOFT_TAINT.effect)
    return ours and read(str(taint.get("value") or "")) is not None


def cpu_of(pod: Object) -> float:
    """CPUs that a pod requests."""
    asked = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return float(asked.removesuffix("m")) / 1000


def moment_of(text: str) -> datetime:
    """A Kubernetes Time."""
    return datetime.fromisoformat(text)


def admits(node: Object, pod: Object) -> bool:
    """Whether the node's labels are what the pod asks for, in itself and by its required affinity.

    Of affinity only what steering adds: one value of a label must be among those given.
    """
    labels = node["metadata"]["labels"]
    if not (pod["spec"].get("nodeSelector") or {}).items() <= labels.items():
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
    return terms is None or any(
        all(
            labels.get(expression["key"]) in expression["values"]
            for expression in term["matchExpressions"]
        )
        for term in terms
    )
