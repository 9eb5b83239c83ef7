"""Clusters that are listed as Kubernetes objects, as `kubectl get -o yaml` writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec

from rescheduler.kube.controllers import (
    Controller,
    Namespace,
    Owner,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
    Service,
)
from rescheduler.kube.dra.devices import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.objects import Condition, Node, Pod
from rescheduler.kube.pods.affinity_terms import every_term, merge_label_keys
from rescheduler.kube.pods.pod_state import has_ended
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.policytest.drawing import VERSION
from rescheduler.policytest.object_builders import HOSTNAME, NOW, READY, ROOM, namespaces
from rescheduler.policytest.topologies import topology_of

_KINDS: dict[str, tuple[str, type]] = {
    "Node": ("nodes", Node),
    "Pod": ("pods", Pod),
    "Namespace": ("namespaces", Namespace),
    "Service": ("services", Service),
    "PodDisruptionBudget": ("budgets", PodDisruptionBudget),
    "PersistentVolume": ("volumes", PersistentVolume),
    "PersistentVolumeClaim": ("claims", PersistentVolumeClaim),
    "LimitRange": ("limit_ranges", LimitRange),
    "ResourceQuota": ("quotas", ResourceQuota),
    "PriorityClass": ("priority_classes", PriorityClass),
    "DeviceClass": ("device_classes", DeviceClass),
    "ResourceSlice": ("resource_slices", ResourceSlice),
    "DeviceTaintRule": ("device_taint_rules", DeviceTaintRule),
    "ResourceClaim": ("resource_claims", ResourceClaim),
    "ResourceClaimTemplate": ("claim_templates", ResourceClaimTemplate),
    "PodGroup": ("gang_objects", GangObject),
    "Workload": ("gang_objects", GangObject),
    "ClusterQueue": ("cluster_queues", ClusterQueue),
    "LocalQueue": ("local_queues", LocalQueue),
    "Deployment": ("controllers", Controller),
    "ReplicaSet": ("controllers", Controller),
    "StatefulSet": ("controllers", Controller),
    "DaemonSet": ("controllers", Controller),
    "Job": ("controllers", Controller),
    "ReplicationController": ("controllers", Controller),
    "CronJob": ("owners", Owner),
    "JobSet": ("owners", Owner),
    "LeaderWorkerSet": ("owners", Owner),
}
_OF_THE_CLUSTER = frozenset(
    {
        "Node",
        "Namespace",
        "PersistentVolume",
        "PriorityClass",
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
        "ClusterQueue",
    }
)


class ListingError(ValueError):
    """An object that cannot be used. index: in the list, from 0."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def cluster_of_objects(
    objects: Sequence[Mapping[str, Any]], zones: Mapping[str, Mapping[str, Any]]
) -> Snapshot:
    """The cluster of these objects, without readings; it plays at `NOW`.

    What is left out is as in a drawing: nodes with room, everything Ready and a day old.

    Raises:
        ListingError: an object is of no kind that we know, or not as Kubernetes writes it.
    """
    fields: dict[str, list[Any]] = {"nodes": [], "pods": []}
    for index, manifest in enumerate(objects):
        kind = str(manifest.get("kind"))
        if kind not in _KINDS:
            raise ListingError(index, f"kind `{kind}` is not one of {', '.join(_KINDS)}")
        field, model = _KINDS[kind]
        try:
            made: Any = msgspec.convert(manifest, model)
        except msgspec.ValidationError as error:
            raise ListingError(index, f"{kind}: {error}") from error
        if not made.metadata.name:
            raise ListingError(index, f"{kind}: metadata.name is required")
        _complete(made, kind)
        fields.setdefault(field, []).append(made)
    namespace_names = {namespace.metadata.name for namespace in fields.get("namespaces", [])}
    fields["namespaces"] = [
        *fields.get("namespaces", []),
        *(
            namespace
            for namespace in namespaces(fields["pods"])
            if namespace.metadata.name not in namespace_names
        ),
    ]
    bare = Snapshot(taken=NOW, cluster=Cluster(uid="cluster-1", version=VERSION), nodes=[], pods=[])
    everyone: list[Pod] = fields["pods"]
    fields["failed"] = [pod for pod in everyone if pod.status.phase == "Failed"]
    fields["pods"] = [pod for pod in everyone if not has_ended(pod)]
    topologies = [topology_of(name, zone) for name, zone in zones.items()]
    made_of: dict[str, Any] = {**fields, "topologies": topologies}
    return replace(bare, **made_of)


def _complete(made: Any, kind: str) -> None:
    """What the cluster would have filled in, so that a listing may be short: Ready since long."""
    metadata = made.metadata
    if kind not in _OF_THE_CLUSTER and not metadata.namespace:
        metadata.namespace = "default"
    metadata.uid = metadata.uid or f"{kind}-{metadata.namespace}-{metadata.name}"
    metadata.creationTimestamp = metadata.creationTimestamp or NOW - timedelta(days=1)
    if isinstance(made, Owner):
        made.kind = kind
    elif isinstance(made, Node):
        made.status.conditions = made.status.conditions or _ready()
        made.status.allocatable = made.status.allocatable or dict(ROOM)
        made.metadata.labels = {HOSTNAME: metadata.name, **(metadata.labels or {})}
    elif isinstance(made, Pod):
        made.node, made.spec.nodeName = made.spec.nodeName or "", None
        made.status.phase = made.status.phase or ("Running" if made.node else "Pending")
        if made.node and made.status.conditions is None:
            made.status.conditions = _ready()
        for term in every_term(made.spec.affinity):
            merge_label_keys(term, metadata.labels or {})


def _ready() -> list[Condition]:
    return msgspec.convert([READY], list[Condition])
