"""How many more claims devices can serve that several claims may share.

Source: dynamic-resource-allocation structured/internal/incubating/allocator_incubating.go
(CmpRequestOverCapacity, allocateDevice).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.dra.capacities import Amounts
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.quantity import nanos


class ConsumedCapacity(NamedTuple):
    """What one claim consumes of a device's capacities."""

    device: int
    consumed: Amounts


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What a request consumes of its devices.

    consumed: by the sort of the device (`DeviceInventory.sort`), None where it cannot have a part.
    most: how many requests of a pod are alike: one device can serve so many of them.
    """

    consumed: tuple[Amounts | None, ...]
    most: int = 1


class DeviceShares:
    """What claims consume of devices, in a working copy.

    count: (devices,) how many claims have a part of it.
    """

    def __init__(self, inventory: DeviceInventory, parts: Iterable[ConsumedCapacity]) -> None:
        self._inventory = inventory
        self._used: dict[int, dict[str, int]] = {}
        self._room: dict[Share, IntArray] = {}
        self.count: IntArray = np.zeros(len(inventory), dtype=np.int32)
        for part in parts:
            self.change(part, 1)

    def change(self, part: ConsumedCapacity, sign: int) -> None:
        """A claim takes (1) or frees (-1) a part."""
        device = part.device
        used = self._used.setdefault(device, {})
        for name, amount in part.consumed.items():
            used[name] = used.get(name, 0) + sign * amount
        self.count[device] += sign
        for share, room in self._room.items():
            room[device] = self._times(share, device, used)

    def fit(self, parts: Iterable[ConsumedCapacity]) -> bool:
        """Whether the devices have that much left."""
        wanted: dict[int, dict[str, int]] = {}
        for device, consumed in parts:
            own = wanted.setdefault(device, {})
            for name, amount in consumed.items():
                own[name] = own.get(name, 0) + amount
        return all(
            self._used.get(device, {}).get(name, 0) + amount <= nanos(capacity[name].value)
            for device, consumed in wanted.items()
            for capacity in [self._inventory.subjects[device].device.capacity or {}]
            for name, amount in consumed.items()
            if name in capacity
        )

    def part(self, share: Share, device: int) -> ConsumedCapacity | None:
        """What such a request takes of the device; None: all of it, as nobody else may have any."""
        consumed = share.consumed[self._inventory.sort[device]]
        divisible = self._inventory.subjects[device].device.allowMultipleAllocations
        return ConsumedCapacity(device, consumed) if consumed is not None and divisible else None

    def room(self, share: Share) -> IntArray:
        """(devices,) how many requests of this sort each device can still serve."""
        room = self._room.get(share)
        if room is None:
            unused = [
                self._times(share, device, {}) for device in self._inventory.examples.tolist()
            ]
            room = np.array(unused, dtype=np.int32)[self._inventory.sort]
            for device, used in self._used.items():
                room[device] = self._times(share, device, used)
            self._room[share] = room
        return room

    def _times(self, share: Share, device: int, used: Amounts) -> int:
        """How many of them fit beside what is used: each capacity for itself bounds it."""
        consumed = share.consumed[self._inventory.sort[device]]
        if consumed is None:
            return 0
        offered = self._inventory.subjects[device].device
        times = share.most if offered.allowMultipleAllocations else 1
        for name, capacity in (offered.capacity or {}).items():
            remainder = nanos(capacity.value) - used.get(name, 0)
            if remainder < consumed[name]:
                return 0
            if consumed[name] > 0:
                times = min(times, remainder // consumed[name])
        return times
