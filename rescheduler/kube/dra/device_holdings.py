"""Which devices claims have, which pods use those claims, and what is free when a pod goes.

Source: dynamic-resource-allocation resourceclaim/resourceclaim.go (IsReservedForPod) and
pkg/controller/resourceclaim/controller.go (syncClaim).
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.device_shares import ConsumedCapacity
from rescheduler.kube.dra.devices import AllocatedDevice, ResourceClaim
from rescheduler.kube.quantity import nanos


class DeviceHoldings:
    """The devices of the inventory with what allocated claims take of them.

    A pod uses a claim that is reserved for it, and one that was made for it. Its devices are free
    again when the last goes for whom it is reserved; where it is reserved for none, when the pod
    goes for which it was made. Who is not among the pods (one that has ended, a pod group) is there
    all the same.
    claims: (devices,) how many claims have it; claims with admin access do not count.
    consumed: device to pod to what its claims consume of the device's capacities, in nanos by name;
    pods that have a claim together have equal parts.
    parts: what claims consume of devices that several claims may share.
    of_pod: pod to the devices that it uses. freed: pod to those of them that go with it.
    freed_parts: pod to the parts that go with it.
    lost: pods with a device that no slice offers any more.
    users: UIDs of what uses or owns an allocated claim.
    """

    def __init__(
        self, claims: Iterable[ResourceClaim], pods: Mapping[str, int], inventory: DeviceInventory
    ) -> None:
        """pods: UID to the number of the pod."""
        self.claims: IntArray = np.zeros(len(inventory), dtype=np.int32)
        self.consumed: dict[int, dict[int, dict[str, float]]] = {}
        self.parts: list[ConsumedCapacity] = []
        self.freed_parts: dict[int, list[ConsumedCapacity]] = {}
        self.of_pod: dict[int, list[int]] = {}
        self.freed: dict[int, list[int]] = {}
        self.lost: set[int] = set()
        self.users: set[str] = set()
        for claim in claims:
            allocation = claim.status.allocation
            if allocation is None:
                continue
            results = [
                inventory.index.get((result.driver, result.pool, result.device), -1)
                for result in allocation.devices.results or ()
                if not result.adminAccess
            ]
            devices = [number for number in results if number >= 0]
            np.add.at(self.claims, np.array(devices, dtype=np.int32), 1)
            parts = list(_parts(allocation.devices.results or (), inventory))
            self.parts += parts
            reserved = {consumer.uid for consumer in claim.status.reservedFor or ()}
            owners = {reference.uid for reference in claim.metadata.ownerReferences or ()}
            users = reserved | owners
            self.users |= users
            last = reserved or owners
            present = sorted(users & pods.keys(), key=pods.__getitem__)
            for result in allocation.devices.results or ():
                number = inventory.index.get((result.driver, result.pool, result.device), -1)
                if number >= 0 and not result.adminAccess:
                    self._consume(number, result, [pods[uid] for uid in present])
            for uid in present:
                pod = pods[uid]
                self.of_pod.setdefault(pod, []).extend(devices)
                if last == {uid}:
                    self.freed.setdefault(pod, []).extend(devices)
                    self.freed_parts.setdefault(pod, []).extend(parts)
                if len(devices) < len(results):
                    self.lost.add(pod)

    def _consume(self, device: int, result: AllocatedDevice, pods: list[int]) -> None:
        for pod in pods:
            own = self.consumed.setdefault(device, {}).setdefault(pod, {})
            for name, amount in (result.consumedCapacity or {}).items():
                own[name] = own.get(name, 0.0) + nanos(amount) / len(pods)


def _parts(
    results: Iterable[AllocatedDevice], inventory: DeviceInventory
) -> Iterator[ConsumedCapacity]:
    """The results that are a share of a device: the others take all of it (allocateddevices.go)."""
    for result in results:
        number = inventory.index.get((result.driver, result.pool, result.device), -1)
        if number >= 0 and result.shareID and not result.adminAccess:
            consumed = (result.consumedCapacity or {}).items()
            yield ConsumedCapacity(number, {name: nanos(amount) for name, amount in consumed})
