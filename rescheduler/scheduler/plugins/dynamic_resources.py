"""Plugin DynamicResources: a pod goes where free devices satisfy its claims."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.dra.class_resources import extended_names, served_by_class
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.device_needs import DeviceNeeds, Need, Needs
from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Filter, Gate, Plugin, Replacement
from rescheduler.scheduler.profile import Profile

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


class DeviceClaims:
    """What pods ask of devices: claims made from templates."""

    def __init__(self, snapshot: Snapshot, use: DeviceUse) -> None:
        self.use = use
        self._needs = DeviceNeeds(
            use.inventory, snapshot.claim_templates, snapshot.device_classes, snapshot.unread
        )
        self._extended = extended_names(snapshot.device_classes)
        pods = snapshot.pods
        use.wanted = lambda pod: list(self._wanted(pods[pod]))

    @classmethod
    def of(cls, handle: Handle) -> Self:
        """Of all pods, with the devices in the working copy."""
        return cls(handle.snapshot, DeviceUse(handle.snapshot, handle.occupancy))

    def problem(self, pod: Pod, *, extended: bool) -> str | None:
        """Why the allocation for this pod cannot be predicted, or None.

        extended: device classes may serve extended resources.
        """
        if extended:
            name = served_by_class(pod.spec, self._extended)
            if name:
                return f"{name} may be served by a device class"
        if not pod.spec.resourceClaims:
            return None
        if not pod.node and pod.metadata.uid in self.use.allocated:
            return "its resource claims have devices already, but it is not bound"
        known = self._needs.of(pod.metadata.namespace, pod.spec)
        return known if isinstance(known, str) else None

    def needs(self, namespace: str, spec: PodSpec) -> Needs:
        """What a pod without a problem needs."""
        known = self._needs.of(namespace, spec)
        return Needs([]) if isinstance(known, str) else known

    def _wanted(self, pod: Pod) -> Iterator[tuple[IntArray, int]]:
        for need in self.needs(pod.metadata.namespace, pod.spec).needs:
            yield need.devices, need.number or len(need.devices)


class DynamicResources(Plugin):
    """Which devices are chosen is left to the allocator: only whether a choice exists counts.

    Source: dynamic-resource-allocation/structured and plugins/dynamicresources, Kubernetes 1.36.
    """

    name: ClassVar[str] = "DynamicResources"
    weight: ClassVar[int] = 2
    gate: ClassVar[Gate | None] = Gate("DynamicResourceAllocation", 34)
    gates: ClassVar[tuple[Gate, ...]] = (Gate("DRAExtendedResource", 36, "extended_devices"),)
    unresolvable: ClassVar[bool] = True
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, claims: DeviceClaims, nodes: int, *, extended: bool) -> None:
        """extended: device classes may serve extended resources."""
        self._claims = claims
        self._use = claims.use
        self._count = nodes
        self._extended = extended

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """Its view of devices is one for all profiles."""
        claims = handle.part(DeviceClaims.of)
        return cls(claims, len(handle.snapshot.nodes), extended=profile.extended_devices)

    def problem(self, pod: Pod) -> str | None:
        """What the allocator would do is not known, or whether it is asked at all."""
        return self._claims.problem(pod, extended=self._extended)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose free devices can serve all claims at once."""
        if not pod.spec.resourceClaims:
            return None
        needs = self._claims.needs(pod.namespace, pod.spec)
        if not needs.needs:
            return None
        if not needs.needs[0].number:
            return partial(self._all_free, needs.needs[0].devices)
        places, group = self._groups(needs.common)
        return partial(self._enough, needs.together, group, places)

    def _groups(self, common: str) -> tuple[IntArray, IntArray]:
        """The node of each group of devices, and the group of each device, -1 for none.

        A group is a node, or the devices of a node that have one value of an attribute.
        """
        nodes = self._use.node
        if not common:
            return np.arange(self._count, dtype=np.int32), np.maximum(nodes, -1)
        numbers: dict[tuple[int, object], int] = {}
        group = np.full(len(nodes), -1, dtype=np.int32)
        for device, node in enumerate(nodes.tolist()):
            found = self._use.inventory.attribute(device, common)
            if node >= 0 and found is not None and found.single is not None:
                group[device] = numbers.setdefault((node, found.single), len(numbers))
        return np.array([node for node, _ in numbers], dtype=np.int32), group

    def _all_free(self, devices: IntArray) -> BoolArray:
        nodes = self._use.node[devices]
        known = nodes >= 0
        free = known & self._use.free()[devices]
        there = np.bincount(nodes[known], minlength=self._count)
        answer: BoolArray = (there > 0) & (np.bincount(nodes[free], minlength=self._count) == there)
        return answer

    def _enough(self, together: list[Need], group: IntArray, places: IntArray) -> BoolArray:
        """Hall's condition: any of the requests together have at least so many free devices."""
        fits = np.ones(len(places), dtype=np.bool_)
        free = self._use.free() & (group >= 0)
        for devices, number in together:
            left = group[devices[free[devices]]]
            fits &= np.bincount(left, minlength=len(places)) >= number
        answer = np.zeros(self._count, dtype=np.bool_)
        answer[places[fits]] = True
        return answer
