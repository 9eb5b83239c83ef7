"""Over how many NUMA zones the devices lie that kube-scheduler would give to a pod.

The allocator knows no zones: it takes the first devices that will do, in the order of each
ResourceSlice, unless a constraint makes it search on. Source:
dynamic-resource-allocation/structured/internal/{stable,incubating}, allocateOne and GatherPools.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rescheduler.kube.dra.device_needs import Need, Needs
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.policies.numa.device_zones import PCIE_ROOT, DeviceZones


@dataclass(frozen=True, slots=True)
class Wanted:
    """What pods of one sort want of devices that lie somewhere.

    needs: in the order of their requests, without those for devices that lie nowhere. together: how
    many devices of each kind there must be (Hall). aligned: whether a constraint lets all devices
    share a zone. ordered: whether the first free devices are what it gets; else it may be any.
    """

    needs: list[Need]
    together: list[Need]
    aligned: bool
    ordered: bool


def wanted_of(needs: Needs, zones: DeviceZones) -> Wanted | None:
    """What is to be aligned of these needs, or None: a single device, or all of a node."""
    kept = [need for need in needs.needs if (zones.zone[need.devices] >= 0).any()]
    if any(not need.number for need in kept) or sum(need.number for need in kept) < 2:
        return None
    together = Needs(kept).together
    apart = all(
        np.array_equal(one.devices, other.devices)
        or not np.intersect1d(one.devices, other.devices).size
        for one, other in combinations(kept, 2)
    )
    aligned = needs.common in (*zones.attributes, PCIE_ROOT) and len(kept) == len(needs.needs)
    return Wanted(kept, together, aligned, ordered=apart and not needs.common)


def narrow_to_node(wanted: Wanted, zones: DeviceZones, node: int) -> Wanted:
    """The same, as far as one node is concerned."""

    def needs_on_node(needs: list[Need]) -> list[Need]:
        return [
            Need(devices[zones.inventory.node[devices] == node], number)
            for devices, number in needs
        ]

    return replace(
        wanted, needs=needs_on_node(wanted.needs), together=needs_on_node(wanted.together)
    )


class DeviceChoice:
    """The devices of some nodes, for one sort of pods.

    nodes: (k,) those; devices of other nodes do not count. count: nodes of the snapshot.
    """

    def __init__(self, zones: DeviceZones, wanted: Wanted, nodes: IntArray, count: int) -> None:
        self._zones = zones
        self._wanted = wanted
        self._size = len(nodes)
        self._width = max(int(zones.width.max(initial=1)), 1)
        # Two more, for devices of no node of the snapshot: those have node -1 and -2.
        self._row = np.full(count + 2, -1, dtype=np.int32)
        self._row[nodes] = np.arange(len(nodes), dtype=np.int32)

    def knows_zones(self) -> BoolArray:
        """(k,) whether the zone of every device that will do is known."""
        answer = np.ones(self._size, dtype=np.bool_)
        for need in self._wanted.needs:
            here = self._devices_on_nodes(need.devices)
            answer[self._place(here[self._zones.zone[here] < 0])] = False
        return answer

    def fewest_zones(self) -> IntArray:
        """(k,) on how few zones the devices could lie if none were taken; all where none do."""
        tables = [(self._counts(devices), number) for devices, number in self._wanted.together]
        answer = np.full(self._size, self._width, dtype=np.int32)
        for size in range(self._width, 0, -1):
            for chosen in combinations(range(self._width), size):
                columns = list(chosen)
                holds = [table[:, columns].sum(axis=1) >= number for table, number in tables]
                answer[np.all(holds, axis=0)] = size
        return answer

    def spread(self, free: BoolArray, *, alone: bool) -> IntArray:
        """(k,) on how many zones the devices would lie; 0 where they are not there.

        free: (devices,) which may be given. alone: whether nobody else takes or leaves any.
        Where the choice is not known it is the most that any choice could lie on.
        """
        wanted = self._wanted
        there = [
            self._counts(devices[free[devices]]).sum(axis=1) >= number
            for devices, number in wanted.together
        ]
        most = self._most_zones(free)
        if wanted.aligned:
            most = np.minimum(most, 1)
        if alone and wanted.ordered:
            first, certain = self._first_choice_zones(free)
            most = np.where(certain, first, most)
        return np.where(np.all(there, axis=0), most, 0).astype(np.int32)

    def _most_zones(self, free: BoolArray) -> IntArray:
        """The most zones that can each give some request a device (König's theorem)."""
        tables = [
            (self._counts(need.devices[free[need.devices]]) > 0, need.number)
            for need in self._wanted.needs
        ]
        answer = np.full(self._size, self._width, dtype=np.int32)
        for size in range(1, self._width + 1):
            for chosen in combinations(range(self._width), size):
                columns = list(chosen)
                reach = np.full(self._size, self._width - size, dtype=np.int32)
                for table, number in tables:
                    reach += number * table[:, columns].any(axis=1)
                answer = np.minimum(answer, reach)
        return answer

    def _first_choice_zones(self, free: BoolArray) -> tuple[IntArray, BoolArray]:
        """(k,) the zones of the first free devices; (k,) whether their order is known.

        It is where one slice offers all that a request could get: how a scheduler sorts several
        slices and pools depends on its version.
        """
        free_devices = free.copy()
        touched = np.zeros((self._size, self._width), dtype=np.bool_)
        certain = np.ones(self._size, dtype=np.bool_)
        part = self._zones.inventory.part
        for need in self._wanted.needs:
            here = self._devices_on_nodes(need.devices[free_devices[need.devices]])
            here = here[np.argsort(self._place(here), kind="stable")]
            place = self._place(here)
            starts = np.searchsorted(place, np.arange(self._size))
            lowest = np.full(self._size, np.iinfo(np.int32).max)
            highest = np.full(self._size, -1)
            np.minimum.at(lowest, place, part[here])
            np.maximum.at(highest, place, part[here])
            certain &= lowest >= highest
            chosen = here[np.arange(len(here)) - starts[place] < need.number]
            with_zone = chosen[self._zones.zone[chosen] >= 0]
            touched[self._place(with_zone), self._zones.zone[with_zone]] = True
            free_devices[chosen] = False
        return touched.sum(axis=1).astype(np.int32), certain

    def _devices_on_nodes(self, devices: IntArray) -> IntArray:
        return devices[self._place(devices) >= 0]

    def _place(self, devices: IntArray) -> IntArray:
        """(devices,) the place of each, or -1."""
        return self._row[self._zones.inventory.node[devices]]

    def _counts(self, devices: IntArray) -> IntArray:
        """(k, zones) how many of these devices each zone has."""
        here = self._devices_on_nodes(devices)
        here = here[self._zones.zone[here] >= 0]
        cells = self._place(here) * self._width + self._zones.zone[here]
        counts = np.bincount(cells, minlength=self._size * self._width)
        return counts.reshape(self._size, self._width).astype(np.int32)
