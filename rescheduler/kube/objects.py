"""The Kubernetes objects that we read, with only the fields that we use.

Names and nesting are Kubernetes' own. A field that is not named here (an environment variable, a
secret) never enters the program or a recording; one that is missing takes the API's default.
"""

from datetime import datetime
from typing import Any

import msgspec

from rescheduler.kube.security_context import SecurityContext

Labels = dict[str, str]
Resources = dict[str, str | int | float]
"""Kubernetes quantities as they came: `{"cpu": "500m", "nvidia.com/gpu": "1"}`."""
_STARTING = ("", "ContainerCreating", "PodInitializing")


class Base(msgspec.Struct, rename=None, omit_defaults=True, gc=False, kw_only=True):
    """Common settings of every struct here."""


class OwnerReference(Base):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    apiVersion: str = ""
    controller: bool | None = False


class ObjectMeta(Base):
    """metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    labels: Labels | None = None
    annotations: Labels | None = None
    ownerReferences: list[OwnerReference] | None = None
    creationTimestamp: datetime | None = None
    deletionTimestamp: datetime | None = None
    finalizers: list[str] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object, or None (metav1.GetControllerOf)."""
        controllers = [
            reference for reference in self.ownerReferences or () if reference.controller
        ]
        return controllers[0] if controllers else None


class LabelSelectorRequirement(Base):
    """matchExpressions[] of a label selector, and of a node selector term."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Base):
    """A label selector; None and empty mean different things in Kubernetes, so keep them apart."""

    matchLabels: Labels | None = None
    matchExpressions: list[LabelSelectorRequirement] | None = None


class Toleration(Base):
    """spec.tolerations[]."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    tolerationSeconds: int | None = None


class Taint(Base):
    """Node spec.taints[]."""

    key: str = ""
    value: str | None = ""
    effect: str = ""


class NodeSelectorTerm(Base):
    """One term of a node affinity: all requirements must hold; an empty term matches nothing."""

    matchExpressions: list[LabelSelectorRequirement] | None = None
    matchFields: list[LabelSelectorRequirement] | None = None


class NodeSelector(Base):
    """Required node affinity: one of the terms must hold."""

    nodeSelectorTerms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(Base):
    """Preferred node affinity."""

    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(Base):
    """spec.affinity.nodeAffinity."""

    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector | None = None
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredSchedulingTerm] | None = None


class PodAffinityTerm(Base):
    """One inter-pod affinity or anti-affinity term."""

    topologyKey: str = ""
    labelSelector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespaceSelector: LabelSelector | None = None
    matchLabelKeys: list[str] | None = None
    mismatchLabelKeys: list[str] | None = None


class WeightedPodAffinityTerm(Base):
    """One preferred inter-pod term."""

    weight: int = 0
    podAffinityTerm: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(Base):
    """spec.affinity.podAffinity and podAntiAffinity."""

    requiredDuringSchedulingIgnoredDuringExecution: list[PodAffinityTerm] | None = None
    preferredDuringSchedulingIgnoredDuringExecution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Base):
    """spec.affinity."""

    nodeAffinity: NodeAffinity | None = None
    podAffinity: PodAffinity | None = None
    podAntiAffinity: PodAffinity | None = None


class TopologySpreadConstraint(Base):
    """spec.topologySpreadConstraints[]."""

    maxSkew: int = 1
    topologyKey: str = ""
    whenUnsatisfiable: str = "DoNotSchedule"
    labelSelector: LabelSelector | None = None
    minDomains: int | None = None
    nodeAffinityPolicy: str | None = None
    nodeTaintsPolicy: str | None = None
    matchLabelKeys: list[str] | None = None


class ResourceRequirements(Base):
    """Requests and limits of a container or a pod; `claims` only shows whether there are any."""

    requests: Resources | None = None
    limits: Resources | None = None
    claims: list[dict[str, Any]] | None = None


class ContainerPort(Base):
    """containers[].ports[]."""

    name: str = ""
    containerPort: int = 0
    hostPort: int = 0
    hostIP: str = ""
    protocol: str = "TCP"


class RestartRule(Base):
    """containers[].restartPolicyRules[]."""

    action: str = ""


class Container(Base):
    """A container: what it asks for, never its command or environment, nor what a probe does."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] | None = None
    restartPolicy: str | None = None
    restartPolicyRules: list[RestartRule] | None = None
    readinessProbe: Base | None = None
    securityContext: SecurityContext | None = None


class VolumeClaim(Base):
    """volumes[].persistentVolumeClaim."""

    claimName: str = ""


class EmptyDir(Base):
    """volumes[].emptyDir."""

    medium: str = ""


class Volume(Base):
    """A volume that holds data or binds to a node; what VolumeRestrictions evaluates as it came."""

    name: str = ""
    persistentVolumeClaim: VolumeClaim | None = None
    emptyDir: EmptyDir | None = None
    hostPath: dict[str, Any] | None = None
    ephemeral: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    gcePersistentDisk: dict[str, Any] | None = None
    awsElasticBlockStore: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    nfs: Base | None = None
    cephfs: Base | None = None
    fc: Base | None = None
    azureFile: Base | None = None
    flexVolume: Base | None = None


class Named(Base):
    """An entry with only a name that matters (scheduling gates, resource claims)."""

    name: str = ""
    resourceClaimName: str | None = None
    resourceClaimTemplateName: str | None = None


class PodSpec(Base):
    """spec of a pod. Pods of one template share one PodSpec; the node is in `Pod.node`."""

    nodeName: str | None = None
    schedulerName: str = "default-scheduler"
    priority: int | None = None
    priorityClassName: str = ""
    preemptionPolicy: str | None = None
    runtimeClassName: str | None = None
    hostNetwork: bool = False
    hostPID: bool = False
    hostIPC: bool = False
    hostUsers: bool | None = None
    securityContext: SecurityContext | None = None
    terminationGracePeriodSeconds: int | None = 30
    activeDeadlineSeconds: int | None = None
    restartPolicy: str = "Always"
    os: Named | None = None
    nodeSelector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topologySpreadConstraints: list[TopologySpreadConstraint] | None = None
    containers: list[Container] = []
    initContainers: list[Container] | None = None
    overhead: Resources | None = None
    resources: ResourceRequirements | None = None
    volumes: list[Volume] | None = None
    schedulingGates: list[Named] | None = None
    readinessGates: list[Base] | None = None
    resourceClaims: list[Named] | None = None
    schedulingGroup: dict[str, Any] | None = None
    workloadRef: dict[str, Any] | None = None
    evictionResponders: list[Named] | None = None


class Condition(Base):
    """status.conditions[]."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    lastTransitionTime: datetime | None = None


class ContainerStateWaiting(Base):
    """state.waiting of a container."""

    reason: str = ""


class ContainerStateTerminated(Base):
    """state.terminated of a container."""

    exitCode: int = 0
    reason: str | None = None


class ContainerState(Base):
    """state of a container: what it waits for, or how it has ended."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Base):
    """status.containerStatuses[]."""

    name: str = ""
    restartCount: int = 0
    ready: bool = False
    state: ContainerState | None = None
    allocatedResources: Resources | None = None
    resources: ResourceRequirements | None = None


class PodStatus(Base):
    """status of a pod."""

    phase: str = ""
    podIP: str | None = None
    reason: str | None = None
    nominatedNodeName: str | None = None
    startTime: datetime | None = None
    conditions: list[Condition] | None = None
    containerStatuses: list[ContainerStatus] | None = None
    initContainerStatuses: list[ContainerStatus] | None = None
    allocatedResources: Resources | None = None
    resources: ResourceRequirements | None = None


class Pod(Base):
    """A pod. `node` is the name of its node, "" while it is not bound."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
    node: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that replaces this pod when it goes, or None for a bare pod."""
        return self.metadata.controller

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, or None."""
        return next(
            (condition for condition in self.status.conditions or () if condition.type == kind),
            None,
        )

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is True."""
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    @property
    def crash_looping(self) -> bool:
        """Whether it has run, is not Ready, and a container of it failed and waits for another try.

        Of a Running pod every container did start. After a reboot of its node they start again.
        """
        for status in self.status.containerStatuses or () if self.status.phase == "Running" else ():
            waiting = status.state.waiting if status.state else None
            again = status.restartCount or (waiting and waiting.reason == "CrashLoopBackOff")
            if again and waiting and waiting.reason not in _STARTING:
                return not self.ready
        return False


class ContainerImage(Base):
    """Node status.images[]."""

    names: list[str] | None = None
    sizeBytes: int = 0


class NodeAddress(Base):
    """Node status.addresses[]."""

    type: str = ""
    address: str = ""


class NodeSpec(Base):
    """spec of a node."""

    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(Base):
    """status of a node."""

    allocatable: Resources | None = None
    capacity: Resources | None = None
    addresses: list[NodeAddress] | None = None
    conditions: list[Condition] | None = None
    images: list[ContainerImage] | None = None
    declaredFeatures: list[str] | None = None


class Node(Base):
    """A node."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is True."""
        conditions = self.status.conditions or ()
        return any(
            condition.type == "Ready" and condition.status == "True" for condition in conditions
        )
