"""Which nodes and pods ought to have a value, by the API server and never by the series."""

from collections.abc import Iterable

import numpy as np

from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.kube.nodes.accelerators import Offer, asked, offers
from rescheduler.kube.objects import LabelSelectorRequirement, Pod, PodSpec, Resources
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.kube.selectors import satisfies
from rescheduler.model.cluster.readings import BoolArray, FloatArray, LinkSpeed
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.definition import GPU, Definition

_RDMA = ("rdma", "sriov", "hca", "infiniband")
"""`rdma/hca_shared_devices_a`, `nvidia.com/sriov_rdma_vf`, ..."""


def declared_speeds(links: tuple[LinkSpeed, ...], snapshot: Snapshot) -> FloatArray:
    """(nodes,) bytes a second that a link carries where it reports none; NaN is not known.

    Of several entries the first that is about the node counts, also where it knows no speed.
    """
    answer = np.full(len(snapshot.nodes), np.nan)
    for link in reversed(links):
        wanted = [
            LabelSelectorRequirement(key=key, operator=operator, values=list(values))
            for key, operator, values in link.nodes
        ]
        for index, node in enumerate(snapshot.nodes):
            labels = node.metadata.labels or {}
            if all(satisfies(each, labels) for each in wanted):
                answer[index] = link.speed if link.speed > 0 else np.nan
    return answer


class Expectation:
    """What the snapshot holds about its nodes and pods, computed once for all readings.

    gpus: (nodes,) devices that pods can have, whole ones or partitions, however many pods share
    one. most_gpus: (nodes,) besides, those that are withdrawn from pods, and partitions that a
    driver of claims lists beside their GPU; infinite where nobody reports how many devices are
    behind the shares of some. sharing: (nodes,) whether
    a device there may have several pods. pod_gpus: (pods,) what each asks for, or has by claims.
    makers: of each node's devices. ready: (nodes,). running: (pods,) on a node that is Ready.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        nodes, pods = snapshot.nodes, snapshot.pods
        self._snapshot = snapshot
        there = [offers(each.status.allocatable, each.metadata.labels) for each in nodes]
        had = [offers(each.status.capacity, each.metadata.labels) for each in nodes]
        claimed = ClaimedAccelerators(
            snapshot.resource_slices,
            snapshot.resource_claims,
            snapshot.node_index,
            snapshot.pod_index,
        )
        counted = np.array([_devices(each) for each in there], np.float64)
        self.gpus = np.where(counted > 0, counted, claimed.count.astype(np.float64))
        self.most_gpus = np.maximum(np.array([_devices(each) for each in had], float), self.gpus)
        self.most_gpus += claimed.partitions
        unclear = [any(one.replicas == 0 for one in each) for each in there]
        self.most_gpus[np.array(unclear, np.bool_)] = np.inf
        self.sharing = np.array([any(one.shared for one in each) for each in there], np.bool_)
        self.sharing[sorted(claimed.nodes)] = True
        self.makers = [
            {one.maker for one in each} | others
            for each, others in zip(there, claimed.makers, strict=True)
        ]
        wanted = np.array([_requested_gpus(each) for each in snapshot.specs], np.float64)
        self.pod_gpus = wanted[snapshot.pod_spec] if len(pods) else np.zeros(0)
        for pod, number in claimed.held.items():
            self.pod_gpus[pod] = max(self.pod_gpus[pod], float(number))
        self._rdma = np.array([_has_rdma(each.status.allocatable) for each in nodes], np.bool_)
        specs = {id(pod.spec): pod for pod in pods}
        wants = {spec: _wants_rdma(pod) for spec, pod in specs.items()}
        self._pod_rdma = np.array([wants[id(pod.spec)] for pod in pods], np.bool_)
        self.ready: BoolArray = np.array([each.ready for each in nodes], np.bool_)
        running = np.array([pod.status.phase == "Running" for pod in pods], np.bool_)
        # An unbound pod has node -1 and takes the False that is appended.
        self.running: BoolArray = running & np.append(self.ready, False)[snapshot.pod_node]
        self._own_network = ~np.array([pod.spec.hostNetwork for pod in pods], np.bool_)
        self._age = np.array([_age(pod, snapshot) for pod in pods], np.float64)

    def expected(self, definition: Definition, window: float) -> BoolArray:
        """(subjects,) which of them ought to have a value.

        Nodes that are Ready, for GPUs and RDMA those that offer some. Pods that run on Ready nodes:
        for GPUs and RDMA those that ask for some, for the network those with one of their own, and
        for rates those that are older than the window, because a rate over time before the pod
        reads low.
        """
        if definition.name.startswith("node."):
            offering = {"gpu": self._of_makers(definition), "rdma": self._rdma}
            return np.logical_and(self.ready, offering.get(definition.only, True))
        answer: BoolArray = self.running
        if definition.only == "gpu":
            answer = answer & (self.pod_gpus > 0)
        if definition.only == "rdma":
            answer = answer & self._pod_rdma
        if definition.only == "own-network":
            answer = answer & self._own_network
        if definition.rate:
            answer = answer & (self._age >= window)
        return answer

    def _of_makers(self, definition: Definition) -> BoolArray:
        """(nodes,) whether each has devices of a maker that the reading has a source for."""
        known = {source.maker for source in definition.sources}
        return np.array(
            [
                count > 0 and bool(known & makers)
                for count, makers in zip(self.gpus.tolist(), self.makers, strict=True)
            ],
            np.bool_,
        )

    def may_have_gpus(self, pod: int) -> bool:
        """Whether the pod asks for GPUs, or for devices that may be some."""
        return self.pod_gpus[pod] > 0 or bool(self._snapshot.pods[pod].spec.resourceClaims)

    def capacity(self, definition: Definition) -> FloatArray | None:
        """(nodes,) how much 1.0 of a node reading is; None for pods and where it is measured.

        CPU and memory as the node has them, which is what ratios are measured against; GPUs as
        they can be allocated. NaN where the API server does not report it.
        """
        if definition.resource == GPU:
            return np.where(self.gpus > 0, self.gpus, np.nan)
        if not definition.resource:
            return None
        found = [
            amount(node.status.capacity or node.status.allocatable, definition.resource)
            for node in self._snapshot.nodes
        ]
        array = np.array(found, np.float64)
        return np.where(array > 0, array, np.nan)


def offered(snapshot: Snapshot, names: Iterable[str]) -> FloatArray:
    """(nodes,) how much each has to allocate of these resources together."""
    wanted = tuple(names)
    return np.array(
        [sum(amount(node.status.allocatable, name) for name in wanted) for node in snapshot.nodes],
        np.float64,
    )


def devices_offered(snapshot: Snapshot, names: Iterable[str]) -> FloatArray:
    """(nodes,) how many devices are behind these resources, however many pods share one.

    NaN where nobody reports by how many they are shared.
    """
    wanted = frozenset(names)
    answer = offered(snapshot, wanted)
    for number, node in enumerate(snapshot.nodes):
        for each in offers(node.status.allocatable, node.metadata.labels):
            if each.resource in wanted:
                answer[number] += each.devices - each.units if each.replicas else np.nan
    return answer


def asked_for(snapshot: Snapshot, names: Iterable[str]) -> FloatArray:
    """(pods,) how much the containers of each ask for of these resources together."""
    wanted = tuple(names)
    of_spec = np.array(
        [
            sum(
                amount(each.requests, name) or amount(each.limits, name)
                for container in spec.containers
                if (each := container.resources) is not None
                for name in wanted
            )
            for spec in snapshot.specs
        ],
        np.float64,
    )
    return np.asarray(of_spec[snapshot.pod_spec])


def amount(resources: Resources | None, name: str) -> float:
    """The amount of a resource in its unit, 0 where there is none."""
    quantity = (resources or {}).get(name)
    return 0.0 if quantity is None else nanos(quantity) / NANO


def _requested_gpus(spec: PodSpec) -> float:
    total = 0
    for container in spec.containers:
        if container.resources is not None:
            given = container.resources
            total += sum((asked(given.requests) or asked(given.limits)).values())
    return float(total)


def _devices(offered: list[Offer]) -> int:
    return sum(each.devices for each in offered)


def _has_rdma(resources: Resources | None) -> bool:
    """Whether a device plugin's resource is an RDMA device, by the names that are in use."""
    return any(word in name for name in resources or () for word in _RDMA)


def _wants_rdma(pod: Pod) -> bool:
    given = [container.resources for container in pod.spec.containers if container.resources]
    return any(_has_rdma(each.requests) or _has_rdma(each.limits) for each in given)


def _age(pod: Pod, snapshot: Snapshot) -> float:
    started = pod.status.startTime
    return 0.0 if started is None else (snapshot.taken - started).total_seconds()
