"""Readings of single devices in a policy test, which a node's value is the worst of."""

from collections.abc import Mapping
from dataclasses import replace

from rescheduler.model.readings import DeviceValue, Reading
from rescheduler.model.snapshot import Snapshot

Described = Mapping[str, Mapping[str, list[str | int | float]]]
"""Node, device, and what it reads, followed by the names of the pods that have it."""


def with_devices(before: Snapshot, described: Mapping[str, Described]) -> Snapshot:
    """The snapshot whose readings name devices, where the policy test does.

    Raises:
        ValueError: a reading, node or pod is not in the policy test, or a device has no value.
    """
    readings = before.readings
    unknown = sorted(set(described) - {each.name for each in readings.entries})
    if unknown:
        raise ValueError(f"devices.{unknown[0]}: the policy test has no such reading")
    entries = tuple(
        _reported(before, each, described[each.name]) if each.name in described else each
        for each in readings.entries
    )
    return replace(before, readings=replace(readings, entries=entries))


def _reported(before: Snapshot, reading: Reading, described: Described) -> Reading:
    pods = {each.metadata.name: number for number, each in enumerate(before.pods)}
    values, ages, expected = reading.values.copy(), reading.ages.copy(), reading.expected.copy()
    devices = []
    for node, found in described.items():
        place = f"devices.{reading.name}.{node}"
        index = before.node_index.get(node)
        if index is None:
            raise ValueError(f"{place}: there is no such node")
        made = []
        for slot, (device, reported) in enumerate(found.items()):
            unknown = [name for name in reported[1:] if name not in pods]
            if not reported or isinstance(reported[0], str) or unknown:
                wrong = f"there is no pod `{unknown[0]}`" if unknown else "a value comes first"
                raise ValueError(f"{place}.{device}: {wrong}, then the pods that have the device")
            holders = tuple(pods[str(name)] for name in reported[1:])
            made.append(DeviceValue(index, device, float(reported[0]), str(slot), holders))
        values[index] = max((each.value for each in made), default=0.0)
        ages[index], expected[index] = 0.0, True
        devices += made
    return replace(reading, values=values, ages=ages, expected=expected, devices=tuple(devices))
