"""NUMA zones of all nodes as arrays, and what the pods of a snapshot want from one zone."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rescheduler.kube.nodes.node_resource_topology import (
    NUMA_NODE,
    NodeResourceTopology,
    Zone,
    zone_order,
)
from rescheduler.kube.objects import Container, PodSpec
from rescheduler.kube.pods.containers import long_running, restartable
from rescheduler.kube.pods.pod_requests import (
    Amounts,
    aggregate_containers,
    amounts,
    container_requests,
)
from rescheduler.kube.pods.qos import is_guaranteed
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot

MOST_ZONES = 8
"""kubelet's own limit (max-allowable-numa-nodes): above it the combinations are too many."""
UNKNOWN, NONE, BEST_EFFORT, RESTRICTED, SINGLE = range(5)
_ROUNDING = 1e-6
_POLICIES = {
    "none": NONE,
    "best-effort": BEST_EFFORT,
    "restricted": RESTRICTED,
    "single-numa-node": SINGLE,
}
_SCOPES = frozenset({"container", "pod"})


@dataclass(frozen=True, slots=True)
class ZoneDemand:
    """What the pods of one spec want from zones. Arrays are (resources,), 0 is not wanted.

    steps: each container in kubelet's order, sidecars and containers; a plain init container
    counts only where it asks for more than all of them. whole: the pod at once. modeled: False
    where pod-level resources are set, which a kubelet may refuse for reasons of its own.
    """

    steps: tuple[FloatArray, ...]
    whole: FloatArray
    modeled: bool = True


@dataclass(frozen=True, slots=True)
class Zones:
    """What the NodeResourceTopology objects report, in the order of the snapshot's nodes.

    total, free: (nodes, zones, resources) what a zone holds, and what of it is not given to pods;
    nodes with fewer zones have empty ones. width: (nodes,) number of zones, 0 where it is not
    known. policy: (nodes,) UNKNOWN to SINGLE. by_pod: (nodes,) whether the scope is `pod`.
    names: of each node's zones. odd: why nodes that have an object are not known all the same.
    """

    resources: tuple[str, ...]
    total: FloatArray
    free: FloatArray
    width: IntArray
    policy: IntArray
    by_pod: BoolArray
    names: list[list[str]]
    odd: dict[int, str]

    @property
    def known_nodes(self) -> BoolArray:
        """(nodes,) whether zones and kubelet's policy are known, and agree with the pods."""
        return np.asarray(self.policy != UNKNOWN, dtype=np.bool_)


def demands(snapshot: Snapshot, resources: tuple[str, ...]) -> tuple[list[ZoneDemand], IntArray]:
    """The demands that there are, and (pods,) the number of each pod's, -1 where it wants nothing.

    Devices are aligned for every pod; CPUs, memory and huge pages for Guaranteed pods alone, and
    CPUs only where a container asks for whole ones.
    Source: pkg/kubelet/cm/{cpumanager,memorymanager,devicemanager}.
    """
    distinct_demands: list[ZoneDemand] = []
    # The snapshot keeps every spec alive, so an id means one spec.
    numbers: dict[int, int] = {}
    for pod in snapshot.pods:
        key = id(pod.spec)
        if key not in numbers:
            demand = _demand(pod.spec, resources)
            wanted = bool(demand.whole.any())
            numbers[key] = len(distinct_demands) if wanted else -1
            distinct_demands += [demand] if wanted else []
    of_pod = [numbers[id(pod.spec)] for pod in snapshot.pods]
    return distinct_demands, np.array(of_pod, dtype=np.int32)


def resources_of(topologies: Iterable[NodeResourceTopology]) -> tuple[str, ...]:
    """Every resource that some zone reports."""
    names = {
        resource.name
        for topology in topologies
        for zone in topology.zones or ()
        for resource in zone.resources or ()
    }
    return tuple(sorted(names))


def read_zones(
    snapshot: Snapshot, resources: tuple[str, ...], pod_demands: list[ZoneDemand], of_pod: IntArray
) -> Zones:
    """The zones of every node; those that cannot be relied on are left out and named.

    Devices must be in use exactly as far as the node's pods ask for them: otherwise the object is
    older than the pods, or somebody else holds them, and no proof can rest on it.
    """
    nodes, kinds = len(snapshot.nodes), len(resources)
    policy = np.zeros(nodes, dtype=np.int32)
    by_pod = np.zeros(nodes, dtype=np.bool_)
    width = np.zeros(nodes, dtype=np.int32)
    reports, odd = _reports_by_node(snapshot)
    most = max((len(zones) for _, _, zones in reports.values()), default=1)
    total, free = np.zeros((nodes, most, kinds)), np.zeros((nodes, most, kinds))
    column = {name: index for index, name in enumerate(resources)}
    names: list[list[str]] = [[] for _ in snapshot.nodes]
    for node, (each_policy, each_by_pod, zones) in reports.items():
        policy[node], by_pod[node], width[node] = each_policy, each_by_pod, len(zones)
        names[node] = [zone.name for zone in zones]
        try:
            for row, zone in enumerate(zones):
                for one in zone.resources or ():
                    total[node, row, column[one.name]] = _amount(one.allocatable or one.capacity)
                    free[node, row, column[one.name]] = _amount(one.available)
        except ValueError as error:
            odd[node] = str(error)
    wanted = _requested_by_node(snapshot, pod_demands, of_pod, nodes, kinds)
    odd = {**_disagreements(resources, total, free, wanted, policy), **odd}
    for node in odd:
        policy[node], width[node] = UNKNOWN, 0
    return Zones(resources, total, free, width, policy, by_pod, names, odd)


def _reports_by_node(
    snapshot: Snapshot,
) -> tuple[dict[int, tuple[int, bool, list[Zone]]], dict[int, str]]:
    """Node to kubelet's policy, whether its scope is the pod, and zones; and why others are out."""
    reports: dict[int, tuple[int, bool, list[Zone]]] = {}
    odd: dict[int, str] = {}
    for topology in snapshot.topologies:
        node = snapshot.node_index.get(topology.metadata.name, -1)
        if node < 0:
            continue
        name, scope = topology.kubelet
        zones = sorted((z for z in topology.zones or () if z.type == NUMA_NODE), key=zone_order)
        if name not in _POLICIES or scope not in _SCOPES:
            odd[node] = f"kubelet's policy {name or 'unknown'!r} is not one that we model"
        elif not 1 <= len(zones) <= MOST_ZONES:
            odd[node] = f"it has {len(zones)} NUMA zones, and 1 to {MOST_ZONES} are modeled"
        else:
            reports[node] = (_POLICIES[name], scope == "pod", zones)
    return reports, odd


def _disagreements(
    resources: tuple[str, ...],
    total: FloatArray,
    free: FloatArray,
    wanted: FloatArray,
    policy: IntArray,
) -> dict[int, str]:
    """Node to the first device on which its zones and its pods disagree."""
    devices = np.array([is_device(name) for name in resources], dtype=np.bool_)
    used = (total - free).sum(axis=1)
    differs = devices & (total.sum(axis=1) > 0) & (np.abs(used - wanted) > _ROUNDING)
    answer: dict[int, str] = {}
    for node, kind in np.argwhere(differs & (policy != UNKNOWN)[:, None]).tolist():
        text = f"its zones report {used[node, kind]:g} {resources[kind]} in use, "
        answer.setdefault(node, f"{text}and its pods ask for {wanted[node, kind]:g}")
    return answer


def _requested_by_node(
    snapshot: Snapshot, pod_demands: list[ZoneDemand], of_pod: IntArray, nodes: int, kinds: int
) -> FloatArray:
    answer = np.zeros((nodes, kinds))
    if pod_demands:
        rows = np.flatnonzero((of_pod >= 0) & (snapshot.pod_node >= 0))
        table = np.stack([demand.whole for demand in pod_demands])
        np.add.at(answer, snapshot.pod_node[rows], table[of_pod[rows]])
    return answer


def is_device(resource: str) -> bool:
    """Whether a resource is one that a device plugin gives."""
    return resource not in ("cpu", "memory") and not resource.startswith("hugepages-")


def _amount(quantity: str | float) -> float:
    return nanos(quantity) / NANO


def _demand(spec: PodSpec, resources: tuple[str, ...]) -> ZoneDemand:
    guaranteed = is_guaranteed(spec)

    def array(requested: Amounts) -> FloatArray:
        return np.array([requested.get(name, 0) / NANO for name in resources], dtype=np.float64)

    def zone_requests(container: Container) -> Amounts:
        return _zone_requests(container, resources, guaranteed)

    lasting = [array(zone_requests(container)) for container in long_running(spec)]
    passing = [array(zone_requests(c)) for c in spec.initContainers or () if not restartable(c)]
    whole = array(aggregate_containers(spec, zone_requests))
    steps = tuple(float_array for float_array in lasting if float_array.any())
    larger = bool((whole > np.sum(lasting, axis=0) + _ROUNDING).any())
    return ZoneDemand(
        steps or tuple(float_array for float_array in passing if float_array.any()),
        whole,
        modeled=spec.resources is None and not larger,
    )


def _zone_requests(container: Container, resources: tuple[str, ...], guaranteed: bool) -> Amounts:
    """What a container wants of zones: devices, and only of Guaranteed pods CPUs and memory.

    Of an init container that runs beside sidecars, kubelet counts both for the pod as a whole.
    Source: pkg/kubelet/cm/cpumanager/policy_static.go, podGuaranteedCPUs.
    """
    return {
        name: amount
        for name, amount in amounts(container_requests(container)).items()
        if name in resources
        and (is_device(name) or (guaranteed and (name != "cpu" or amount % NANO == 0)))
    }
