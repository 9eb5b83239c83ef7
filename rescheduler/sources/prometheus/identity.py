"""Which node or pod a series is about, by the API server's objects and not by other series."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from rescheduler.kube.objects import Node
from rescheduler.kube.pods.steered_affinity import HOSTNAME
from rescheduler.model.cluster.readings import DeviceValue
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.own_readings.definition import NODE_LABELS
from rescheduler.sources.prometheus.labels import read_once
from rescheduler.sources.prometheus.series_values import Key, Value


class Holder(NamedTuple):
    """A device with its slot on the node, and the pod that has it by its series, or -1."""

    key: Key
    slot: str
    pod: int


def device_values(values: Mapping[Key, Value], holders: Iterable[Holder]) -> list[DeviceValue]:
    """All devices of nodes where one is above 0, in the order of their names."""
    nodes = {node for (node, _), value in values.items() if value.value > 0}
    indices: dict[Key, str] = {}
    pods: dict[Key, set[int]] = {}
    for holder in holders:
        indices[holder.key] = holder.slot
        if holder.pod >= 0:
            pods.setdefault(holder.key, set()).add(holder.pod)
    return [
        DeviceValue(
            key[0], key[1], value.value, indices.get(key, ""), tuple(sorted(pods.get(key, ())))
        )
        for key, value in sorted(values.items())
        if key[0] in nodes
    ]


_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_OF_NODE = (*NODE_LABELS, "instance")
_OF_TARGET = (*_OF_NODE, "namespace", "pod")


class PodFound(NamedTuple):
    """The number of a series' pod in the snapshot, or -1 and why it has none."""

    number: int
    reason: str = ""


class Identity:
    """Finds the nodes and pods of one snapshot by what exporters and scrapers call them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.node_index
        self._pods = {
            (pod.metadata.namespace, pod.metadata.name): index
            for index, pod in enumerate(snapshot.pods)
        }
        self._pod_node = snapshot.pod_node.tolist()
        self._addresses = _addresses(snapshot)
        self._targets = _targets(snapshot, self._addresses)
        self._full = {name for node in snapshot.nodes for name in _names(node)}
        self._hosts = _hosts(snapshot)
        self._daemons = _daemons(snapshot)
        self._known: dict[tuple[str | None, ...], int] = {}

    def node(self, labels: Mapping[str, str]) -> int:
        """The index of the node that a series is about, or -1.

        In this order: a label with the name of a node; the exporter's pod, whose node the API
        server knows; the host of `instance`: the address of a node or pod, or the name of a node.
        """
        return read_once(labels, "node", self._find_node)

    def _find_node(self, labels: Mapping[str, str], own: bool = True) -> int:
        """own: whether `namespace` and `pod` are the exporter's own."""
        key = tuple(map(labels.get, _OF_TARGET if own else _OF_NODE))
        node = self._known.get(key)
        if node is None:
            self._known[key] = node = self._look_up(labels, own=own)
        return node

    def convention(self, labels: Mapping[str, str]) -> tuple[str, str]:
        """Which labels of a series tell its node, and its pod: "" where none does."""
        node = next(
            (label for label in NODE_LABELS if self.named_node(labels.get(label, "")) >= 0), ""
        )
        if not node and self.node(labels) >= 0:
            by_pod = (labels.get("namespace", ""), labels.get("pod", "")) in self._pods
            node = "namespace and pod of the exporter" if by_pod else "instance"
        pod = next((label for label in ("exported_pod", "pod_name") if labels.get(label)), "")
        return node, pod or ("pod" if labels.get("pod") and not node.endswith("exporter") else "")

    def pod(self, labels: Mapping[str, str]) -> PodFound:
        """The pod that a series is about, if it is where the API server has it.

        A StatefulSet's pod keeps its name when it changes its node, so the series' node has to be
        the pod's.
        """
        return read_once(labels, "pod", self._find_pod)

    def _find_pod(self, labels: Mapping[str, str]) -> PodFound:
        (namespace, name), exported = workload_of(labels)
        node = -1
        if (namespace, name) in self._pods:
            node = self.node(labels) if exported else self._find_node(labels, own=False)
        return self.named_pod(namespace, name, node)

    def named_node(self, name: str) -> int:
        """The index of the node with that name or address, or -1; short and full names match."""
        index = self._nodes.get(name)
        if index is None:
            index = self._addresses.get(name)
        if index is None:
            # A name with a domain is that of a node whose own has none, and the other way round.
            name = name.lower()
            short = name.partition(".")[0]
            index = self._hosts.get(name, self._hosts.get(short, -1) if short in self._full else -1)
        return index

    def named_pod(self, namespace: str, name: str, node: int) -> PodFound:
        """The pod of that name, if it is on that node; -1 is not known."""
        index = self._pods.get((namespace, name), -1)
        if index < 0:
            return PodFound(-1, "pods that are not in the cluster")
        if node >= 0 and node != self._pod_node[index]:
            return PodFound(-1, "pods that have left that node")
        return PodFound(index)

    def _look_up(self, labels: Mapping[str, str], *, own: bool) -> int:
        for label in NODE_LABELS:
            name = labels.get(label, "")
            index = self.named_node(name) if name else -1
            if index < 0 and label in ("Hostname", "hostname"):
                # Old charts do not give the exporter its node: the host name is its pod's name.
                index = self._daemons.get(name, -1)
            if index >= 0:
                return index
        exporter = self._pods.get((labels.get("namespace", ""), labels.get("pod", "")), -1)
        if own and exporter >= 0 and self._pod_node[exporter] >= 0:
            return int(self._pod_node[exporter])
        host = _host(labels.get("instance", ""))
        target = self._targets.get(host)
        return self.named_node(host) if target is None else target


def workload_of(labels: Mapping[str, str]) -> tuple[tuple[str, str], bool]:
    """Namespace and name of the pod, and whether the bare labels are the exporter's own.

    A collector renames a label of the exporter's to `exported_...` only where it sets one of that
    name itself, which may be one of the two or both.
    """
    get = labels.get
    namespace = get("exported_namespace") or get("pod_namespace")
    name = get("exported_pod") or get("pod_name")
    own = (namespace or get("namespace", ""), name or get("pod", ""))
    return own, bool(name)


def _nodes_by(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Name or address to node, -1 where several nodes have it."""
    answer: dict[str, int] = {}
    for name, node in names:
        if name:
            answer[name] = node if answer.get(name, node) == node else -1
    return answer


def _addresses(snapshot: Snapshot) -> dict[str, int]:
    return _nodes_by(
        (address.address, index)
        for index, node in enumerate(snapshot.nodes)
        for address in node.status.addresses or ()
    )


def _targets(snapshot: Snapshot, addresses: Mapping[str, int]) -> dict[str, int]:
    """Address of a node or pod to its node.

    Pods in the host's network have their node's; those that have ended may have another's by now.
    """
    pods = (
        (pod.status.podIP or "", node)
        for pod, node in zip(snapshot.pods, snapshot.pod_node.tolist(), strict=True)
        if node >= 0 and pod.status.phase not in ("Succeeded", "Failed")
    )
    return _nodes_by(chain(addresses.items(), pods))


def _names(node: Node) -> set[str]:
    """The names of a node in full, as the API server and its host have them."""
    host = (node.metadata.labels or {}).get(HOSTNAME, "")
    return {name.lower() for name in (node.metadata.name, host) if name}


def _hosts(snapshot: Snapshot) -> dict[str, int]:
    """Host name to node, also without its domain."""
    names = []
    for index, node in enumerate(snapshot.nodes):
        full = _names(node)
        short = {
            hostname.partition(".")[0] for hostname in full if not _ADDRESS.fullmatch(hostname)
        }
        names += [(name, index) for name in full | short]
    return _nodes_by(names)


def _daemons(snapshot: Snapshot) -> dict[str, int]:
    """Name of a DaemonSet's pod to its node."""
    return _nodes_by(
        (pod.metadata.name, node)
        for pod, node in zip(snapshot.pods, snapshot.pod_node.tolist(), strict=True)
        if pod.controller is not None and pod.controller.kind == "DaemonSet"
    )


def _host(instance: str) -> str:
    """`instance` without its port and brackets."""
    if instance.startswith("["):
        return instance[1:].partition("]")[0]
    host, _, port = instance.rpartition(":")
    return host if host and ":" not in host and port.isdigit() else instance
