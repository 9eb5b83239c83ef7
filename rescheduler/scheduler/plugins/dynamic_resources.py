"""Plugin DynamicResources: a pod goes where free devices satisfy its claims."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rescheduler.kube.dra.class_resources import extended_names, served_by_class
from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.device_needs import DeviceNeeds, Need, Needs, PartsNeed
from rescheduler.kube.dra.device_packing import pack
from rescheduler.kube.dra.device_shares import ConsumedCapacity, DeviceShares, Share
from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import ByMaximum, Relative
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import FeatureGate, Filter, Plugin, Replacement, Score
from rescheduler.scheduler.profile import Profile


class Held(NamedTuple):
    """What a pod's claims have: devices, and which of them only in part."""

    devices: list[int]
    parts: list[ConsumedCapacity]


class ClaimedDevices:
    """The devices of the inventory with what claims take of them.

    taken: (devices,) how many claims have it. shares: what they consume of it.
    allocated: UIDs of the pods whose claims have devices.
    """

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy) -> None:
        self.inventory = DeviceInventory(
            snapshot.resource_slices, snapshot.node_index, snapshot.device_taint_rules
        )
        self.node = self.inventory.node
        holdings = DeviceHoldings(snapshot.resource_claims, snapshot.pod_index, self.inventory)
        self.allocated = holdings.users
        self.taken = holdings.claims
        self.shares = DeviceShares(self.inventory, holdings.parts)
        self.wanted: Callable[[int], Sequence[Needs]] = lambda _: ()
        self._held = {
            pod: Held(devices, holdings.freed_parts.get(pod, []))
            for pod, devices in holdings.freed.items()
        }
        self._remembered: dict[tuple[int, int], Held] = {}
        users = {number for number, pod in enumerate(snapshot.pods) if pod.spec.resourceClaims}
        if users and len(self.node):
            self._users = users
            occupancy.watchers.append(self._change)

    def free(self) -> BoolArray:
        """(devices,) those that no claim has, nor parts of them."""
        answer: BoolArray = (self.taken == 0) & self.inventory.counters.devices_that_fit(
            self.taken > 0
        )
        return answer

    def room(self, share: Share) -> IntArray:
        """(devices,) how many requests that consume so much each can still serve."""
        able = (self.taken == self.shares.count) & self.inventory.counters.devices_that_fit(
            self.taken > 0
        )
        return np.where(able, self.shares.room(share), 0)

    def _change(self, pod: int, node: int, sign: int) -> None:
        """A pod has come to (1) or gone from (-1) a node, and its devices with it."""
        if pod not in self._users:
            return
        if sign < 0:
            held = self._held.pop(pod, Held([], []))
            self._remembered[pod, node] = held
            self._take(held, -1)
            return
        held = self._remembered.get((pod, node), Held([], []))
        if not held.devices or not self._fits(held):
            held = self._first_fit(pod, node)
        self._held[pod] = held
        self._take(held, 1)

    def _take(self, held: Held, sign: int) -> None:
        np.add.at(self.taken, np.array(held.devices, dtype=np.int32), sign)
        for part in held.parts:
            self.shares.change(part, sign)

    def _fits(self, held: Held) -> bool:
        """Whether nobody has come to devices that were held in whole, or to a part of them."""
        parts = [part.device for part in held.parts]
        whole = [device for device in held.devices if device not in parts]
        fitting = bool(self.free()[whole].all())
        fitting = fitting and self.inventory.counters.allow(self.taken > 0, whole)
        return fitting and self.shares.fit(held.parts)

    def pack(self, needs: Sequence[Need], node: int, free: BoolArray) -> list[int]:
        """Devices of that node for all of these needs together, or none. free: as `free()`."""
        here = [
            (devices[(self.node[devices] == node) & free[devices]].tolist(), number)
            for devices, number in needs
        ]
        counters = self.inventory.counters
        return pack(here, counters.uses, counters.remaining_counters(self.taken > 0))

    def _first_fit(self, pod: int, node: int) -> Held:
        """The first free devices of the node that will do: which ones, only the allocator knows.

        Of alternatives, those of the first that can be had; where none can, of the last.
        """
        held, missing = Held([], []), 0
        for wanted in self.wanted(pod):
            held, missing = self._first_of(wanted, node)
            if not missing:
                break
        return held

    def _first_of(self, wanted: Needs, node: int) -> tuple[Held, int]:
        """The same for one choice of alternatives, and how many devices it lacks."""
        chosen: list[int] = []
        parts: list[ConsumedCapacity] = []
        missing, free = 0, self.free()
        if wanted.packed:
            chosen = self.pack(wanted.needs, node, free)
            return Held(chosen, []), int(not chosen)
        for devices, number in wanted.needs:
            here = devices[(self.node[devices] == node) & free[devices]]
            count = number or len(devices)
            picks = [device for device in here.tolist() if device not in chosen][:count]
            chosen += picks
            missing += max(number - len(picks), 0)
        for devices, number, share in wanted.parts:
            here = devices[self.node[devices] == node]
            first = np.repeat(here, self.room(share)[here])[:number].tolist()
            chosen += first
            missing += number - len(first)
            parts += [part for device in first if (part := self.shares.part(share, device))]
        return Held(chosen, parts), missing


class Packed:
    """The nodes where devices that may be partitions of the same serve all needs at once.

    A node is worked out again only when its devices, or what they have in common, have changed.
    """

    def __init__(self, use: ClaimedDevices, needs: Needs, nodes: int) -> None:
        self._use = use
        self._needs = needs.needs
        self._answer: BoolArray = np.zeros(nodes, dtype=np.bool_)
        self._taken: BoolArray | None = None

    def __call__(self) -> BoolArray:
        """(nodes,) as it is now."""
        use, taken = self._use, self._use.taken > 0
        if self._taken is None:
            changed = np.ones(len(taken), dtype=np.bool_)
        else:
            changed = use.inventory.counters.devices_of_same_pools(taken != self._taken)
        self._taken, free = taken, use.free()
        for node in np.unique(use.node[changed]).tolist():
            if node >= 0:
                self._answer[node] = bool(use.pack(self._needs, node, free))
        return self._answer.copy()


class DeviceClaims:
    """What pods ask of devices: claims made from templates."""

    def __init__(self, snapshot: Snapshot, use: ClaimedDevices) -> None:
        self.use = use
        self._needs = DeviceNeeds(
            use.inventory, snapshot.claim_templates, snapshot.device_classes, snapshot.unread
        )
        self._extended = extended_names(snapshot.device_classes)
        self._rules = bool(snapshot.device_taint_rules)
        self._rules_unread = "DeviceTaintRule" in snapshot.unread
        pods = snapshot.pods
        use.wanted = lambda pod: self.needs(pods[pod].metadata.namespace, pods[pod].spec)

    @classmethod
    def from_handle(cls, handle: Handle) -> Self:
        """Of all pods, with the devices in the working copy."""
        return cls(handle.snapshot, ClaimedDevices(handle.snapshot, handle.occupancy))

    def problem(self, pod: Pod, profile: Profile) -> str | None:
        """Why the allocation for this pod by such a scheduler cannot be predicted, or None."""
        if profile.extended_devices:
            name = served_by_class(pod.spec, self._extended)
            if name:
                return f"{name} may be served by a device class"
        if not pod.spec.resourceClaims:
            return None
        if profile.device_taint_rules and self._rules_unread:
            return "it has resource claims, and DeviceTaintRule was not read"
        if self._rules and not profile.device_taint_rules:
            return "the cluster has DeviceTaintRules, and its scheduler does not follow them"
        if not pod.node and pod.metadata.uid in self.use.allocated:
            return "its resource claims have devices already, but it is not bound"
        needs = self._needs.needs_of_spec(pod.metadata.namespace, pod.spec)
        if isinstance(needs, str):
            return needs
        if any(need.capacity for need in needs) and not profile.consumable_capacity:
            return "it may get a part of a device, and DRAConsumableCapacity is off"
        if any(need.partitions for need in needs) and not profile.partitions:
            return "it may get a partition of a device, and DRAPartitionableDevices is off"
        return None

    def needs(self, namespace: str, spec: PodSpec) -> tuple[Needs, ...]:
        """What a pod without a problem needs: the alternatives of its claims in their order."""
        needs = self._needs.needs_of_spec(namespace, spec)
        return () if isinstance(needs, str) else needs


class DynamicResources(Plugin):
    """Which devices are chosen is left to the allocator: only whether a choice exists counts.

    Source: dynamic-resource-allocation/structured and plugins/dynamicresources.
    """

    name: ClassVar[str] = "DynamicResources"
    weight: ClassVar[int] = 2
    scores_since: ClassVar[int] = 35
    gate: ClassVar[FeatureGate | None] = FeatureGate("DynamicResourceAllocation", 34)
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("DRAExtendedResource", 36, "extended_devices"),
        FeatureGate("DRAConsumableCapacity", 36, "consumable_capacity"),
        FeatureGate("DRAPartitionableDevices", 36, "partitions"),
        FeatureGate("DRADeviceTaintRules", 37, "device_taint_rules"),
    )
    unresolvable: ClassVar[bool] = True
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, claims: DeviceClaims, nodes: int, profile: Profile) -> None:
        """nodes: how many there are."""
        self._claims = claims
        self._use = claims.use
        self._count = nodes
        self._profile = profile

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """Its view of devices is one for all profiles."""
        claims = handle.part(DeviceClaims.from_handle)
        return cls(claims, len(handle.snapshot.nodes), profile)

    def problem(self, pod: Pod) -> str | None:
        """It is not known what the allocator would do, or whether it is called at all."""
        return self._claims.problem(pod, self._profile)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose free devices can serve all claims at once."""
        served = [self._filter_of_needs(choice) for choice in self._choices(pod)]
        if not served:
            return None
        if len(served) == 1:
            return served[0]
        return lambda: np.any([claim_filter() for claim_filter in served], axis=0)

    def score(self, pod: Replacement) -> Score | None:
        """An earlier alternative that can be had is better."""
        choices = self._choices(pod)
        if not any(choice.points for choice in choices):
            return None
        served = [(choice.points, self._filter_of_needs(choice)) for choice in choices]

        def score_nodes(nodes: IntArray) -> Relative:
            points = np.zeros(len(nodes), dtype=np.int64)
            for worth, serves in reversed(served):
                points[serves()[nodes]] = worth
            return ByMaximum(points)

        return score_nodes

    def _choices(self, pod: Replacement) -> Sequence[Needs]:
        """Its needs, where it has any, in the order of its alternatives."""
        if not pod.spec.resourceClaims:
            return ()
        choices = self._claims.needs(pod.namespace, pod.spec)
        return choices if any(choice.needs or choice.parts for choice in choices) else ()

    def _filter_of_needs(self, needs: Needs) -> Filter:
        """The nodes whose free devices can serve one choice of alternatives."""
        if needs.packed:
            return Packed(self._use, needs, self._count)
        if needs.needs and not needs.needs[0].number:
            return partial(self._all_free, needs.needs[0].devices)
        places, group = self._groups(needs.common)
        return partial(self._nodes_with_enough, needs.together, needs.parts, group, places)

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
            attribute = self._use.inventory.attribute(device, common)
            if node >= 0 and attribute is not None and attribute.single is not None:
                group[device] = numbers.setdefault((node, attribute.single), len(numbers))
        return np.array([node for node, _ in numbers], dtype=np.int32), group

    def _all_free(self, devices: IntArray) -> BoolArray:
        nodes = self._use.node[devices]
        has_node = nodes >= 0
        free = has_node & self._use.free()[devices]
        there = np.bincount(nodes[has_node], minlength=self._count)
        answer: BoolArray = (there > 0) & (np.bincount(nodes[free], minlength=self._count) == there)
        return answer

    def _nodes_with_enough(
        self, together: list[Need], parts: tuple[PartsNeed, ...], group: IntArray, places: IntArray
    ) -> BoolArray:
        """Hall's condition: any of the requests together have at least so many free devices.

        Of devices that are given in parts, each counts as often as it can still serve the request.
        """
        fits = np.ones(len(places), dtype=np.bool_)
        free = self._use.free() & (group >= 0)
        for devices, number in together:
            free_groups = group[devices[free[devices]]]
            fits &= np.bincount(free_groups, minlength=len(places)) >= number
        for devices, number, share in parts:
            here = devices[group[devices] >= 0]
            times = self._use.room(share)[here]
            fits &= np.bincount(group[here], weights=times, minlength=len(places)) >= number
        answer = np.zeros(self._count, dtype=np.bool_)
        answer[places[fits]] = True
        return answer
