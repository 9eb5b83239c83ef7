"""The devices that nodes offer, and which of them claims have: as pods come and go."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from rescheduler.model.devices import ResourceSlice
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.device_expressions import Node, Subject, Unclear, evaluate
from rescheduler.scheduler.occupancy import Occupancy

Wanted = Callable[[int], list[tuple[IntArray, int]]]
"""What a pod asks for: devices that will do, and how many of them."""

_BLOCKING = frozenset({"NoSchedule", "NoExecute"})


class DeviceStock:
    """Every device of the newest generation of its pool.

    node: (devices,) the index of its node; -1 where several nodes can reach it, -2 where its node
        is not there.
    taken: (devices,) how many claims have it.
    allocated: UIDs of the pods whose own claims have devices.
    incomplete: drivers of which some pool is not wholly there.
    """

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy) -> None:
        self._subjects: list[Subject] = []
        self._nodes: list[int] = []
        self._index: dict[tuple[str, str, str], int] = {}
        self.incomplete: set[str] = set()
        self.allocated: set[str] = set()
        newest = self._newest(snapshot.resource_slices)
        for each in newest:
            self._add(each, snapshot.node_index)
        there = Counter((each.spec.driver, each.spec.pool.name) for each in newest)
        for each in newest:
            if there[each.spec.driver, each.spec.pool.name] != each.spec.pool.resourceSliceCount:
                self.incomplete.add(each.spec.driver)
        self.node = np.array(self._nodes, dtype=np.int32)
        self.taken = np.zeros(len(self._nodes), dtype=np.int32)
        self.wanted: Wanted = lambda _: []
        self._held: dict[int, list[int]] = {}
        self._remembered: dict[tuple[int, int], list[int]] = {}
        self._read_claims(snapshot)
        users = {number for number, pod in enumerate(snapshot.pods) if pod.spec.resourceClaims}
        if users and len(self._nodes):
            self._users = users
            occupancy.watchers.append(self._change)

    def __len__(self) -> int:
        return len(self._nodes)

    def attribute(self, number: int, name: str) -> object:
        """The value of a device's attribute by its full name; None where it has none."""
        driver, device = self._subjects[number]
        held = device.attributes or {}
        domain, _, short = name.rpartition("/")
        value = held.get(name) or (held.get(short) if domain == driver else None)
        if value is None:
            return None
        return (value.text, value.number, value.flag, value.version)

    def select(self, among: IntArray, expression: Node) -> IntArray:
        """Those of these devices that the expression selects.

        Raises:
            Unclear: it fails on one of them.
        """
        chosen = []
        for number in among.tolist():
            subject = self._subjects[number]
            try:
                if evaluate(expression, subject):
                    chosen.append(number)
            except Unclear as error:
                raise Unclear(f"{error} (device {subject.device.name})") from error
        return np.array(chosen, dtype=np.int32)

    def everything(self) -> IntArray:
        """All devices."""
        return np.arange(len(self), dtype=np.int32)

    def untainted(self, devices: IntArray) -> IntArray:
        """Those of these devices that no taint keeps to pods that tolerate it."""
        return np.array(
            [
                number
                for number in devices.tolist()
                if all(
                    each.effect not in _BLOCKING
                    for each in self._subjects[number].device.taints or ()
                )
            ],
            dtype=np.int32,
        )

    def odd(self, devices: IntArray) -> str:
        """Why an allocation of one of these devices is not modelled, or ""."""
        for number in devices.tolist():
            driver, device = self._subjects[number]
            if driver in self.incomplete:
                return f"not all devices of driver {driver} are known"
            if self.node[number] == -1:
                return f"device {device.name} can be reached from several nodes"
            if device.consumesCounters or device.allowMultipleAllocations:
                return f"device {device.name} is a part of another, or shared"
            if device.bindingConditions:
                return f"device {device.name} has binding conditions"
        return ""

    def free(self) -> BoolArray:
        """(devices,) those that no claim has."""
        answer: BoolArray = self.taken == 0
        return answer

    @staticmethod
    def _newest(slices: list[ResourceSlice]) -> list[ResourceSlice]:
        newest: dict[tuple[str, str], int] = {}
        for each in slices:
            key = (each.spec.driver, each.spec.pool.name)
            newest[key] = max(newest.get(key, 0), each.spec.pool.generation)
        return [
            each
            for each in slices
            if each.spec.pool.generation == newest[each.spec.driver, each.spec.pool.name]
        ]

    def _add(self, offered: ResourceSlice, nodes: dict[str, int]) -> None:
        spec = offered.spec
        pool = spec.pool
        for device in spec.devices or ():
            name = device.nodeName if spec.perDeviceNodeSelection else spec.nodeName
            self._index[spec.driver, pool.name, device.name] = len(self._nodes)
            self._subjects.append(Subject(spec.driver, device))
            self._nodes.append(nodes.get(name, -2) if name else -1)

    def _read_claims(self, snapshot: Snapshot) -> None:
        """Which devices are taken, and which of them go with a pod."""
        owners = snapshot.pod_index
        for claim in snapshot.resource_claims:
            allocation = claim.status.allocation
            if allocation is None:
                continue
            devices = []
            for result in allocation.devices.results or ():
                number = self._index.get((result.driver, result.pool, result.device))
                if number is not None and not result.adminAccess:
                    devices.append(number)
                    self.taken[number] += 1
            for owner in claim.metadata.ownerReferences or ():
                self.allocated.add(owner.uid)
                pod = owners.get(owner.uid) if owner.kind == "Pod" else None
                if pod is not None:
                    self._held.setdefault(pod, []).extend(devices)

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
