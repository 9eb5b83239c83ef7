"""Which kinds of objects a snapshot is made of, and where the API server lists them."""

from collections.abc import Sequence
from dataclasses import dataclass

from rescheduler.kube import controllers as kinds
from rescheduler.kube import extensions, storage
from rescheduler.kube.dra import devices
from rescheduler.kube.gang_marks import COSCHEDULING, KAI, KUEUE, NATIVE, VOLCANO, GangObject
from rescheduler.kube.kueue import KUEUE_VERSIONS, ClusterQueue, LocalQueue
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.kube.objects import Base, Node, Pod


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that is listed. right: what the account needs.

    older: its paths in versions that are read where the newer ones are not served, newest first.
    extension: not every cluster serves it. noted: that it is not served is said, since pods that
    need it cannot be judged then. optional: where the right to it is missing, pods that it governs
    are left alone, and others are not.
    """

    name: str
    path: str
    struct: type[Base]
    right: str
    extension: bool = False
    noted: bool = False
    optional: bool = False
    older: tuple[str, ...] = ()


def _older(group: str, versions: Sequence[str], resource: str) -> tuple[str, ...]:
    return tuple(f"/apis/{group}/{version}/{resource}" for version in versions[1:])


POD = Kind("Pod", "/api/v1/pods", Pod, "list pods")
NODE = Kind("Node", "/api/v1/nodes", Node, "list nodes")
LISTS = {
    "namespaces": Kind("Namespace", "/api/v1/namespaces", kinds.Namespace, "list namespaces"),
    "services": Kind("Service", "/api/v1/services", kinds.Service, "list services"),
    "budgets": Kind(
        "PodDisruptionBudget",
        "/apis/policy/v1/poddisruptionbudgets",
        kinds.PodDisruptionBudget,
        "list poddisruptionbudgets.policy",
    ),
    "claims": Kind(
        "PersistentVolumeClaim",
        "/api/v1/persistentvolumeclaims",
        storage.PersistentVolumeClaim,
        "list persistentvolumeclaims",
    ),
    "volumes": Kind(
        "PersistentVolume",
        "/api/v1/persistentvolumes",
        storage.PersistentVolume,
        "list persistentvolumes",
    ),
    "priority_classes": Kind(
        "PriorityClass",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        kinds.PriorityClass,
        "list priorityclasses.scheduling.k8s.io",
    ),
    "autoscalers": Kind(
        "HorizontalPodAutoscaler",
        "/apis/autoscaling/v2/horizontalpodautoscalers",
        kinds.HorizontalPodAutoscaler,
        "list horizontalpodautoscalers.autoscaling",
    ),
    "quotas": Kind(
        "ResourceQuota",
        "/api/v1/resourcequotas",
        kinds.ResourceQuota,
        "list resourcequotas",
    ),
    "limit_ranges": Kind(
        "LimitRange",
        "/api/v1/limitranges",
        LimitRange,
        "list limitranges",
        optional=True,
    ),
    "topologies": Kind(
        "NodeResourceTopology",
        "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
        NodeResourceTopology,
        "list noderesourcetopologies.topology.node.k8s.io",
        extension=True,
    ),
    "cluster_queues": Kind(
        "ClusterQueue",
        f"/apis/{KUEUE}/{KUEUE_VERSIONS[0]}/clusterqueues",
        ClusterQueue,
        "list clusterqueues.kueue.x-k8s.io",
        extension=True,
        older=_older(KUEUE, KUEUE_VERSIONS, "clusterqueues"),
    ),
    "local_queues": Kind(
        "LocalQueue",
        f"/apis/{KUEUE}/{KUEUE_VERSIONS[0]}/localqueues",
        LocalQueue,
        "list localqueues.kueue.x-k8s.io",
        extension=True,
        older=_older(KUEUE, KUEUE_VERSIONS, "localqueues"),
    ),
    **{
        field: Kind(
            name,
            f"/apis/{group}/v1/{name.lower()}{'es' if name.endswith('s') else 's'}",
            struct,
            f"list {name.lower()}{'es' if name.endswith('s') else 's'}.{group}",
            extension=group == "resource.k8s.io",
            noted=True,
        )
        for field, name, group, struct in (
            ("storage_classes", "StorageClass", "storage.k8s.io", storage.StorageClass),
            ("csi_drivers", "CSIDriver", "storage.k8s.io", storage.CSIDriver),
            ("csi_nodes", "CSINode", "storage.k8s.io", storage.CSINode),
            ("attachments", "VolumeAttachment", "storage.k8s.io", storage.VolumeAttachment),
            ("device_classes", "DeviceClass", "resource.k8s.io", devices.DeviceClass),
            ("resource_slices", "ResourceSlice", "resource.k8s.io", devices.ResourceSlice),
            ("resource_claims", "ResourceClaim", "resource.k8s.io", devices.ResourceClaim),
            (
                "claim_templates",
                "ResourceClaimTemplate",
                "resource.k8s.io",
                devices.ResourceClaimTemplate,
            ),
        )
    },
    "device_taint_rules": Kind(
        "DeviceTaintRule",
        "/apis/resource.k8s.io/v1/devicetaintrules",
        devices.DeviceTaintRule,
        "list devicetaintrules.resource.k8s.io",
        extension=True,
        optional=True,
        older=_older("resource.k8s.io", ("v1", "v1beta2"), "devicetaintrules"),
    ),
    "storage_capacities": Kind(
        "CSIStorageCapacity",
        "/apis/storage.k8s.io/v1/csistoragecapacities",
        storage.CSIStorageCapacity,
        "list csistoragecapacities.storage.k8s.io",
    ),
    # Which pods the API server calls: without them a cycle cannot tell what it stands on.
    "validating_webhooks": Kind(
        "ValidatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        extensions.WebhookConfiguration,
        "list validatingwebhookconfigurations.admissionregistration.k8s.io",
    ),
    "mutating_webhooks": Kind(
        "MutatingWebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        extensions.WebhookConfiguration,
        "list mutatingwebhookconfigurations.admissionregistration.k8s.io",
    ),
    "api_services": Kind(
        "APIService",
        "/apis/apiregistration.k8s.io/v1/apiservices",
        extensions.APIService,
        "list apiservices.apiregistration.k8s.io",
    ),
}
"""Field of the snapshot to the kind that fills it."""
CONTROLLERS = tuple(
    Kind(name, path, kinds.Controller, f"list {path.rsplit('/', 1)[1]}{group}")
    for name, path, group in (
        ("ReplicaSet", "/apis/apps/v1/replicasets", ".apps"),
        ("Deployment", "/apis/apps/v1/deployments", ".apps"),
        ("StatefulSet", "/apis/apps/v1/statefulsets", ".apps"),
        ("DaemonSet", "/apis/apps/v1/daemonsets", ".apps"),
        ("Job", "/apis/batch/v1/jobs", ".batch"),
        ("ReplicationController", "/api/v1/replicationcontrollers", ""),
    )
)
OWNERS = (
    Kind("CronJob", "/apis/batch/v1/cronjobs", kinds.Owner, "list cronjobs.batch"),
    *(
        Kind(name, path, kinds.Owner, f"list {name.lower()}s.{path.split('/')[2]}", extension=True)
        for name, path in (
            ("JobSet", "/apis/jobset.x-k8s.io/v1alpha2/jobsets"),
            ("LeaderWorkerSet", "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"),
        )
    ),
)
"""What may be above controllers; people may ask there, too, that pods be left alone."""

GANG_OBJECTS = tuple(
    Kind(
        f"{name}.{group}",
        f"/apis/{group}/{versions[0]}/{name.lower()}s",
        GangObject,
        f"list {name.lower()}s.{group}",
        extension=True,
        older=_older(group, versions, f"{name.lower()}s"),
    )
    for name, group, versions in (
        ("PodGroup", NATIVE, ("v1beta1", "v1alpha3", "v1alpha2")),
        ("PodGroup", COSCHEDULING, ("v1alpha1",)),
        ("PodGroup", VOLCANO, ("v1beta1",)),
        ("PodGroup", KAI, ("v2alpha2",)),
        ("Workload", KUEUE, KUEUE_VERSIONS),
    )
)
"""What says how many pods of a gang must run, by API group."""

MAKERS = frozenset({"ReplicaSet", "StatefulSet", "Job", "ReplicationController"})
"""The kinds whose templates pods are made from."""
