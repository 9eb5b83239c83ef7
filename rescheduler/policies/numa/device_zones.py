"""On which NUMA node each device that claims can have lies, by its ResourceSlice."""

from collections.abc import Sequence

import numpy as np

from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import DeviceAttribute
from rescheduler.kubelet.numa_zones import MOST_ZONES
from rescheduler.model.cluster.readings import BoolArray, IntArray

NUMA_ATTRIBUTES = (
    "resource.kubernetes.io/numaNode",
    "gpu.nvidia.com/numaNode",
    "gpu.nvidia.com/numa",
    "gpu.amd.com/numaNode",
    "dra.net/numaNode",
    "dra.cpu/numaNodeID",
    "dra.memory/numaNode",
)
"""The standard attribute (KEP-6072), and what drivers call theirs until they publish it."""
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
_HIGHEST = 2**31 - 1
"""What is more is no NUMA node; attributes hold any number."""


class DeviceZones:
    """NUMA nodes of devices, numbered on each node from 0 in their order.

    zone: (devices,) that number, or -1 where it is not known: no attribute has it, or the node
        has more zones than are modeled. A PCIe root complex lies on one NUMA node, so a device
        without an attribute lies where others of its root do.
    attributes: those that name them. names: of each node's zones. width: (nodes,) how many zones
    its
        devices lie on.
    """

    def __init__(self, inventory: DeviceInventory, attributes: tuple[str, ...], nodes: int) -> None:
        self.inventory = inventory
        self.attributes = attributes
        numa_nodes = np.array(
            [_numa_node(inventory, device, attributes) for device in range(len(inventory))],
            dtype=np.int32,
        )
        _complete(inventory, numa_nodes)
        self.zone: IntArray = np.full(len(inventory), -1, dtype=np.int32)
        self.width = np.zeros(nodes, dtype=np.int32)
        self.names: dict[int, list[int]] = {}
        devices = np.flatnonzero((inventory.node >= 0) & (numa_nodes >= 0))
        for device in devices.tolist():
            names = self.names.setdefault(int(inventory.node[device]), [])
            if numa_nodes[device] not in names:
                names.append(int(numa_nodes[device]))
        for node, names in self.names.items():
            names.sort()
            self.width[node] = len(names) if len(names) <= MOST_ZONES else 0
        for device in devices.tolist():
            node = int(inventory.node[device])
            if self.width[node]:
                self.zone[device] = self.names[node].index(int(numa_nodes[device]))

    @property
    def has_zones(self) -> BoolArray:
        """(nodes,) whether the NUMA node of some device is known."""
        return np.asarray(self.width > 0, dtype=np.bool_)


def _numa_node(inventory: DeviceInventory, device: int, attributes: Sequence[str]) -> int:
    """The first attribute that is a number; of a list the first, which is the physical node."""
    for name in attributes:
        value = inventory.attribute(device, name)
        number = None if value is None else _number(value)
        if number is not None and 0 <= number <= _HIGHEST:
            return number
    return -1


def _number(attribute: DeviceAttribute) -> int | None:
    if attribute.number is not None:
        return attribute.number
    if attribute.numbers:
        return attribute.numbers[0]
    return int(attribute.text) if attribute.text and attribute.text.isdecimal() else None


def _complete(inventory: DeviceInventory, numa_nodes: IntArray) -> None:
    """Let devices of one PCIe root of a node lie where those do whose NUMA node is known."""
    roots: dict[tuple[int, str], list[int]] = {}
    for device, node in enumerate(inventory.node.tolist()):
        root = inventory.attribute(device, PCIE_ROOT) if node >= 0 else None
        name = "" if root is None else root.text or next(iter(root.texts or ()), "")
        if name:
            roots.setdefault((node, name), []).append(device)
    for devices in roots.values():
        zones = {int(numa_nodes[device]) for device in devices} - {-1}
        if len(zones) == 1:
            numa_nodes[devices] = zones.pop()
