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
from rescheduler.sources.prometheus.measuring import (
    Key,
    ReadingProblems,
    Row,
    Value,
    resolve,
)

DEVICE, STRANGER = -1, -2
"""Instead of a pod's number: the row names no pod; it names one that is not there."""

_IDENTITIES = ("UUID", "uuid", "gpu_uuid", "serial_number", "pci_bdf")
"""Labels that name a device on its own, by the exporters of all makers."""

_TOLERANCE = 0.1
"""By how much the parts of the pods may pass the whole before they are no parts of it."""


class DeviceLoad(NamedTuple):
    """What one device carries, and each of the pods that have it.

    slot: its number on the node, "" where nobody reports it. reported: whether series of the pods
    report their parts; else each has an equal one.
    """

    value: Value
    used: dict[int, float]
    slot: str
    reported: bool


def device_loads(
    groups: Mapping[Key, list[Row]],
    pod_of: Callable[[Mapping[str, str]], int],
    *,
    highest: float,
    max_age: float,
    problems: ReadingProblems,
) -> dict[Key, DeviceLoad]:
    """Each device of which there is one value that can be trusted.

    pod_of: the number of the pod that a row's labels name, DEVICE or STRANGER.
    """

    def trusted(rows: dict[Key, list[Row]]) -> dict[Key, Value]:
        return resolve(rows, highest=highest, max_age=max_age, problems=problems)

    owned: dict[Key, dict[int, list[Row]]] = {}
    chosen: dict[Key, list[Row]] = {}
    for key, rows in groups.items():
        if len(rows) == 1:  # the ordinary case
            pod = pod_of(rows[0].labels)
            owned[key], chosen[key] = ({pod: rows} if pod >= 0 else {}), rows
            continue
        by_pod: dict[int, list[Row]] = {}
        for row in rows:
            pod = pod_of(row.labels)
            by_pod.setdefault(pod, []).append(row)
        live = {pod for pod, own in by_pod.items() if any(each.age is not None for each in own)}
        owned[key] = {pod: by_pod[pod] for pod in live if pod >= 0}
        chosen[key] = _of_device(rows, by_pod, live)
    values = trusted(chosen)
    answer: dict[Key, DeviceLoad] = {}
    for key, value in values.items():
        rows, holders = chosen[key], owned[key]
        slot = slot_of(rows[0].labels)
        if len(groups[key]) == len(holders) == 1:  # of the same row, so its value is the pod's
            answer[key] = DeviceLoad(
                value, dict.fromkeys(holders, value.value), slot, reported=True
            )
            continue
        of_pods = trusted({(key[0], f"{key[1]} {pod}"): own for pod, own in holders.items()})
        parts = {pod: of_pods.get((key[0], f"{key[1]} {pod}")) for pod in holders}
        found = {pod: part.value for pod, part in parts.items() if part is not None}
        if len(found) == len(holders) == 1:
            answer[key] = DeviceLoad(value, found, slot, reported=True)
            continue
        own_rows = len(groups[key]) > 1 and any(pod_of(row.labels) == DEVICE for row in rows)
        room = value.value + _TOLERANCE * (1.0 if highest == 1.0 else value.value)
        if own_rows and len(found) == len(holders) and sum(found.values()) <= room:
            answer[key] = DeviceLoad(value, found, slot, reported=True)
        else:
            equal = dict.fromkeys(sorted(holders), value.value / max(len(holders), 1))
            answer[key] = DeviceLoad(value, equal, slot, reported=False)
    return answer


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


def completed(
    found: dict[Key, DeviceLoad], others: Mapping[Key, DeviceLoad], problems: ReadingProblems
) -> list[Key]:
    """Add to what was found what only another source has: devices, and the parts of their pods.

    Nothing about nodes of which the sources contradict themselves. Answers the devices.
    """
    added = []
    for key, other in others.items():
        known = found.get(key)
        if known is None:
            if not problems.contradicted(key[0]):
                found[key] = other
                added.append(key)
        elif not known.reported and other.reported and known.used.keys() == other.used.keys():
            scale = known.value.value / other.value.value if other.value.value > 0 else 0.0
            parts = {pod: part * scale for pod, part in other.used.items()}
            found[key] = known._replace(used=parts, reported=scale > 0)
    return added


def shared_device(key: Key, load: DeviceLoad, share: tuple[float, dict[int, float]]) -> DeviceValue:
    """What goes with the reading of a device that pods share. share: its value, and its pods'."""
    value, used = share
    pods = tuple(sorted(used))
    parts = tuple(used[pod] for pod in pods) if load.reported else ()
    return DeviceValue(key[0], key[1], value, load.slot, pods, used=parts)


def device_of(labels: Mapping[str, str]) -> str:
    """What distinguishes one GPU of the cluster, or one partition of it, from all others."""
    return read_once(labels, "device", _device_of)


def _device_of(labels: Mapping[str, str]) -> str:
    uuid = next((labels[each] for each in _IDENTITIES if labels.get(each)), "")
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
