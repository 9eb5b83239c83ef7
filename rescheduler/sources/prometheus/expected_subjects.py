"""Which nodes and pods ought to have a value, by the API server and never by the series."""

from collections.abc import Collection

import numpy as np

from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.kube.nodes.accelerators import AcceleratorOffer, offers, requested_accelerators
from rescheduler.kube.objects import LabelSelectorRequirement, PodSpec, Resources
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.kube.selectors import satisfies
from rescheduler.model.cluster.readings import BoolArray, FloatArray, LinkSpeed
from rescheduler.model.cluster.snapshot import Snapshot


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
            if all(satisfies(requirement, labels) for requirement in wanted):
                answer[index] = link.speed if link.speed > 0 else np.nan
    return answer


class ExpectedSubjects:
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
        there = [offers(node.status.allocatable, node.metadata.labels) for node in nodes]
        had = [offers(node.status.capacity, node.metadata.labels) for node in nodes]
        claimed = ClaimedAccelerators(
            snapshot.resource_slices,
            snapshot.resource_claims,
            snapshot.node_index,
            snapshot.pod_index,
        )
        counted = np.array([_devices(gpu_offers) for gpu_offers in there], np.float64)
        self.gpus = np.where(counted > 0, counted, claimed.count.astype(np.float64))
        self.most_gpus = np.maximum(
            np.array([_devices(gpu_offers) for gpu_offers in had], float), self.gpus
        )
        self.most_gpus += claimed.partitions
        unclear = [any(one.replicas == 0 for one in gpu_offers) for gpu_offers in there]
        self.most_gpus[np.array(unclear, np.bool_)] = np.inf
        self.sharing = np.array(
            [any(one.shared for one in gpu_offers) for gpu_offers in there], np.bool_
        )
        self.sharing[sorted(claimed.nodes)] = True
        self.makers = [
            {one.maker for one in gpu_offers} | others
            for gpu_offers, others in zip(there, claimed.makers, strict=True)
        ]
        wanted = np.array([_requested_gpus(spec) for spec in snapshot.specs], np.float64)
        self.pod_gpus = wanted[snapshot.pod_spec] if len(pods) else np.zeros(0)
        for pod, number in claimed.held.items():
            self.pod_gpus[pod] = max(self.pod_gpus[pod], float(number))
        self.ready: BoolArray = np.array([node.ready for node in nodes], np.bool_)
        running = np.array([pod.status.phase == "Running" for pod in pods], np.bool_)
        # An unbound pod has node -1 and takes the False that is appended.
        self.running: BoolArray = running & np.append(self.ready, False)[snapshot.pod_node]
        self.own_network: BoolArray = ~np.array([pod.spec.hostNetwork for pod in pods], np.bool_)

    def of_makers(self, maker_names: Collection[str]) -> BoolArray:
        """(nodes,) whether each has devices of one of these makers."""
        makers = frozenset(maker_names)
        return np.array(
            [
                count > 0 and bool(makers & has)
                for count, has in zip(self.gpus.tolist(), self.makers, strict=True)
            ],
            np.bool_,
        )

    def may_have_gpus(self, pod: int) -> bool:
        """Whether the pod asks for GPUs, or for devices that may be some."""
        return self.pod_gpus[pod] > 0 or bool(self._snapshot.pods[pod].spec.resourceClaims)


def offered_amounts(
    snapshot: Snapshot, names: Collection[str], words: Collection[str] = ()
) -> FloatArray:
    """(nodes,) how much each has to allocate of these resources together.

    words: of other resources too, whose names hold one of them.
    """
    return np.array(
        [
            sum(amount(room, name) for name in _matching_names(room, names, words))
            for room in (node.status.allocatable for node in snapshot.nodes)
        ],
        np.float64,
    )


def _matching_names(
    resources: Resources | None, names: Collection[str], words: Collection[str]
) -> set[str]:
    return {
        name for name in resources or () if name in names or any(word in name for word in words)
    }


def devices_offered(snapshot: Snapshot, names: Collection[str]) -> FloatArray:
    """(nodes,) how many devices are behind these resources, however many pods share one.

    NaN where nobody reports by how many they are shared.
    """
    wanted = frozenset(names)
    answer = offered_amounts(snapshot, wanted)
    for number, node in enumerate(snapshot.nodes):
        for offer in offers(node.status.allocatable, node.metadata.labels):
            if offer.resource in wanted:
                answer[number] += offer.devices - offer.units if offer.replicas else np.nan
    return answer


def requested_amounts(
    snapshot: Snapshot, names: Collection[str], words: Collection[str] = ()
) -> FloatArray:
    """(pods,) how much the containers of each ask for of these resources together."""
    of_spec = np.array(
        [
            sum(
                amount(requirement.requests, name) or amount(requirement.limits, name)
                for container in spec.containers
                if (requirement := container.resources) is not None
                for name in _matching_names(
                    {**(requirement.limits or {}), **(requirement.requests or {})}, names, words
                )
            )
            for spec in snapshot.specs
        ],
        np.float64,
    )
    return np.asarray(of_spec[snapshot.pod_spec]) if len(snapshot.pods) else np.zeros(0)


def amount(resources: Resources | None, name: str) -> float:
    """The amount of a resource in its unit, 0 where there is none."""
    quantity = (resources or {}).get(name)
    return 0.0 if quantity is None else nanos(quantity) / NANO


def _requested_gpus(spec: PodSpec) -> float:
    total = 0
    for container in spec.containers:
        if container.resources is not None:
            resources = container.resources
            total += sum(
                (
                    requested_accelerators(resources.requests)
                    or requested_accelerators(resources.limits)
                ).values()
            )
    return float(total)


def _devices(offered: list[AcceleratorOffer]) -> int:
    return sum(offer.devices for offer in offered)
