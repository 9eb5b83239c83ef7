"""Free capacity: what the nodes have left of CPU, memory and each GPU, as pods come and go."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rescheduler.kube.annotations import GPU_INDICES
from rescheduler.kube.objects import Pod
from rescheduler.kube.quantity import scheduler_amount
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared.demand import WHOLE, Demand, Devices, demands

Amounts = npt.NDArray[np.int64]

UNKNOWN = -1
"""The device of a pod that shares one and does not name it."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is left on some nodes; a node may come up in more than one row.

    nodes: (rows,). cpu, memory: (rows,) milli-CPU and bytes, below 0 where too much was given away.
    devices: (rows, most GPUs of a node) thousandths left of each GPU, 0 where there is none.
    """

    nodes: IntArray
    cpu: Amounts
    memory: Amounts
    devices: Amounts

    def take(self, rows: IntArray) -> "Rows":
        """Some of the rows."""
        return Rows(self.nodes[rows], self.cpu[rows], self.memory[rows], self.devices[rows])


@dataclass(frozen=True, slots=True)
class Most:
    """(nodes,) what each node could have left at most."""

    cpu: Amounts
    memory: Amounts
    devices: Amounts

    def hold(self, demand: Demand) -> BoolArray:
        """(nodes,) which of them could hold such a pod."""
        held: BoolArray = (
            (self.cpu >= demand.cpu)
            & (self.memory >= demand.memory)
            & (self.devices >= demand.gpus * WHOLE + demand.share)
        )
        return held


class FreeCapacity:
    """The working copy.

    Whole GPUs are interchangeable. A pod that shares a GPU stays on the one that its annotation
    names; one that names none, or that was moved, is taken to be on the fullest one with room, the
    largest share first. So what is left depends on who is on the node, and not on who came when.
    """

    def __init__(self, snapshot: Snapshot, devices: Devices) -> None:
        self._made_of = snapshot, devices
        self.demands, self.of_pod = demands(snapshot, devices)
        self._home = snapshot.pod_node
        self._table = np.array(self.demands, dtype=np.int64).reshape(-1, len(Demand._fields))
        self._annotated = _annotated_devices(
            snapshot, self._demand_rows(np.arange(len(self.of_pod)))[:, 3]
        )
        allocatable = [node.status.allocatable or {} for node in snapshot.nodes]

        def amounts(name: str) -> Amounts:
            return np.array(
                [scheduler_amount(name, room[name]) if name in room else 0 for room in allocatable],
                dtype=np.int64,
            )

        self.cpu, self.memory, self.gpus = amounts("cpu"), amounts("memory"), amounts(devices.whole)
        self._pods: list[set[int]] = [set() for _ in allocatable]
        self._floating = np.zeros(len(allocatable), dtype=np.int64)
        self._whole = np.zeros(len(allocatable), dtype=np.int64)
        self._sharing = np.zeros(len(allocatable), dtype=np.int64)
        self._left = Rows(
            np.arange(len(allocatable), dtype=np.int32),
            self.cpu.copy(),
            self.memory.copy(),
            np.zeros((len(allocatable), max(1, int(self.gpus.max(initial=0)))), dtype=np.int64),
        )
        bound = np.flatnonzero(self._home >= 0)
        requests = self._demand_rows(bound)
        np.subtract.at(self._left.cpu, self._home[bound], requests[:, 0])
        np.subtract.at(self._left.memory, self._home[bound], requests[:, 1])
        for pod in bound[requests[:, 2:].any(axis=1)].tolist():
            self._hold(pod, int(self._home[pod]), 1)
        nodes = np.arange(len(allocatable))
        self._left.devices[:] = self._whole_left(nodes, self._whole)
        for node in np.flatnonzero(self._sharing).tolist():
            self._left.devices[node] = self._layout(node, self._pods[node])

    def afresh(self) -> "FreeCapacity":
        """Another working copy, as the snapshot is."""
        return FreeCapacity(*self._made_of)

    def demand(self, pod: int) -> Demand:
        """What the pod asks for."""
        return self.demands[int(self.of_pod[pod])]

    def free_rows(self) -> Rows:
        """What every node has left."""
        return self._left

    def pods(self, node: int) -> list[int]:
        """The pods on the node that ask for GPUs, ascending."""
        return sorted(self._pods[node])

    def most_free(self, movable: BoolArray) -> Most:
        """What each node would have left if all of these pods went away."""
        pods = np.flatnonzero(movable & (self._home >= 0))
        requests = self._demand_rows(pods)
        freed = np.zeros((len(self.cpu), 3), dtype=np.int64)
        taken = np.stack(
            [requests[:, 0], requests[:, 1], requests[:, 2] * WHOLE + requests[:, 3]], axis=1
        )
        np.add.at(freed, self._home[pods], taken)
        free = self._left
        return Most(
            free.cpu + freed[:, 0],
            free.memory + freed[:, 1],
            free.devices.sum(axis=1) + freed[:, 2],
        )

    def commit(self, shift: Shift) -> None:
        """Make the move."""
        self._move(shift.pod, shift.source, -1)
        self._move(shift.pod, shift.destination, 1)
        for node in (shift.source, shift.destination):
            self._left.devices[node] = self._layout(node, self._pods[node])

    def rows_without(self, pods: IntArray, nodes: IntArray) -> Rows:
        """(rows,) what each pod's node would have left without it. nodes: where they are."""
        rows = self._left.take(nodes)
        requests = self._demand_rows(pods)
        cpu, memory, devices = rows.cpu + requests[:, 0], rows.memory + requests[:, 1], rows.devices
        simple = np.flatnonzero((requests[:, 2] > 0) & (self._sharing[nodes] == 0))
        there = nodes[simple]
        devices[simple] = self._whole_left(there, self._whole[there] - requests[simple, 2])
        layouts: dict[tuple[int, int, int], Amounts] = {}
        shared = (requests[:, 2] + requests[:, 3] > 0) & (self._sharing[nodes] > 0)
        for row in np.flatnonzero(shared).tolist():
            pod, node = int(pods[row]), int(nodes[row])
            key = (int(self.of_pod[pod]), node, self.device(pod, node))
            if key not in layouts:
                layouts[key] = self._layout(node, self._pods[node] - {pod})
            devices[row] = layouts[key]
        return Rows(rows.nodes, cpu, memory, devices)

    def group_alike(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Places of pods that leave different things behind; (k,) which of them is like each.

        nodes: (k,) where the pods are.
        """
        key = nodes.astype(np.int64) * len(self.demands) + self.of_pod[pods]
        if self._annotated:
            own = np.isin(pods, list(self._annotated))
            key[own] = -1 - pods[own]
        _, firsts, places = np.unique(key, return_index=True, return_inverse=True)
        return firsts.astype(np.int32), places.astype(np.int32)

    def rows_with_demand(self, number: int, nodes: IntArray) -> Rows:
        """(rows,) what the nodes would have left with one more pod of that demand."""
        demand, rows = self.demands[number], self._left.take(nodes)
        devices = rows.devices
        if demand.gpus:
            devices = -np.sort(-devices, axis=1)
            devices[:, : demand.gpus] = 0
        if demand.share:
            take_share(devices, demand.share)
        if demand.gpus or demand.share:
            for row in np.flatnonzero(self._floating[nodes]).tolist():
                node = int(nodes[row])
                devices[row] = self._layout(node, self._pods[node], demand)
        return Rows(rows.nodes, rows.cpu - demand.cpu, rows.memory - demand.memory, devices)

    def row_after_return(self, pod: int) -> Rows:
        """(1,) what the pod's own node of the snapshot would have left if it came back there."""
        node, demand = int(self._home[pod]), self.demand(pod)
        row = self._left.take(np.array([node], dtype=np.int32))
        devices = self._layout(node, self._pods[node] | {pod})[None, :]
        return Rows(row.nodes, row.cpu - demand.cpu, row.memory - demand.memory, devices)

    def keeps_device(self, pod: int) -> bool:
        """Whether the pod would have a device of its own at home, which it has nowhere else."""
        return pod in self._annotated

    def device(self, pod: int, node: int) -> int:
        """The device of that node that is known to be the pod's."""
        return self._annotated.get(pod, UNKNOWN) if self._home[pod] == node else UNKNOWN

    def _demand_rows(self, pods: npt.NDArray[np.integer]) -> Amounts:
        """(k, fields of Demand) what each of these pods asks for."""
        rows: Amounts = self._table[self.of_pod[pods]]
        return rows

    def _move(self, pod: int, node: int, sign: int) -> None:
        demand = self.demand(pod)
        self._left.cpu[node] -= sign * demand.cpu
        self._left.memory[node] -= sign * demand.memory
        self._hold(pod, node, sign)

    def _hold(self, pod: int, node: int, sign: int) -> None:
        """Note who has GPUs of the node."""
        demand = self.demand(pod)
        if not demand.gpus and not demand.share:
            return
        if sign > 0:
            self._pods[node].add(pod)
        else:
            self._pods[node].discard(pod)
        self._whole[node] += sign * demand.gpus
        self._sharing[node] += sign * bool(demand.share)
        if demand.share and self.device(pod, node) == UNKNOWN:
            self._floating[node] += sign

    def _whole_left(self, nodes: npt.NDArray[np.integer], taken: Amounts) -> Amounts:
        """(rows, most GPUs) what is left of each GPU where nobody shares one: `_layout` of many."""
        gpu = np.arange(self._left.devices.shape[1])
        free = (gpu >= taken[:, None]) & (gpu < self.gpus[nodes][:, None])
        return np.where(free, WHOLE, 0)

    def _layout(self, node: int, pods: set[int], more: Demand | None = None) -> Amounts:
        """(most GPUs,) what is left of each GPU of the node with these pods on it."""
        free = np.zeros(self._left.devices.shape[1], dtype=np.int64)
        free[: self.gpus[node]] = WHOLE
        whole, shares = 0, []
        if more is not None:
            whole, shares = more.gpus, [more.share] if more.share else []
        for pod in pods:
            demand, device = self.demand(pod), self.device(pod, node)
            whole += demand.gpus
            if demand.share and 0 <= device < self.gpus[node]:
                free[device] = max(0, free[device] - demand.share)
            elif demand.share:
                shares.append(demand.share)
        if whole:
            free[np.argsort(-free, kind="stable")[:whole]] = 0
        row = free[None, :]
        for share in sorted(shares, reverse=True):
            take_share(row, share)
        return free


def take_share(devices: Amounts, share: int) -> None:
    """Take a share of one GPU of each row: the fullest with room, else the emptiest."""
    if not len(devices):
        return
    fits = devices >= share
    fullest = np.where(fits, devices, np.iinfo(np.int64).max).argmin(axis=1)
    chosen = np.where(fits.any(axis=1), fullest, devices.argmax(axis=1))
    rows = np.arange(len(devices))
    devices[rows, chosen] = np.maximum(devices[rows, chosen] - share, 0)


def _annotated_devices(snapshot: Snapshot, shares: Amounts) -> dict[int, int]:
    """The device that each pod with a share names in its annotation."""
    devices = ((pod, _index(snapshot.pods[pod])) for pod in np.flatnonzero(shares).tolist())
    return {pod: device for pod, device in devices if device != UNKNOWN}


def _index(pod: Pod) -> int:
    notes = pod.metadata.annotations or {}
    text = next((notes[key] for key in GPU_INDICES if key in notes), "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else UNKNOWN
