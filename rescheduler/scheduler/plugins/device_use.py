"""The devices that nodes offer, and which of them claims have: as pods come and go."""

from collections.abc import Callable

from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.occupancy import Occupancy

Wanted = Callable[[int], list[tuple[IntArray, int]]]
"""What a pod asks for: devices that will do, and how many of them."""


class DeviceUse:
    """The devices of the inventory with what claims take of them.

    taken: (devices,) how many claims have it.
    allocated: UIDs of the pods whose claims have devices.
    """

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy) -> None:
        self.inventory = DeviceInventory(snapshot.resource_slices, snapshot.node_index)
        self.node = self.inventory.node
        holdings = DeviceHoldings(snapshot.resource_claims, snapshot.pod_index, self.inventory)
        self.allocated = holdings.users
        self.taken = holdings.claims
        self.wanted: Wanted = lambda _: []
        self._held = holdings.freed
        self._remembered: dict[tuple[int, int], list[int]] = {}
        users = {number for number, pod in enumerate(snapshot.pods) if pod.spec.resourceClaims}
        if users and len(self.node):
            self._users = users
            occupancy.watchers.append(self._change)

    def free(self) -> BoolArray:
        """(devices,) those that no claim has."""
        answer: BoolArray = self.taken == 0
        return answer

    def _change(self, pod: int, node: int, sign: int) -> None:
        """A pod has come to (1) or gone from (-1) a node, and its devices with it."""
        if pod not in self._users:
            return
        if sign < 0:
            held = self._held.pop(pod, [])
            self._remembered[pod, node] = held
            self.taken[held] -= 1
            return
        held = self._remembered.get((pod, node), [])
        if not held or self.taken[held].any():
            held = self._first_fit(pod, node)
        self._held[pod] = held
        self.taken[held] += 1

    def _first_fit(self, pod: int, node: int) -> list[int]:
        """The first free devices of the node that will do: which ones, only the allocator knows."""
        chosen: list[int] = []
        for devices, count in self.wanted(pod):
            here = devices[(self.node[devices] == node) & (self.taken[devices] == 0)]
            chosen += [each for each in here.tolist() if each not in chosen][:count]
        return chosen
