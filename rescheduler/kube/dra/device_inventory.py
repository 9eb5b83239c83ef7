"""The devices that nodes offer by dynamic resource allocation."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.cel import CelDevice, Node, Unclear, evaluate
from rescheduler.kube.dra.device_counters import DeviceCounters
from rescheduler.kube.dra.devices import DeviceAttribute, DeviceTaintRule, ResourceSlice
from rescheduler.kube.objects import Taint, Toleration
from rescheduler.kube.pods.tolerations import HARD, is_tolerated


class DeviceInventory:
    """Every device of the newest generation of its pool, in the order in which they are offered.

    node: (devices,) the index of its node; -1 where several nodes can reach it, -2 where its node
        is not there.
    part: (devices,) the number of the ResourceSlice that offers it.
    index: driver, pool and name to the device.
    incomplete: drivers with a pool that is not wholly there.
    counters: what partitions of devices have in common.
    """

    def __init__(
        self,
        slices: list[ResourceSlice],
        nodes: dict[str, int],
        rules: Sequence[DeviceTaintRule] = (),
    ) -> None:
        """rules: what administrators taint."""
        self._rules = rules
        self.subjects: list[CelDevice] = []
        self.index: dict[tuple[str, str, str], int] = {}
        self.incomplete: set[str] = set()
        places: list[int] = []
        parts: list[int] = []
        newest = _newest(slices)
        for number, resource_slice in enumerate(newest):
            spec = resource_slice.spec
            for device in spec.devices or ():
                name = device.nodeName if spec.perDeviceNodeSelection else spec.nodeName
                self.index[spec.driver, spec.pool.name, device.name] = len(self.subjects)
                self.subjects.append(CelDevice(spec.driver, device))
                places.append(nodes.get(name, -2) if name else -1)
                parts.append(number)
        there = Counter(
            (resource_slice.spec.driver, resource_slice.spec.pool.name) for resource_slice in newest
        )
        for resource_slice in newest:
            if (
                there[resource_slice.spec.driver, resource_slice.spec.pool.name]
                != resource_slice.spec.pool.resourceSliceCount
            ):
                self.incomplete.add(resource_slice.spec.driver)
        self.node = np.array(places, dtype=np.int32)
        self.part = np.array(parts, dtype=np.int32)
        self.counters = DeviceCounters(newest, self.index, self.node)

    def __len__(self) -> int:
        return len(self.subjects)

    @cached_property
    def sort(self) -> IntArray:
        """(devices,) a number that devices share which have the same capacities to consume."""
        number_by_capacity: dict[bytes, int] = {}
        numbers = []
        for _, device in self.subjects:
            alike = msgspec.json.encode((device.allowMultipleAllocations, device.capacity))
            numbers.append(number_by_capacity.setdefault(alike, len(number_by_capacity)))
        return np.array(numbers, dtype=np.int32)

    @cached_property
    def examples(self) -> IntArray:
        """The first device of each sort."""
        first: IntArray = np.unique(self.sort, return_index=True)[1].astype(np.int32)
        return first

    def divisible(self, devices: IntArray) -> bool:
        """Whether several claims may have one of these devices."""
        return any(self.subjects[d].device.allowMultipleAllocations for d in devices.tolist())

    def attribute(self, number: int, name: str) -> DeviceAttribute | None:
        """A device's attribute by its full name; None where it has none."""
        driver, device = self.subjects[number]
        held = device.attributes or {}
        domain, _, short = name.rpartition("/")
        return held.get(name) or (held.get(short) if domain == driver else None)

    def select(self, among: IntArray, expression: Node) -> IntArray:
        """Those of these devices that the expression selects.

        Raises:
            Unclear: it fails on one of them.
        """
        chosen = []
        for number in among.tolist():
            subject = self.subjects[number]
            try:
                if evaluate(expression, subject):
                    chosen.append(number)
            except Unclear as error:
                raise Unclear(f"{error} (device {subject.device.name})") from error
        return np.array(chosen, dtype=np.int32)

    def all_devices(self) -> IntArray:
        """All devices."""
        return np.arange(len(self), dtype=np.int32)

    def untainted_devices(
        self, devices: IntArray, tolerations: Sequence[Toleration] | None = None
    ) -> IntArray:
        """Those of these devices that no taint keeps from a request with these tolerations."""
        return np.array(
            [
                number
                for number in devices.tolist()
                if all(
                    taint.effect not in HARD or is_tolerated(taint, tolerations)
                    for taint in self._taints[number]
                )
            ],
            dtype=np.int32,
        )

    def eviction_reason(self, devices: IntArray, tolerations: Sequence[Toleration] | None) -> str:
        """Why a pod that gets one of these devices is evicted at once, or "".

        Of tolerations only those with effect NoExecute count then, which is not so when a device
        is allocated. Source: pkg/controller/devicetainteviction, device_taint_eviction.go.
        """
        lasting = [
            toleration for toleration in tolerations or () if toleration.effect == "NoExecute"
        ]
        for number in devices.tolist():
            for taint in self._taints[number]:
                if taint.effect == "NoExecute" and not is_tolerated(taint, lasting):
                    name = self.subjects[number].device.name
                    return f"who gets device {name} is evicted again for its taint {taint.key}"
        return ""

    @cached_property
    def _taints(self) -> list[list[Taint]]:
        """Of each device: its driver's, and those that administrators put on it."""
        answer = [list(subject.device.taints or ()) for subject in self.subjects]
        for rule in self._rules:
            for key, number in self.index.items():
                if rule.selects(*key):
                    answer[number].append(rule.spec.taint)
        return answer

    def odd(self, devices: IntArray) -> str:
        """Why an allocation of one of these devices is not modelled, or ""."""
        for number in devices.tolist():
            driver, device = self.subjects[number]
            if driver in self.incomplete:
                return f"not all devices of driver {driver} are known"
            if self.node[number] == -1:
                return f"device {device.name} can be reached from several nodes"
            if number in self.counters.unclear:
                return self.counters.unclear[number]
            if device.bindingConditions:
                return f"device {device.name} has binding conditions"
        return ""


def _newest(slices: list[ResourceSlice]) -> list[ResourceSlice]:
    newest: dict[tuple[str, str], int] = {}
    for resource_slice in slices:
        key = (resource_slice.spec.driver, resource_slice.spec.pool.name)
        newest[key] = max(newest.get(key, 0), resource_slice.spec.pool.generation)
    return [
        resource_slice
        for resource_slice in slices
        if resource_slice.spec.pool.generation
        == newest[resource_slice.spec.driver, resource_slice.spec.pool.name]
    ]
