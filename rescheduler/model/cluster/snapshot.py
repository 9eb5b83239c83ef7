"""The snapshot: the cluster at one instant, with its readings, and the indices into it.

Everything after reading works on one snapshot. Nodes and pods are numbered in its order; arrays
over nodes have shape (nodes,), arrays over pods (pods,).
"""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np

from rescheduler.kube.controllers import (
    MOST_OWNERS,
    Controller,
    HorizontalPodAutoscaler,
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
from rescheduler.kube.extensions import APIService, WebhookConfiguration
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.kube.objects import Labels, Node, OwnerReference, Pod, PodSpec
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.pods.pod_requests import requests_key
from rescheduler.kube.selectors import matches
from rescheduler.kube.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from rescheduler.model.cluster.gangs import Gangs
from rescheduler.model.cluster.next_pods import NextPods
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, Readings
from rescheduler.model.cluster.workload import Workload, resolve
from rescheduler.model.dependencies import Dependencies

ANSWERED = "it answered"
"""How it begins why a kind was not read that is served, and for which an error was answered."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An object that could not be decoded. Its node and its pods must be left alone.

    node: where a pod that could not be decoded is, as far as that is known.
    """

    kind: str
    namespace: str
    name: str
    message: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster this is: the UID of namespace kube-system, and its server's version."""

    uid: str
    version: str = ""
    name: str = ""


@dataclass(frozen=True)
class Snapshot:
    """The cluster at one instant. Pods that ended (Succeeded, Failed) are not among its pods."""

    taken: datetime
    cluster: Cluster
    nodes: list[Node]
    pods: list[Pod]
    controllers: list[Controller] = field(default_factory=list)
    owners: list[Owner] = field(default_factory=list)
    """What may be above the controllers: CronJobs, JobSets, LeaderWorkerSets."""
    budgets: list[PodDisruptionBudget] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    claims: list[PersistentVolumeClaim] = field(default_factory=list)
    volumes: list[PersistentVolume] = field(default_factory=list)
    priority_classes: list[PriorityClass] = field(default_factory=list)
    autoscalers: list[HorizontalPodAutoscaler] = field(default_factory=list)
    quotas: list[ResourceQuota] = field(default_factory=list)
    limit_ranges: list[LimitRange] = field(default_factory=list)
    topologies: list[NodeResourceTopology] = field(default_factory=list)
    storage_classes: list[StorageClass] = field(default_factory=list)
    csi_drivers: list[CSIDriver] = field(default_factory=list)
    csi_nodes: list[CSINode] = field(default_factory=list)
    storage_capacities: list[CSIStorageCapacity] = field(default_factory=list)
    attachments: list[VolumeAttachment] = field(default_factory=list)
    device_classes: list[DeviceClass] = field(default_factory=list)
    resource_slices: list[ResourceSlice] = field(default_factory=list)
    device_taint_rules: list[DeviceTaintRule] = field(default_factory=list)
    resource_claims: list[ResourceClaim] = field(default_factory=list)
    claim_templates: list[ResourceClaimTemplate] = field(default_factory=list)
    validating_webhooks: list[WebhookConfiguration] = field(default_factory=list)
    mutating_webhooks: list[WebhookConfiguration] = field(default_factory=list)
    api_services: list[APIService] = field(default_factory=list)
    gang_objects: list[GangObject] = field(default_factory=list)
    """PodGroups of every API group that is served, and the Workloads of Kueue."""
    cluster_queues: list[ClusterQueue] = field(default_factory=list)
    local_queues: list[LocalQueue] = field(default_factory=list)
    undecodable: list[Undecodable] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Optional kinds that could not be listed (not served, or forbidden)."""
    served: dict[str, str] = field(default_factory=dict)
    """Of these, why those that are served were not read: their versions, or what was answered."""
    readings: Readings = field(default_factory=Readings)
    failed: list[Pod] | None = None
    """Pods whose phase is Failed, without their specs; they hold no room, and no index counts them.

    None where nobody read them.
    """
    scheduler: ObservedScheduler | None = None
    """What the running scheduler reports about itself; None if it was not read."""
    dependencies: Dependencies = field(default_factory=Dependencies)
    """What the cycle that took it stands on."""
    clock_skew: float | None = None
    """Seconds by which this host's clock was ahead of the API server's; None is unknown."""

    @property
    def failing(self) -> list[str]:
        """The kinds that were not read though they are served, as an error was answered."""
        return [name for name in self.unread if self.served.get(name, "").startswith(ANSWERED)]

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Node name to index."""
        return {node.metadata.name: index for index, node in enumerate(self.nodes)}

    @cached_property
    def node_made(self) -> FloatArray:
        """(nodes,) when each was made, as seconds since 1970; unknown: -inf."""
        times = (node.metadata.creationTimestamp for node in self.nodes)
        made = (at.timestamp() if at else -np.inf for at in times)
        return np.fromiter(made, dtype=np.float64, count=len(self.nodes))

    @cached_property
    def pod_index(self) -> dict[str, int]:
        """Pod UID to index."""
        return {pod.metadata.uid: index for index, pod in enumerate(self.pods)}

    @cached_property
    def pod_node(self) -> IntArray:
        """(pods,) the index of each pod's node; -1 while unbound or on an unknown node."""
        index = self.node_index
        return np.fromiter(
            (index.get(pod.node, -1) for pod in self.pods), dtype=np.int32, count=len(self.pods)
        )

    @cached_property
    def claim_index(self) -> dict[tuple[str, str], PersistentVolumeClaim]:
        """Namespace and name to the claim."""
        return {(claim.metadata.namespace, claim.metadata.name): claim for claim in self.claims}

    @cached_property
    def volume_index(self) -> dict[str, PersistentVolume]:
        """Name to the volume."""
        return {volume.metadata.name: volume for volume in self.volumes}

    @cached_property
    def pods_on(self) -> IntArray:
        """(nodes,) how many pods are on each."""
        home = self.pod_node
        counts = np.bincount(home[home >= 0], minlength=len(self.nodes))
        return np.asarray(counts, dtype=np.int32)

    @cached_property
    def pod_came(self) -> FloatArray:
        """(pods,) when each came to its node, as seconds since 1970; unknown: -inf.

        A pod may have waited for a node since it was made.
        """
        times = ((p.metadata.creationTimestamp, p.status.startTime) for p in self.pods)
        came = (max((at.timestamp() for at in both if at), default=-np.inf) for both in times)
        return np.fromiter(came, dtype=np.float64, count=len(self.pods))

    @cached_property
    def pod_kin(self) -> tuple[IntArray, IntArray]:
        """One pod for each group of like pods; (pods,) the place of each pod's group.

        Alike are pods that share their namespace, spec, labels, annotations and owners.
        """
        numbers: dict[tuple[object, ...], int] = {}
        first_pods: list[int] = []
        of_pod = np.empty(len(self.pods), dtype=np.int32)
        for index, pod in enumerate(self.pods):
            metadata = pod.metadata
            # The snapshot keeps all of these alive, so an id stands for one object.
            key = (
                metadata.namespace,
                id(pod.spec),
                id(metadata.labels),
                id(metadata.annotations),
                id(metadata.ownerReferences),
            )
            number = numbers.setdefault(key, len(first_pods))
            if number == len(first_pods):
                first_pods.append(index)
            of_pod[index] = number
        return np.array(first_pods, dtype=np.int32), of_pod

    @cached_property
    def _specs(self) -> tuple[list[PodSpec], IntArray]:
        kin, of_pod = self.pod_kin
        specs = [self.pods[index].spec for index in kin.tolist()]
        numbers: dict[int, int] = {}
        of_kin = [numbers.setdefault(id(spec), len(numbers)) for spec in specs]
        return list({id(spec): spec for spec in specs}.values()), _spread(of_kin, of_pod)

    @property
    def specs(self) -> list[PodSpec]:
        """The different specs of the pods, in the order in which they come up."""
        return self._specs[0]

    @property
    def pod_spec(self) -> IntArray:
        """(pods,) the index of each pod's spec in `specs`."""
        return self._specs[1]

    @cached_property
    def pod_asking(self) -> tuple[list[PodSpec], IntArray]:
        """One spec for each group of those that ask for the same; (pods,) the place of each pod's.

        Many pods with specs of their own ask for the same.
        """
        groups: dict[bytes, int] = {}
        of_spec = [groups.setdefault(requests_key(spec), len(groups)) for spec in self.specs]
        _, first = np.unique(np.array(of_spec, dtype=np.int32), return_index=True)
        return [self.specs[index] for index in first.tolist()], _spread(of_spec, self.pod_spec)

    @cached_property
    def next_pods(self) -> NextPods:
        """What the controllers will make next."""
        return NextPods(self.pods, self.controllers, self.limit_ranges)

    @cached_property
    def pod_template(self) -> tuple[IntArray, IntArray]:
        """One pod for each pair of namespace and labels; (pods,) the place of each pod's pair."""
        kin, of_pod = self.pod_kin
        numbers: dict[tuple[str, int], int] = {}
        first_pods: list[int] = []
        of_kin: list[int] = []
        for index in kin.tolist():
            metadata = self.pods[index].metadata
            number = numbers.setdefault((metadata.namespace, id(metadata.labels)), len(first_pods))
            if number == len(first_pods):
                first_pods.append(index)
            of_kin.append(number)
        return np.array(first_pods, dtype=np.int32), _spread(of_kin, of_pod)

    @cached_property
    def leaving(self) -> BoolArray:
        """(pods,) whether each pod is being deleted."""
        return np.fromiter(
            (pod.metadata.deletionTimestamp is not None for pod in self.pods),
            dtype=np.bool_,
            count=len(self.pods),
        )

    @cached_property
    def on_own_node(self) -> BoolArray:
        """(pods,) whether each pod comes and goes with its node: DaemonSets' and static pods."""
        kin, of_pod = self.pod_kin
        owners = [self.pods[index].controller for index in kin.tolist()]
        fixed = [owner is not None and owner.kind in ("DaemonSet", "Node") for owner in owners]
        answer: BoolArray = np.array(fixed, dtype=np.bool_)[of_pod]
        return answer

    @cached_property
    def pod_age(self) -> FloatArray:
        """(pods,) seconds since each pod was started by its node; 0 where that is not known."""
        taken = self.taken
        return np.fromiter(
            (
                0.0 if (start := pod.status.startTime) is None else (taken - start).total_seconds()
                for pod in self.pods
            ),
            dtype=np.float64,
            count=len(self.pods),
        )

    @cached_property
    def _resolved(self) -> tuple[list[Workload], IntArray]:
        kin, of_pod = self.pod_kin
        workloads, of_kin = resolve([self.pods[index] for index in kin.tolist()], self.controllers)
        return workloads, _spread(of_kin, of_pod)

    @property
    def workloads(self) -> list[Workload]:
        """The top owners of the pods."""
        return self._resolved[0]

    @property
    def pod_workload(self) -> IntArray:
        """(pods,) the index of each pod's workload; -1 for a bare pod."""
        return self._resolved[1]

    @cached_property
    def gangs(self) -> Gangs:
        """The gangs of the pods."""
        return Gangs(self.pods, self.controllers, self.gang_objects, self.unread, self.owners)

    @cached_property
    def _owners(self) -> dict[str, Owner]:
        return {owner.metadata.uid: owner for owner in (*self.owners, *self.controllers)}

    def owner_chain(
        self, reference: OwnerReference | None
    ) -> tuple[list[Owner | Pod], OwnerReference | None]:
        """The objects from this controller of a pod up to the top, and the first that is not known.

        A pod may be above others: the leader of a group of a LeaderWorkerSet. Of a chain that is
        longer than any real one the rest is not known. Answers are shared: do not write into them.
        """
        if reference is None:
            return [], None
        chain = self._chains.get(reference.uid)
        if chain is None:
            chain = self._climb(reference)
            if chain[0]:  # else it answers with the reference that was asked about
                self._chains[reference.uid] = chain
        return chain

    @cached_property
    def _chains(self) -> dict[str, tuple[list[Owner | Pod], OwnerReference | None]]:
        """UID of a controller to what is above the pods that it makes."""
        return {}

    def _climb(
        self, reference: OwnerReference | None
    ) -> tuple[list[Owner | Pod], OwnerReference | None]:
        chain: dict[str, Owner | Pod] = {}
        while reference is not None and reference.uid not in chain:
            if len(chain) == MOST_OWNERS:
                return list(chain.values()), reference
            owner = self._owners.get(reference.uid)
            leader = self.pod_index.get(reference.uid) if owner is None else None
            pod = self.pods[leader] if leader is not None else owner
            if pod is None:
                return list(chain.values()), reference
            chain[reference.uid] = pod
            reference = pod.metadata.controller
        return list(chain.values()), None

    @cached_property
    def namespace_labels(self) -> dict[str, Labels]:
        """Namespace name to its labels."""
        return {
            namespace.metadata.name: namespace.metadata.labels or {}
            for namespace in self.namespaces
        }

    @cached_property
    def _budgets_by_namespace(self) -> dict[str, list[int]]:
        answer: dict[str, list[int]] = {}
        for index, budget in enumerate(self.budgets):
            answer.setdefault(budget.metadata.namespace, []).append(index)
        return answer

    @cached_property
    def budgeted(self) -> BoolArray:
        """(pods,) whether a PodDisruptionBudget selects each."""
        representatives, of_pod = self.pod_template
        groups = LabelGroups(self.pods, representatives)
        chosen = np.zeros(len(self.pods), dtype=np.bool_)
        for budget in self.budgets:
            chosen[groups.select(budget.spec.selector, frozenset({budget.metadata.namespace}))] = (
                True
            )
        answer: BoolArray = chosen[representatives][of_pod]
        return answer

    def budgets_of(self, pod: int) -> list[int]:
        """The indices of the PodDisruptionBudgets that select this pod."""
        metadata = self.pods[pod].metadata
        return [
            index
            for index in self._budgets_by_namespace.get(metadata.namespace, ())
            if matches(self.budgets[index].spec.selector, metadata.labels)
        ]


def _spread(of_kin: list[int], of_pod: IntArray) -> IntArray:
    """(pods,) what is known of each group of like pods."""
    return np.array(of_kin, dtype=np.int32)[of_pod]
