"""Counters of pools: what partitions of one device take of what they have in common.

Source: dynamic-resource-allocation/structured/internal/incubating, checkAvailableCounters and
GatherPools.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import gcd

import numpy as np

from rescheduler.kube.arrays import BoolArray, Int64Array, IntArray
from rescheduler.kube.dra.device_packing import Uses
from rescheduler.kube.dra.devices import ResourceSlice
from rescheduler.kube.quantity import MOST_COUNTED, nanos

_Counter = tuple[str, str, str, str]
"""Driver, pool, counter set and counter."""


class DeviceCounters:
    """What devices take of counters. A device that takes none is always within them.

    node: (devices,) as in the inventory. unclear: device to why what it takes is not worked out.
    """

    def __init__(
        self,
        slices: Iterable[ResourceSlice],
        index: Mapping[tuple[str, str, str], int],
        node: IntArray,
    ) -> None:
        """slices: of the newest generation of their pools. index: driver, pool, name to device."""
        self._node = node
        self.unclear: dict[int, str] = {}
        totals: dict[_Counter, int] = {}
        taken: list[tuple[int, _Counter, int]] = []
        drivers: dict[str, set[str]] = {}
        newest_slices = list(slices)
        sets = {
            (resource_slice.spec.driver, resource_slice.spec.pool.name, group.name)
            for resource_slice in newest_slices
            for group in resource_slice.spec.sharedCounters or ()
        }
        for resource_slice in newest_slices:
            of = (resource_slice.spec.driver, resource_slice.spec.pool.name)
            for group in resource_slice.spec.sharedCounters or ():
                for name, counter in (group.counters or {}).items():
                    totals[*of, group.name, name] = nanos(counter.value)
            for device in resource_slice.spec.devices or ():
                number = index[*of, device.name]
                for use in device.consumesCounters or ():
                    drivers.setdefault(of[1], set()).add(of[0])
                    if (*of, use.counterSet) not in sets:
                        self.unclear[number] = f"counters {use.counterSet} are not in pool {of[1]}"
                    for name, counter in (use.counters or {}).items():
                        taken.append((number, (*of, use.counterSet, name), nanos(counter.value)))
                if device.consumesCounters and device.allowMultipleAllocations:
                    self.unclear[number] = f"device {device.name} is shared and a part of another"
        self._number(totals, taken, {name for name, several in drivers.items() if len(several) > 1})

    def _number(
        self,
        totals: dict[_Counter, int],
        taken: list[tuple[int, _Counter, int]],
        ambiguous: set[str],
    ) -> None:
        """Turn what was read into arrays, in units in which every amount of a counter is whole."""
        unit = dict(totals)
        for _, key, amount in taken:
            unit[key] = gcd(unit.get(key, 0), amount)
        rows = {key: row for row, key in enumerate(totals)}
        pools = {key[:2]: 0 for key in totals}
        numbers = {pool: number for number, pool in enumerate(pools)}
        for device, key, amount in taken:
            if key not in totals:
                self.unclear.setdefault(device, f"counter {key[3]} is not in pool {key[1]}")
            elif key[1] in ambiguous:
                self.unclear[device] = f"several drivers have counters in a pool {key[1]}"
            elif max(totals[key], amount) // max(unit[key], 1) > MOST_COUNTED:
                self.unclear[device] = f"counter {key[3]} of pool {key[1]} is too large"
        kept = [consumption for consumption in taken if consumption[0] not in self.unclear]
        self._device: IntArray = np.array([device for device, _, _ in kept], dtype=np.int32)
        self._counter: IntArray = np.array([rows[key] for _, key, _ in kept], dtype=np.int32)
        self._amount: Int64Array = np.array(
            [amount // max(unit[key], 1) for _, key, amount in kept], dtype=np.int64
        )
        self._total: Int64Array = np.array(
            [min(totals[key] // max(unit[key], 1), MOST_COUNTED) for key in rows], dtype=np.int64
        )
        self._pool: IntArray = np.array([numbers[key[:2]] for key in rows], dtype=np.int32)
        self.taking: BoolArray = np.zeros(len(self._node), dtype=np.bool_)
        self.taking[self._device] = True

    def devices_that_fit(self, taken: BoolArray) -> BoolArray:
        """(devices,) whether each fits beside those that are taken, as far as counters go.

        Of a pool with more taken than there is, none does.
        taken: (devices,).
        """
        answer: BoolArray = np.ones(len(self._node), dtype=np.bool_)
        if not len(self._device):
            return answer
        remainder = self.remaining_counters(taken)
        overdrawn = np.zeros(len(self._total) + 1, dtype=np.bool_)
        overdrawn[self._pool[remainder < 0]] = True
        over = self._amount > remainder[self._counter]
        over |= overdrawn[self._pool[self._counter]]
        answer[self._device[over]] = False
        return answer

    def remaining_counters(self, taken: BoolArray) -> Int64Array:
        """(counters,) what is left of each beside the devices that are taken."""
        remainder: Int64Array = self._total.copy()
        np.subtract.at(remainder, self._counter, self._amount * taken[self._device])
        return remainder

    @cached_property
    def uses(self) -> Uses:
        """What each device takes of the counters."""
        answer: dict[int, list[tuple[int, int]]] = {}
        rows = zip(
            self._device.tolist(), self._counter.tolist(), self._amount.tolist(), strict=True
        )
        for device, counter, amount in rows:
            answer.setdefault(device, []).append((counter, amount))
        return answer

    def allow(self, taken: BoolArray, devices: list[int]) -> bool:
        """Whether these devices fit together beside those that are taken."""
        together = taken.copy()
        together[devices] = True
        remainder = self.remaining_counters(together)
        return all(
            remainder[counter] >= 0
            for device in devices
            for counter, _ in self.uses.get(device, ())
        )

    def devices_of_same_pools(self, devices: BoolArray) -> BoolArray:
        """(devices,) these, and all that are of a pool with counters that one of them is of."""
        answer = devices.copy()
        pool = self._pool[self._counter]
        answer[self._device[np.isin(pool, pool[devices[self._device]])]] = True
        return answer

    def are_independent(self, devices: IntArray) -> bool:
        """Whether no two of these on one node take from the same counter."""
        mine = np.isin(self._device, devices) & (self._amount > 0)
        places = np.stack([self._counter[mine], self._node[self._device[mine]]])
        pairs = np.unique(np.vstack([places, self._device[mine]]), axis=1)
        return bool(pairs.shape[1] == np.unique(places, axis=1).shape[1])
