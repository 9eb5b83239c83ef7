"""Accelerators that pods have by claims (dynamic resource allocation)."""

from collections.abc import Iterable, Mapping

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import ResourceClaim, ResourceSlice
from rescheduler.kube.nodes.accelerators import maker_of_driver, part_of_gpu
from rescheduler.kube.quantity import nanos

_WHOLE = ("gpu", "amdgpu")
"""The `type` of whole GPUs: of NVIDIA's driver, and of AMD's. Intel's have no type."""


class ClaimedAccelerators:
    """The accelerators that ResourceSlices offer, and who has them.

    count: (nodes,) whole devices that claims can have. partitions: (nodes,) those of devices, also
    ones that cannot be there at the same time. makers: (nodes) who makes them.
    held: pod to how many devices it has. gpus: pod to how many GPUs these are, of partitions the
    part that each is of one; NaN where that of some is not known.
    users: UUID to the pods that have the device.
    parts: UUID to the share of the device that each of its users consumes, where claims tell that
    of all; of several capacities, such as memory and cores, the one with the largest share counts.
    shared: UUIDs of the devices that several claims or pods may have at once, unless one pod has
    all of some capacity; nodes: their nodes.
    """

    def __init__(
        self,
        slices: list[ResourceSlice],
        claims: Iterable[ResourceClaim],
        nodes: Mapping[str, int],
        pods: Mapping[str, int],
    ) -> None:
        """nodes, pods: name and UID to the number."""
        self.count: IntArray = np.zeros(len(nodes), dtype=np.int32)
        self.partitions: IntArray = np.zeros(len(nodes), dtype=np.int32)
        self.makers: list[set[str]] = [set() for _ in nodes]
        self.held: dict[int, int] = {}
        self.gpus: dict[int, float] = {}
        self.users: dict[str, tuple[int, ...]] = {}
        self.parts: dict[str, tuple[float, ...]] = {}
        self.shared: set[str] = set()
        self.nodes: set[int] = set()
        if not any(maker_of_driver(resource_slice.spec.driver) for resource_slice in slices):
            return
        inventory = DeviceInventory(slices, dict(nodes))
        uuids: dict[int, str] = {}
        sizes: dict[int, float] = {}
        for device, (driver, offered) in enumerate(inventory.subjects):
            node, made_by = int(inventory.node[device]), maker_of_driver(driver)
            if not made_by or node < 0:
                continue
            sort = inventory.attribute(device, f"{driver}/type")
            whole = sort is None or sort.text in _WHOLE
            self.count[node] += whole
            self.partitions[node] += not whole
            profile = inventory.attribute(device, f"{driver}/profile")
            named = "" if profile is None else profile.text
            sizes[device] = 1.0 if whole else part_of_gpu(named or "?")
            self.makers[node].add(made_by)
            uuid = inventory.attribute(device, f"{driver}/uuid")
            uuids[device] = (uuid.text if uuid is not None else None) or offered.name
        holdings = DeviceHoldings(claims, pods, inventory)
        self._use(holdings, inventory, uuids)
        for pod, devices in holdings.of_pod.items():
            if own := set(devices) & sizes.keys():
                self.gpus[pod] = sum(sizes[device] for device in own)

    def _use(
        self, holdings: DeviceHoldings, inventory: DeviceInventory, uuids: Mapping[int, str]
    ) -> None:
        """Note who has which device, and which are shared. uuids: of the accelerators."""
        users: dict[int, set[int]] = {}
        for pod, devices in holdings.of_pod.items():
            own = set(devices) & uuids.keys()
            if own:
                self.held[pod] = len(own)
            for device in own:
                users.setdefault(device, set()).add(pod)
        for device, uuid in uuids.items():
            pods = tuple(sorted(users.get(device, ())))
            consumed = holdings.consumed.get(device, {})
            parts = tuple(_share(inventory, device, consumed.get(user, {})) for user in pods)
            if pods:
                self.users[uuid] = pods
            if pods and min(parts) > 0:
                self.parts[uuid] = parts
            several = bool(inventory.subjects[device].device.allowMultipleAllocations)
            several |= any(consumed.values())
            if len(pods) > 1 or (several and max(parts, default=0.0) < 1):
                self.shared.add(uuid)
                self.nodes.add(int(inventory.node[device]))


def _share(inventory: DeviceInventory, device: int, consumed: Mapping[str, float]) -> float:
    """The most that is consumed of a capacity of the device; 0 where that is not known."""
    capacity = inventory.subjects[device].device.capacity or {}
    sizes = {name: nanos(device_capacity.value) for name, device_capacity in capacity.items()}
    return max(
        (used / sizes[name] for name, used in consumed.items() if sizes.get(name, 0) > 0),
        default=0.0,
    )
