"""From rows to the load of each GPU and of its pods.

A GPU has one series, or one for each pod that shares it, each with the value of the whole device
(dcgm-exporter with KUBERNETES_VIRTUAL_GPUS), or one of its own and besides one for each pod with
what that pod's processes use (dcgm-exporter after 4.5). Rows without a pod are the device's own;
only where there are some, those of pods are the pods' own.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rescheduler.model.cluster.readings import DeviceValue
from rescheduler.sources.prometheus.labels import read_once
from rescheduler.sources.prometheus.series_values import Key, Row, Trust

DEVICE, STRANGER = -1, -2
"""Instead of a pod's number: the row names no pod; it names one that is not there."""

_IDENTITIES = ("UUID", "uuid", "gpu_uuid", "serial_number", "pci_bdf")
"""Labels that name a device on its own, by the exporters of all makers."""

_TOLERANCE = 0.1
"""By how much the parts of the pods may pass the whole before they are no parts of it."""


class DeviceLoad(NamedTuple):
    """What one device carries, and each of the pods that have it.

    value, age, samples: as of Value. slot: its number on the node, "" where nobody reports it.
    reported: whether series of the pods report their parts; else each has an equal one.
    size: how much the value can be: 1 of a whole GPU, less of a partition, NaN if not known.
    """

    value: float
    age: float
    samples: float
    used: dict[int, float]
    slot: str
    reported: bool = True
    size: float = 1.0

    def scale_by(self, factor: float) -> "DeviceLoad":
        """As many times that load."""
        parts = {pod: used * factor for pod, used in self.used.items()}
        return self._replace(value=self.value * factor, used=parts)


def device_loads(
    groups: Mapping[Key, list[Row]], pod_of: Callable[[Mapping[str, str]], int], trust: Trust
) -> dict[Key, DeviceLoad]:
    """Each device with one value that can be trusted.

    pod_of: the number of the pod that a row's labels name, DEVICE or STRANGER.
    """
    answer: dict[Key, DeviceLoad] = {}
    for key, rows in groups.items():
        if len(rows) > 1:
            load = _load_of_several(key, rows, pod_of, trust)
        else:  # the ordinary case
            value, labels = trust.value(key, rows), rows[0].labels
            pod = pod_of(labels)
            load = value and DeviceLoad(
                *value, {pod: value.value} if pod >= 0 else {}, slot_of(labels)
            )
        if load is not None:
            answer[key] = load
    return answer


def _load_of_several(
    key: Key, rows: list[Row], pod_of: Callable[[Mapping[str, str]], int], trust: Trust
) -> DeviceLoad | None:
    """The load of a device that has several series."""
    by_pod: dict[int, list[Row]] = {}
    for row in rows:
        by_pod.setdefault(pod_of(row.labels), []).append(row)
    live = {pod for pod, own in by_pod.items() if any(row.age is not None for row in own)}
    chosen = _of_device(rows, by_pod, live)
    value = trust.value(key, chosen)
    if value is None:
        return None
    holders = sorted(pod for pod in live if pod >= 0)
    parts = {pod: trust.value((key[0], f"{key[1]} {pod}"), by_pod[pod]) for pod in holders}
    used = {pod: part.value for pod, part in parts.items() if part is not None}
    room = value.value + _TOLERANCE * (1.0 if trust.highest == 1.0 else value.value)
    own_rows = any(row in chosen for row in by_pod.get(DEVICE, ()))
    whole = len(used) == len(holders)
    reported = whole and (len(used) == 1 or (own_rows and sum(used.values()) <= room))
    if not reported:
        used = dict.fromkeys(holders, value.value / max(len(holders), 1))
    return DeviceLoad(*value, used, slot_of(chosen[0].labels), reported)


def _of_device(rows: list[Row], by_pod: dict[int, list[Row]], live: set[int]) -> list[Row]:
    """The rows with the value of the whole device.

    What came before the one series of now counts with its samples; where several pods share the
    device their series say the same of the same time, and count once.
    """
    if DEVICE in live:
        return by_pod[DEVICE] if len(live) > 1 else rows
    if len(live) > 1:
        return [row for row in rows if row.age is not None]
    return rows


def with_parts(load: DeviceLoad, other: DeviceLoad) -> DeviceLoad:
    """A load with the parts of its pods as only another source reports them."""
    if load.reported or not other.reported or load.used.keys() != other.used.keys():
        return load
    scale = load.value / other.value if other.value > 0 else 0.0
    return load._replace(used=other.scale_by(scale).used, reported=scale > 0)


def shared_device(key: Key, load: DeviceLoad) -> DeviceValue:
    """What goes with the reading of a device that pods share: its value, and its pods'."""
    pods = tuple(sorted(load.used))
    parts = tuple(load.used[pod] / load.size for pod in pods) if load.reported else ()
    return DeviceValue(key[0], key[1], load.value / load.size, load.slot, pods, used=parts)


def device_of(labels: Mapping[str, str]) -> str:
    """What distinguishes one GPU of the cluster, or one partition of it, from all others."""
    return read_once(labels, "device", _device_of)


def _device_of(labels: Mapping[str, str]) -> str:
    uuid = next((labels[identity] for identity in _IDENTITIES if labels.get(identity)), "")
    if not uuid:
        host = labels.get("Hostname") or labels.get("hostname") or labels.get("instance", "")
        uuid = f"{host} gpu {slot_of(labels)}"
    partition = labels.get("gpu_partition_id", "")  # AMD's: each has its memory, none a load
    if partition.isdecimal() and int(partition) > 0:
        return f"{uuid}:{partition}"
    part = labels.get("GPU_I_ID")
    return f"{uuid}/{part}/{labels.get('GPU_I_PROFILE', '')}" if part else uuid


def slot_of(labels: Mapping[str, str]) -> str:
    """The device's number on its node, as its exporter has it; "" where nobody reports it."""
    return labels.get("gpu") or labels.get("gpu_id") or labels.get("device", "")
