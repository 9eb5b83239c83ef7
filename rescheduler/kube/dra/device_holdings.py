"""Which devices claims have, which pods use those claims, and what is free when a pod goes.

Source: dynamic-resource-allocation resourceclaim/resourceclaim.go (IsReservedForPod) and
pkg/controller/resourceclaim/controller.go (syncClaim), Kubernetes 1.36.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.devices import ResourceClaim


class DeviceHoldings:
    """The devices of the inventory with what allocated claims take of them.

    A pod uses a claim that is reserved for it, and one that was made for it. The devices of a claim
    are free again when its last user goes: a claim that a pod shares keeps them. A user that is not
    among the pods (one that has ended, or a pod group) is there all the same.
    claims: (devices,) how many claims have it; claims with admin access do not count.
    of_pod: pod to the devices that it uses. freed: pod to those of them that go with it.
    lost: pods with a device that no slice offers any more.
    users: UIDs of what uses or owns an allocated claim.
    """

    def __init__(
        self, claims: Iterable[ResourceClaim], pods: Mapping[str, int], inventory: DeviceInventory
    ) -> None:
        """pods: UID to the number of the pod."""
        self.claims: IntArray = np.zeros(len(inventory), dtype=np.int32)
        self.of_pod: dict[int, list[int]] = {}
        self.freed: dict[int, list[int]] = {}
        self.lost: set[int] = set()
        self.users: set[str] = set()
        for claim in claims:
            allocation = claim.status.allocation
            if allocation is None:
                continue
            results = [
                inventory.index.get((each.driver, each.pool, each.device), -1)
                for each in allocation.devices.results or ()
                if not each.adminAccess
            ]
            devices = [number for number in results if number >= 0]
            np.add.at(self.claims, np.array(devices, dtype=np.int32), 1)
            users = _users(claim)
            self.users |= users
            for pod in sorted(pods[uid] for uid in users & pods.keys()):
                self.of_pod.setdefault(pod, []).extend(devices)
                if len(users) == 1:
                    self.freed.setdefault(pod, []).extend(devices)
                if len(devices) < len(results):
                    self.lost.add(pod)


def _users(claim: ResourceClaim) -> set[str]:
    """The UIDs of those for whom it is reserved, and of the pod or group that it was made for."""
    reserved = {each.uid for each in claim.status.reservedFor or ()}
    return reserved | {each.uid for each in claim.metadata.ownerReferences or ()}
