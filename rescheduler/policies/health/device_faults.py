"""Which devices of a broken node are broken, and which pods have them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rescheduler.kube.dra.device_holdings import DeviceHoldings
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.nodes.accelerators import gpus_among
from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.containers import long_running
from rescheduler.kube.pods.pod_requests import container_requests
from rescheduler.kube.quantity import units
from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.shared.node_signal import Signal

_GPU_DRIVER = "gpu.nvidia.com"
_GPU_NAMES = (f"{_GPU_DRIVER}/uuid", f"{_GPU_DRIVER}/parentUUID")
_LINK_NAMES = ("dra.net/ifName",)
"""Attributes of devices by which readings name them."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A signal with the value above which a node, or a device of it, is broken.

    gpus: whether only pods with GPUs suffer. meaning: a sentence with a place for the value.
    """

    signal: Signal
    above: float
    gpus: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken device. pods: who have it; open: who may have it, as far as nothing reports it.

    heat: at each instant of the past whether it was broken; empty where that is not known.
    """

    node: int
    device: str
    meaning: str
    pods: tuple[int, ...]
    open: tuple[int, ...]
    heat: tuple[bool, ...] = ()


class Attribution:
    """Who has a broken device: by the exporter's labels, or by claims that are allocated.

    If not all GPUs of a pod are known, it may have any GPU of its node. The same holds for a pod
    with claims whose devices are not known. A partition's reading holds for its whole GPU, whose
    hardware all its partitions share. An interface belongs to the pods of a claim that has it, else
    to all pods of its node. A series that names a pod of another node is of a pod that had its name
    before, and does not show who has it now. gpus: (pods,) how many GPUs, or partitions of them,
    each pod asks for.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        gpus_of_spec = np.array([_gpus(spec) for spec in snapshot.specs], dtype=np.float64)
        self.gpus: FloatArray = gpus_of_spec[snapshot.pod_spec]
        self._home = snapshot.pod_node
        inventory = DeviceInventory(snapshot.resource_slices, snapshot.node_index)
        holdings = DeviceHoldings(snapshot.resource_claims, snapshot.pod_index, inventory)
        held, home = holdings.of_pod, snapshot.pod_node
        claiming = (n for n, pod in enumerate(snapshot.pods) if pod.spec.resourceClaims)
        self._unclear = {
            pod
            for pod in claiming
            if pod in holdings.lost or not held.get(pod) or _nameless(held[pod], inventory)
        }
        self._claimed = {
            True: _claimed_devices(held, home, inventory, _GPU_NAMES),
            False: _claimed_devices(held, home, inventory, _LINK_NAMES),
        }

    @property
    def with_gpus(self) -> BoolArray:
        """(pods,) which have GPUs."""
        answer: BoolArray = self.gpus > 0
        for pods in self._claimed[True].values():
            answer[list(pods)] = True
        return answer

    def faults(self, sign: Sign, node: int) -> list[Fault] | None:
        """The broken devices of a broken node; None where it is broken as a whole."""
        devices = sign.signal.devices.get(node, [])
        broken = [device for device in devices if device.value > sign.above]
        named = dict.fromkeys(value.whole for value in broken)
        claimed = self._claimed[sign.gpus]
        if not named or (not sign.gpus and any((node, name) not in claimed for name in named)):
            return None
        open_to = self._unattributed_pods(devices, node) if sign.gpus else ()
        answer = []
        for name in named:
            parts = [device for device in devices if device.whole == name]
            pods = {pod for value in parts for pod in value.pods if self._home[pod] == node}
            pods |= claimed.get((node, name), set())
            worst = max(parts, key=lambda value: value.value)
            answer.append(
                Fault(
                    node,
                    _device_name(worst, gpu=sign.gpus),
                    sign.meaning.format(value=worst.value),
                    tuple(sorted(pods)),
                    tuple(pod for pod in open_to if pod not in pods),
                    tuple(
                        any(value > sign.above for value in then)
                        # A part without a past leaves that of the whole device unknown.
                        for then in zip(*(value.range_samples for value in parts), strict=False)
                    ),
                )
            )
        return answer

    def _unattributed_pods(self, devices: Iterable[DeviceValue], node: int) -> tuple[int, ...]:
        """The node's pods whose GPUs are not all known."""
        reported = Counter(pod for device in devices for pod in device.pods)
        return tuple(
            pod
            for pod in np.flatnonzero(self._home == node).tolist()
            if reported[pod] < self.gpus[pod] or (pod in self._unclear and not reported[pod])
        )


def _claimed_devices(
    held: Mapping[int, list[int]],
    home: IntArray,
    inventory: DeviceInventory,
    attributes: tuple[str, ...],
) -> dict[tuple[int, str], set[int]]:
    """Node and name of a device, as in readings, to the pods that have it by a claim."""
    answer: dict[tuple[int, str], set[int]] = {}
    for pod, devices in held.items():
        for device in devices:
            for attribute in attributes:
                value = inventory.attribute(device, attribute)
                if value is not None and value.text:
                    answer.setdefault((int(home[pod]), value.text), set()).add(pod)
    return answer


def _nameless(devices: Iterable[int], inventory: DeviceInventory) -> bool:
    """Whether one of these devices is a GPU whose name in readings is not known."""
    return any(
        inventory.subjects[device].driver == _GPU_DRIVER
        and not any(inventory.attribute(device, name) for name in _GPU_NAMES)
        for device in devices
    )


def _device_name(device: DeviceValue, *, gpu: bool) -> str:
    if not gpu:
        return f"interface {device.whole}"
    return f"GPU {device.index} ({device.whole})" if device.index else f"GPU {device.whole}"


def _gpus(spec: PodSpec) -> float:
    """GPUs and partitions that the containers and sidecars ask for."""
    return sum(
        float(units(amount))
        for container in long_running(spec)
        for name, amount in container_requests(container).items()
        if gpus_among([name])
    )
