"""Accelerators that pods have by claims (dynamic resource allocation)."""

from collections.abc import Iterable, Mapping

import numpy as np

from rescheduler.kube.accelerators import maker_of_driver, part_of_gpu
from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import ResourceClaim, ResourceSlice


class ClaimedAccelerators:
    """The accelerators that ResourceSlices offer, and who has them.

    count: (nodes,) whole devices that claims can have. makers: (nodes) who makes them.
    held: pod to how many devices it has. gpus: pod to how many GPUs these are, of partitions the
    part that each is of one; NaN where that of some is not known.
    users: UUID to the pods that have the device.
    shared: UUIDs of the devices that several claims or pods may have at once; nodes: their nodes.
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
        self.makers: list[set[str]] = [set() for _ in nodes]
        self.held: dict[int, int] = {}
        self.gpus: dict[int, float] = {}
        self.users: dict[str, tuple[int, ...]] = {}
        self.shared: set[str] = set()
        self.nodes: set[int] = set()
        if not any(maker_of_driver(each.spec.driver) for each in slices):
            return
        inventory = DeviceInventory(slices, dict(nodes))
        uuids: dict[int, str] = {}
        sizes: dict[int, float] = {}
        for device, (driver, offered) in enumerate(inventory.subjects):
            node, made_by = int(inventory.node[device]), maker_of_driver(driver)
            if not made_by or node < 0:
                continue
            sort = inventory.attribute(device, f"{driver}/type")
            whole = sort is None or sort.text == "gpu"
            self.count[node] += whole
            profile = inventory.attribute(device, f"{driver}/profile")
            named = "" if profile is None else profile.text
            sizes[device] = 1.0 if whole else part_of_gpu(named or "?")
            self.makers[node].add(made_by)
            uuid = inventory.attribute(device, f"{driver}/uuid")
            uuids[device] = (uuid.text if uuid is not None else None) or offered.name
            if offered.allowMultipleAllocations:
                self.shared.add(uuids[device])
                self.nodes.add(node)
        users: dict[int, set[int]] = {}
        for pod, devices in DeviceHoldings(claims, pods, inventory).of_pod.items():
            own = set(devices) & uuids.keys()
            if own:
                self.held[pod] = len(own)
                self.gpus[pod] = sum(sizes[device] for device in own)
            for device in own:
                users.setdefault(device, set()).add(pod)
        for device, found in users.items():
            self.users[uuids[device]] = tuple(sorted(found))
            if len(found) > 1:
                self.shared.add(uuids[device])
                self.nodes.add(int(inventory.node[device]))
