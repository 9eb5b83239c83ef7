"""Objects of small clusters, from Kubernetes' own JSON as real ones are; unchanged for a day."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rescheduler.kube.controllers import Controller, Namespace, PodDisruptionBudget
from rescheduler.kube.objects import Node, Pod, PodStatus

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
"""When every policy test plays."""
LONG_AGO = (NOW - timedelta(days=1)).isoformat()

ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110"}
"""What a node can hold unless a policy test sets otherwise."""
HOSTNAME = "kubernetes.io/hostname"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}


def node(
    name: str,
    *,
    zone: str | None = None,
    allocatable: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Mapping[str, str]] = (),
    **spec: Any,
) -> Node:
    """A Ready node of 8 CPUs, 32 GiB and 110 pods, unless given otherwise."""
    zoned = {"topology.kubernetes.io/zone": zone} if zone else {}
    room = {**ROOM, **(allocatable or {})}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": f"node-{name}",
                "creationTimestamp": LONG_AGO,
                "labels": {HOSTNAME: name, **zoned, **(labels or {})},
            },
            "spec": {"taints": list(taints), **spec},
            "status": {"allocatable": room, "capacity": room, "conditions": [READY]},
        },
        Node,
    )


def pod(  # noqa: PLR0913 - a pod has that many sides
    name: str,
    on: str = "",
    *,
    namespace: str = "default",
    owner: Controller | None = None,
    requests: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "Running",
    **spec: Any,
) -> Pod:
    """A pod that is Running and Ready on that node; Pending where no node is given.

    spec: further fields of the pod's spec in Kubernetes' JSON (affinity, tolerations, volumes).
    """
    reference = (
        [
            {
                "kind": owner.kind,
                "name": owner.metadata.name,
                "uid": owner.metadata.uid,
                "controller": True,
            }
        ]
        if owner
        else []
    )
    container = {
        "name": "main",
        "image": "app:1",
        "resources": {"requests": dict(requests or {"cpu": "100m"})},
    }
    made = msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"pod-{namespace}-{name}",
                "resourceVersion": "1",
                "creationTimestamp": LONG_AGO,
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
                "ownerReferences": reference,
            },
            "spec": {"containers": [container], "priority": 0, **spec},
            "status": {
                "phase": phase if on else "Pending",
                "startTime": LONG_AGO,
                "conditions": [READY] if on else [],
            },
        },
        Pod,
    )
    made.node = on
    return made


def controller(
    kind: str,
    name: str,
    *,
    namespace: str = "default",
    replicas: int = 3,
    owner: Controller | None = None,
    app: str = "",
    **spec: Any,
) -> Controller:
    """A controller of the pods with label `app` (its name), with all replicas Ready for a day."""
    reference = (
        [
            {
                "kind": owner.kind,
                "name": owner.metadata.name,
                "uid": owner.metadata.uid,
                "controller": True,
            }
        ]
        if owner
        else []
    )
    return msgspec.convert(
        {
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"{kind}-{namespace}-{name}",
                "generation": 1,
                "creationTimestamp": LONG_AGO,
                "ownerReferences": reference,
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": app or name}},
                **spec,
            },
            "status": {
                "replicas": replicas,
                "readyReplicas": replicas,
                "updatedReplicas": replicas,
                "availableReplicas": replicas,
                "observedGeneration": 1,
            },
        },
        Controller,
    )


def deployment(
    name: str, *, namespace: str = "default", replicas: int = 3
) -> tuple[Controller, Controller]:
    """A Deployment and its ReplicaSet, whose pods carry label `app`."""
    top = controller("Deployment", name, namespace=namespace, replicas=replicas)
    return top, controller(
        "ReplicaSet", f"{name}-1", namespace=namespace, replicas=replicas, owner=top, app=name
    )


def crash_looping(restarts: int = 100) -> PodStatus:
    """The status of a pod whose container ends again and again."""
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    return msgspec.convert(
        {
            "phase": "Running",
            "startTime": LONG_AGO,
            "conditions": [{**READY, "status": "False"}],
            "containerStatuses": [{"name": "main", "restartCount": restarts, "state": waiting}],
        },
        PodStatus,
    )


def budget(
    name: str,
    app: str,
    *,
    namespace: str = "default",
    allowed: int = 1,
    healthy: int = 3,
    failing: int = 0,
) -> PodDisruptionBudget:
    """A PodDisruptionBudget over label `app` that allows so many disruptions now.

    healthy: how many pods would be, were not so many of them failing.
    """
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"pdb-{name}",
                "generation": 1,
            },
            "spec": {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 1},
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "currentHealthy": healthy - failing,
                "desiredHealthy": healthy - 1,
                "expectedPods": healthy,
            },
        },
        PodDisruptionBudget,
    )


def namespaces(pods: Iterable[Pod]) -> list[Namespace]:
    """A Namespace object for every namespace in use."""
    names = sorted({pod.metadata.namespace for pod in pods} | {"default"})
    return [
        msgspec.convert(
            {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}},
            Namespace,
        )
        for name in names
    ]
