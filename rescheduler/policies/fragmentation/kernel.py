"""Stranded capacity as sums over nodes: what each demand adds at each node, kept as one table."""

import numpy as np

from rescheduler.model.move import Shift
from rescheduler.model.readings import BoolArray, FloatArray, IntArray
from rescheduler.policies.fragmentation.free_capacity import FreeCapacity, Rows
from rescheduler.policies.fragmentation.stranded_capacity import Stranding
from rescheduler.policies.shared.demand import WHOLE, Demand


class FragmentationKernel:
    """The kernel. free_capacity: of its own, as the snapshot is; selected: (nodes,) what counts.

    where: (pods,) their nodes. What a pod adds is infinite where no device has room for it.
    """

    def __init__(
        self,
        free_capacity: FreeCapacity,
        stranding: Stranding,
        selected: BoolArray,
        home: IntArray,
        where: IntArray,
        movable: BoolArray,
    ) -> None:
        self.movable = movable
        self._free = free_capacity
        self._stranding = stranding
        self._selected = selected
        self._home = home
        self._where = home.astype(np.int32, copy=True)
        self._asked = np.array(free_capacity.demands, dtype=np.int64).reshape(
            -1, len(Demand._fields)
        )
        for pod in np.flatnonzero(where != home).tolist():
            free_capacity.commit(Shift(pod, int(home[pod]), int(where[pod])))
            self._where[pod] = where[pod]
        kinds, kind = np.unique(self._asked[:, 2:], axis=0, return_inverse=True)
        self._alike = [
            np.flatnonzero(kind.ravel() == number)
            for number, (gpus, share) in enumerate(kinds.tolist())
            if gpus or share
        ]
        self._nodes = np.arange(len(selected), dtype=np.int32)
        self._now = self._measure(free_capacity.left())
        self._leaving = np.full(len(home), np.nan)
        self._come = np.empty((len(self._asked), len(selected)))
        for start in range(0, len(selected), 32):
            self._renew(self._nodes[start : start + 32])

    def cost(self) -> float:
        """Average pods' worth of stranded capacity."""
        return float(self._now.sum())

    def leaving(self, pods: IntArray) -> FloatArray:
        """(k,) what leaving frees or strands."""
        unknown = np.unique(pods[np.isnan(self._leaving[pods])])
        if len(unknown):
            nodes = self._where[unknown]
            left = self._free.without(unknown, nodes)
            self._leaving[unknown] = self._measure(left) - self._now[nodes]
        answer: FloatArray = self._leaving[pods]
        return answer

    def arriving(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what coming fills or strands."""
        table = self._come[self._free.of_pod[pods][:, None], nodes]
        for row in np.flatnonzero(self._where[pods] != self._home[pods]).tolist():
            pod = int(pods[row])
            at = np.flatnonzero(nodes == self._home[pod])
            if len(at) and self._free.keeps_device(pod):
                back = self._measure(self._free.returned(pod))[0] - self._now[self._home[pod]]
                table[row, at] = back
        return table

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        if shift.source == shift.destination:
            return
        self._free.commit(shift)
        self._where[shift.pod] = shift.destination
        changed = np.unique([shift.source, shift.destination]).astype(np.int32)
        self._now[changed] = self._measure(self._free.left().take(changed))
        self._leaving[np.isin(self._where, changed)] = np.nan
        self._renew(changed)

    def relaxed(self) -> float:
        """Nothing need be stranded."""
        return 0.0

    def savings(self) -> FloatArray:
        """(pods,) no bound is known but that of `relaxed`."""
        return np.full(len(self._home), np.inf)

    def _measure(self, rows: Rows) -> FloatArray:
        return np.where(self._selected[rows.nodes], self._stranding.cost(rows), 0.0)

    def _renew(self, nodes: IntArray) -> None:
        """What each demand would add at these nodes."""
        left = self._free.left().take(nodes)
        demands, count = len(self._asked), len(nodes)
        cpu, memory, gpus, share = (self._asked[:, each, None] for each in range(4))
        devices = -np.sort(-left.devices, axis=1)[None].repeat(demands, axis=0)
        place = np.arange(devices.shape[2])
        fits = (devices == WHOLE).sum(axis=2) >= gpus
        devices = np.where(place < gpus[:, :, None], 0, devices)  # the emptiest first: the whole
        enough = (devices >= share[:, :, None]) & (share[:, :, None] > 0)
        fits &= enough.any(axis=2) | (share == 0)
        fullest = enough.cumsum(axis=2).argmax(axis=2)  # the last with room, as they descend
        taken = (place == fullest[:, :, None]) & enough
        devices -= np.where(taken, share[:, :, None], 0)
        for column in np.flatnonzero(self._free.floats(nodes)).tolist():
            here = nodes[column : column + 1]
            for alike in self._alike:  # on devices, demands differ by these two alone
                if fits[alike, column].any():
                    devices[alike, column] = self._free.having(int(alike[0]), here).devices[0]
        rows = Rows(
            np.tile(nodes, demands),
            (left.cpu - cpu).ravel(),
            (left.memory - memory).ravel(),
            devices.reshape(demands * count, devices.shape[2]),
        )
        change = self._measure(rows).reshape(demands, count) - self._now[nodes]
        self._come[:, nodes] = np.where(fits, change, np.inf)
