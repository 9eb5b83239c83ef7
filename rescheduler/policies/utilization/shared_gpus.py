"""The GPUs that pods may share: what each carries, which pods have it, and where more would go."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rescheduler.kube.dra.claimed_accelerators import ClaimedAccelerators
from rescheduler.kube.nodes.accelerators import (
    AcceleratorOffer,
    offer_of,
    offers,
    part_of_gpu,
    product,
    requested_accelerators,
)
from rescheduler.model.cluster.readings import (
    BoolArray,
    DeviceValue,
    FloatArray,
    IntArray,
    ReadingRequest,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.node_signal import read_signal

_RESIDUAL = 0.1
"""The share of a device that may lie outside of what its pods are reported to use."""
_UNBOUNDED = 1 << 20
"""How many pods share a device where nobody reports how many may."""


@dataclass(frozen=True, slots=True)
class SharedGpus:
    """Arrays over devices (d,) and over what pods use of them (e,), sorted by pod.

    reading: the name of the reading. node, name, slot: where each is, and what it is called.
    load: (d,) share of the device; 0 where it is not `load_known`. weight: (d,) what it is of its
    node.
    capacity: (nodes,) what 1.0 of the node's reading is. values: (nodes,) that reading. replicas:
    (d,) how many pods may have it. parts_reported: (d,) whether pods' parts were reported, or are
    equal.
    claimed: (d,) whether they are in proportion to what claims consume of it. held: (d,) by how
    many pods. pod, device, part: (e,) who uses how much of what.
    resource_of_pod: (pods,) the resource that each requests, as a row of `places`, or -1.
    places: (resources, nodes, s) the devices that the resource gives there, -1 is none.
    models: (nodes,) what kind of device they have, 0 where nobody reports it.
    sharing: (nodes,) whether some are shared. unknown: (nodes,) where no load is known. blurred:
    (nodes,) where no exporter reports the GPU of each pod. distrusted: (nodes,) where the parts of
    the pods do not explain their device.
    range_samples: (instants, d) the loads in the requested past; None where that is not known.
    """

    reading: str
    node: IntArray
    name: list[str]
    slot: list[str]
    load: FloatArray
    load_known: BoolArray
    weight: FloatArray
    capacity: FloatArray
    values: FloatArray
    replicas: IntArray
    parts_reported: BoolArray
    claimed: BoolArray
    held: IntArray
    pod: IntArray
    device: IntArray
    part: FloatArray
    resource_of_pod: IntArray
    places: IntArray
    models: IntArray
    sharing: BoolArray
    unknown: BoolArray
    blurred: BoolArray
    distrusted: BoolArray
    range_samples: FloatArray | None


def read_shared_gpus(
    snapshot: Snapshot, request: ReadingRequest, selected: BoolArray
) -> SharedGpus | Problem:
    """Them by that reading of nodes, or why it must not be relied on.

    selected: (nodes,) where coverage is demanded.
    """
    builder = _Builder(snapshot)
    signal = read_signal(snapshot, request, selected & builder.sharing, highest=1.0)
    if isinstance(signal, Problem):
        return signal
    reading = snapshot.readings.find(request)
    if reading is None or reading.capacity is None or reading.capacity.shape != signal.values.shape:
        return Problem("RDG006", f"{request.name} has no value for the capacity of a node")
    devices_by_node: dict[int, list[DeviceValue]] = {}
    for device in reading.devices:
        if not np.isnan(signal.values[device.node]) and 0 <= device.value <= 1:
            devices_by_node.setdefault(device.node, []).append(device)
    past = reading.range_samples is not None
    return builder.build(request.name, devices_by_node, signal.values, reading.capacity, past=past)


def why_none_is_shared(resource: str, snapshot: Snapshot, selected: BoolArray) -> Iterator[str]:
    """That a target of GPUs evaluates none, where no pods of the selected nodes share one.

    Where no node has a GPU at all, the rule is not at fault.
    """
    node_offers = [offers(node.status.allocatable, node.metadata.labels) for node in snapshot.nodes]
    claimed = _claimed_accelerators(snapshot)
    some = any(node_offers) or any(claimed.makers)
    if some and not (_has_shared_gpus(node_offers, claimed) & selected).any():
        text = f"targets.{resource}: no GPU of these nodes is shared, so none is evaluated; "
        yield f"{text}`wholeDevices: Count` counts the GPUs that one pod has"


def _claimed_accelerators(snapshot: Snapshot) -> ClaimedAccelerators:
    return ClaimedAccelerators(
        snapshot.resource_slices,
        snapshot.resource_claims,
        snapshot.node_index,
        snapshot.pod_index,
    )


def _has_shared_gpus(
    offered: list[list[AcceleratorOffer]], claimed: ClaimedAccelerators
) -> BoolArray:
    answer = np.array([any(one.shared for one in offers) for offers in offered], np.bool_)
    answer[sorted(claimed.nodes)] = True
    return answer


class _Builder:
    """What the snapshot itself tells, and then the arrays."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._offers: list[list[AcceleratorOffer]] = [
            offers(node.status.allocatable, node.metadata.labels) for node in snapshot.nodes
        ]
        self._claimed = _claimed_accelerators(snapshot)
        self.sharing = _has_shared_gpus(self._offers, self._claimed)
        shared = (one.resource for offer in self._offers for one in offer if one.shared)
        self._rows = {resource: row for row, resource in enumerate(sorted(set(shared)))}

    def build(
        self,
        name: str,
        devices_by_node: Mapping[int, list[DeviceValue]],
        values: FloatArray,
        capacity: FloatArray,
        *,
        past: bool,
    ) -> SharedGpus:
        """All of it."""
        resource_of_pod, draft = self._resource_of_pod(), _Draft()
        waiting = self._by_node(resource_of_pod)
        states = np.zeros((3, len(self._offers)), np.bool_)
        for node in np.flatnonzero(self.sharing).tolist():
            states[:, node] = self._add(
                draft, node, devices_by_node.get(node, []), waiting.get(node, {})
            )
        unknown, blurred, distrusted = states
        entries = sorted(
            (pod, number, part)
            for number, own in enumerate(draft.holders)
            for pod, part in own.items()
        )
        devices, offered = draft.devices, draft.offered
        loads = np.array([device.value for device in devices], np.float64)
        return SharedGpus(
            reading=name,
            node=np.array([device.node for device in devices], np.int32),
            name=[device.device for device in devices],
            slot=[device.index for device in devices],
            load=np.nan_to_num(loads),
            load_known=~np.isnan(loads),
            weight=np.array(draft.weights, np.float64),
            capacity=capacity,
            values=values,
            replicas=np.array(
                [(offer.replicas if offer else 0) or _UNBOUNDED for offer in offered], np.int32
            ),
            parts_reported=np.array(draft.told, np.bool_),
            claimed=np.array(
                [device.device in self._claimed.parts for device in devices], np.bool_
            ),
            held=np.array([len(holder) for holder in draft.holders], np.int32),
            pod=np.array([pod for pod, _, _ in entries], np.int32),
            device=np.array([number for _, number, _ in entries], np.int32),
            part=np.array([part for *_, part in entries], np.float64),
            resource_of_pod=resource_of_pod,
            places=self._table(draft),
            models=self._models(),
            sharing=self.sharing,
            unknown=unknown,
            blurred=blurred,
            distrusted=distrusted,
            range_samples=_past(devices) if past else None,
        )

    def _add(
        self,
        draft: "_Draft",
        node: int,
        here: list[DeviceValue],
        waiting: Mapping[int, list[int]],
    ) -> tuple[bool, bool, bool]:
        """The node's devices; whether it is unknown, blurred, or distrusted."""
        whole = sum(_size(device_value.device) for device_value in here) or 1.0
        first, unknown, distrusted = len(draft.devices), False, False
        for device_value in here:
            offer = offer_of(self._offers[node], device_value.device)
            if self._is_shared(device_value, offer):
                row = self._rows[offer.resource] if offer is not None and offer.shared else -1
                draft.add(
                    device_value,
                    offer,
                    _size(device_value.device) / whole,
                    self._parts(device_value),
                    row,
                )
        for offer in self._offers[node]:
            row = self._rows.get(offer.resource, -1)
            if offer.shared and (row, node) not in draft.places:
                unknown = True
                draft.add(DeviceValue(node, "", float("nan")), offer, 0.0, {}, row)
        unknown |= len(draft.devices) == first
        blurred = not self._attribute_pods(node, waiting, draft)
        for number in range(first, len(draft.devices)):
            own, value = draft.holders[number], draft.devices[number].value
            if blurred:
                own.clear()
            elif own and abs(value - sum(own.values())) > _RESIDUAL:
                distrusted = True
                own.clear()
        return unknown, blurred and not unknown, distrusted

    def _table(self, draft: "_Draft") -> IntArray:
        width = max((len(devices) for devices in draft.places.values()), default=1)
        table = np.full((len(self._rows), len(self._offers), width), -1, np.int32)
        for (row, node), numbers in draft.places.items():
            if row >= 0:
                table[row, node, : len(numbers)] = numbers
        return table

    def _models(self) -> IntArray:
        products: dict[str, int] = {"": 0}
        models = [
            products.setdefault(product(node.metadata.labels), len(products))
            for node in self._snapshot.nodes
        ]
        return np.array(models, np.int32)

    def _resource_of_pod(self) -> IntArray:
        of_spec = []
        for spec in self._snapshot.specs:
            wanted: dict[str, int] = {}
            for container in spec.containers:
                if container.resources is not None:
                    resources = container.resources
                    wanted |= requested_accelerators(resources.requests) or requested_accelerators(
                        resources.limits
                    )
            rows = [self._rows[name] for name in sorted(wanted) if name in self._rows]
            of_spec.append(rows[0] if rows else -1)
        table = np.array([*of_spec, -1], np.int32)
        return table[self._snapshot.pod_spec]

    def _by_node(self, resource_of_pod: IntArray) -> dict[int, dict[int, list[int]]]:
        """Node to resource to the pods there that ask for it."""
        answer: dict[int, dict[int, list[int]]] = {}
        placed = self._snapshot.pod_node
        for pod in np.flatnonzero((resource_of_pod >= 0) & (placed >= 0)).tolist():
            own = answer.setdefault(int(placed[pod]), {})
            own.setdefault(int(resource_of_pod[pod]), []).append(pod)
        return answer

    def _is_shared(self, device: DeviceValue, offer: AcceleratorOffer | None) -> bool:
        if offer is not None:
            return offer.shared
        return device.device in self._claimed.shared or device.whole in self._claimed.shared

    def _parts(self, device: DeviceValue) -> dict[int, float]:
        """Who uses how much of it; claims tell who has it better than series do."""
        placed = self._snapshot.pod_node
        users = self._claimed.users.get(device.device, device.pods)
        pods = tuple(pod for pod in users if placed[pod] == device.node)
        if device.used and set(pods) == set(device.pods):
            return dict(zip(device.pods, device.used, strict=True))
        if pods == users and device.device in self._claimed.parts:
            parts = self._claimed.parts[device.device]
            whole = sum(parts)
            return {pod: device.value * part / whole for pod, part in zip(pods, parts, strict=True)}
        return dict.fromkeys(pods, device.value / max(len(pods), 1))

    def _attribute_pods(self, node: int, waiting: Mapping[int, list[int]], draft: "_Draft") -> bool:
        """Whether it is known of all pods that ask for shares here which device they have.

        Where there is only one device, they have that one, whatever its series tell.
        """
        all_known = True
        for row, pods in waiting.items():
            here = draft.places.get((row, node), [])
            lost = set(pods).difference(*(draft.holders[number] for number in here))
            if lost and len(here) == 1:
                (number,) = here
                value = np.nan_to_num(draft.devices[number].value)
                draft.holders[number] = dict.fromkeys(pods, float(value) / len(pods))
                draft.told[number] = len(pods) == 1
            elif lost and here:
                all_known = False
        return all_known


class _Draft:
    """The devices as they come; places: row and node to their numbers."""

    def __init__(self) -> None:
        self.devices: list[DeviceValue] = []
        self.offered: list[AcceleratorOffer | None] = []
        self.weights: list[float] = []
        self.holders: list[dict[int, float]] = []
        self.told: list[bool] = []
        self.places: dict[tuple[int, int], list[int]] = {}

    def add(
        self,
        device: DeviceValue,
        offer: AcceleratorOffer | None,
        weight: float,
        parts: dict[int, float],
        row: int,
    ) -> None:
        self.places.setdefault((row, device.node), []).append(len(self.devices))
        self.devices.append(device)
        self.offered.append(offer)
        self.weights.append(weight)
        self.holders.append(parts)
        self.told.append(bool(device.used) or len(parts) == 1)


def _past(devices: list[DeviceValue]) -> FloatArray:
    """(instants, d) the range samples; NaN where a device has none."""
    instants = max((len(device.range_samples) for device in devices), default=0)
    blank = (float("nan"),) * instants
    rows = [device.range_samples or blank for device in devices]
    return np.array(rows, np.float64).reshape(len(devices), instants).T


def _size(device: str) -> float:
    """What the device is of a whole one: `UUID/ID/2g.20gb` is two of seven slices."""
    part = part_of_gpu(device.partition("/")[2].partition("/")[2])
    return 1.0 if math.isnan(part) else part
