"""Free capacity: what the nodes have left of CPU, memory and each GPU, as pods come and go."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rescheduler.kube.annotations import GPU_INDICES
from rescheduler.kube.objects import Pod
from rescheduler.kube.quantity import scaled
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
        self._annotated = _annotated(snapshot, self._asked(np.arange(len(self.of_pod)))[:, 3])
        rooms = [node.status.allocatable or {} for node in snapshot.nodes]

        def amounts(name: str) -> Amounts:
            return np.array(
                [scaled(name, each[name]) if name in each else 0 for each in rooms], dtype=np.int64
            )

        self.cpu, self.memory, self.gpus = amounts("cpu"), amounts("memory"), amounts(devices.whole)
        self._pods: list[set[int]] = [set() for _ in rooms]
        self._floating = np.zeros(len(rooms), dtype=np.int64)
        self._whole = np.zeros(len(rooms), dtype=np.int64)
        self._sharing = np.zeros(len(rooms), dtype=np.int64)
        self._left = Rows(
            np.arange(len(rooms), dtype=np.int32),
            self.cpu.copy(),
            self.memory.copy(),
            np.zeros((len(rooms), max(1, int(self.gpus.max(initial=0)))), dtype=np.int64),
        )
        bound = np.flatnonzero(self._home >= 0)
        asked = self._asked(bound)
        np.subtract.at(self._left.cpu, self._home[bound], asked[:, 0])
        np.subtract.at(self._left.memory, self._home[bound], asked[:, 1])
        for pod in bound[asked[:, 2:].any(axis=1)].tolist():
            self._hold(pod, int(self._home[pod]), 1)
        nodes = np.arange(len(rooms))
        self._left.devices[:] = self._whole_left(nodes, self._whole)
        for node in np.flatnonzero(self._sharing).tolist():
            self._left.devices[node] = self._layout(node, self._pods[node])

    def afresh(self) -> "FreeCapacity":
        """Another working copy, as the snapshot is."""
        return FreeCapacity(*self._made_of)

    def demand(self, pod: int) -> Demand:
        """What the pod asks for."""
        return self.demands[int(self.of_pod[pod])]

    def left(self) -> Rows:
        """What every node has left."""
        return self._left

    def pods(self, node: int) -> list[int]:
        """The pods on the node that ask for GPUs, ascending."""
        return sorted(self._pods[node])

    def most(self, movable: BoolArray) -> Most:
        """What each node would have left if all of these pods went away."""
        pods = np.flatnonzero(movable & (self._home >= 0))
        asked = self._asked(pods)
        freed = np.zeros((len(self.cpu), 3), dtype=np.int64)
        taken = np.stack([asked[:, 0], asked[:, 1], asked[:, 2] * WHOLE + asked[:, 3]], axis=1)
        np.add.at(freed, self._home[pods], taken)
        left = self._left
        return Most(
            left.cpu + freed[:, 0],
            left.memory + freed[:, 1],
            left.devices.sum(axis=1) + freed[:, 2],
        )

    def commit(self, shift: Shift) -> None:
        """Make the move."""
        self._move(shift.pod, shift.source, -1)
        self._move(shift.pod, shift.destination, 1)
        for node in (shift.source, shift.destination):
            self._left.devices[node] = self._layout(node, self._pods[node])

    def without(self, pods: IntArray, nodes: IntArray) -> Rows:
        """(rows,) what each pod's node would have left without it. nodes: where they are."""
        rows = self._left.take(nodes)
        asked = self._asked(pods)
        cpu, memory, devices = rows.cpu + asked[:, 0], rows.memory + asked[:, 1], rows.devices
        simple = np.flatnonzero((asked[:, 2] > 0) & (self._sharing[nodes] == 0))
        there = nodes[simple]
        devices[simple] = self._whole_left(there, self._whole[there] - asked[simple, 2])
        known: dict[tuple[int, int, int], Amounts] = {}
        shared = (asked[:, 2] + asked[:, 3] > 0) & (self._sharing[nodes] > 0)
        for row in np.flatnonzero(shared).tolist():
            pod, node = int(pods[row]), int(nodes[row])
            key = (int(self.of_pod[pod]), node, self.device(pod, node))
            if key not in known:
                known[key] = self._layout(node, self._pods[node] - {pod})
            devices[row] = known[key]
        return Rows(rows.nodes, cpu, memory, devices)

    def alike(self, pods: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Places of pods of which no two leave the same behind; (k,) which of them is like each.

        nodes: (k,) where the pods are.
        """
        key = nodes.astype(np.int64) * len(self.demands) + self.of_pod[pods]
        if self._annotated:
            own = np.isin(pods, list(self._annotated))
            key[own] = -1 - pods[own]
        _, firsts, places = np.unique(key, return_index=True, return_inverse=True)
        return firsts.astype(np.int32), places.astype(np.int32)

    def having(self, number: int, nodes: IntArray) -> Rows:
        """(rows,) what the nodes would have left with one more pod of that demand."""
        asked, rows = self.demands[number], self._left.take(nodes)
        devices = rows.devices
        if asked.gpus:
            devices = -np.sort(-devices, axis=1)
            devices[:, : asked.gpus] = 0
        if asked.share:
            take_share(devices, asked.share)
        if asked.gpus or asked.share:
            for row in np.flatnonzero(self._floating[nodes]).tolist():
                node = int(nodes[row])
                devices[row] = self._layout(node, self._pods[node], asked)
        return Rows(rows.nodes, rows.cpu - asked.cpu, rows.memory - asked.memory, devices)

    def returned(self, pod: int) -> Rows:
        """(1,) what the pod's own node of the snapshot would have left if it came back there."""
        node, asked = int(self._home[pod]), self.demand(pod)
        row = self._left.take(np.array([node], dtype=np.int32))
        devices = self._layout(node, self._pods[node] | {pod})[None, :]
        return Rows(row.nodes, row.cpu - asked.cpu, row.memory - asked.memory, devices)

    def keeps_device(self, pod: int) -> bool:
        """Whether the pod would have a device of its own at home, which it has nowhere else."""
        return pod in self._annotated

    def device(self, pod: int, node: int) -> int:
        """The device of that node that is known to be the pod's."""
        return self._annotated.get(pod, UNKNOWN) if self._home[pod] == node else UNKNOWN

    def _asked(self, pods: npt.NDArray[np.integer]) -> Amounts:
        """(k, fields of Demand) what each of these pods asks for."""
        asked: Amounts = self._table[self.of_pod[pods]]
        return asked

    def _move(self, pod: int, node: int, sign: int) -> None:
        asked = self.demand(pod)
        self._left.cpu[node] -= sign * asked.cpu
        self._left.memory[node] -= sign * asked.memory
        self._hold(pod, node, sign)

    def _hold(self, pod: int, node: int, sign: int) -> None:
        """Note who has GPUs of the node."""
        asked = self.demand(pod)
        if not asked.gpus and not asked.share:
            return
        if sign > 0:
            self._pods[node].add(pod)
        else:
            self._pods[node].discard(pod)
        self._whole[node] += sign * asked.gpus
        self._sharing[node] += sign * bool(asked.share)
        if asked.share and self.device(pod, node) == UNKNOWN:
            self._floating[node] += sign

    def _whole_left(self, nodes: npt.NDArray[np.integer], taken: Amounts) -> Amounts:
        """(rows, most GPUs) what is left of each GPU where nobody shares one: `_layout` of many."""
        gpu = np.arange(self._left.devices.shape[1])
        free = (gpu >= taken[:, None]) & (gpu < self.gpus[nodes][:, None])
        return np.where(free, WHOLE, 0)

    def _layout(self, node: int, pods: set[int], more: Demand | None = None) -> Amounts:
        """(most GPUs,) what is left of each GPU of the node with these pods on it."""
        left = np.zeros(self._left.devices.shape[1], dtype=np.int64)
        left[: self.gpus[node]] = WHOLE
        whole, shares = 0, []
        if more is not None:
            whole, shares = more.gpus, [more.share] if more.share else []
        for pod in pods:
            asked, device = self.demand(pod), self.device(pod, node)
            whole += asked.gpus
            if asked.share and 0 <= device < self.gpus[node]:
                left[device] = max(0, left[device] - asked.share)
            elif asked.share:
                shares.append(asked.share)
        if whole:
            left[np.argsort(-left, kind="stable")[:whole]] = 0
        row = left[None, :]
        for share in sorted(shares, reverse=True):
            take_share(row, share)
        return left


def take_share(devices: Amounts, share: int) -> None:
    """Take a share of one GPU of each row: the fullest with room, else the emptiest."""
    if not len(devices):
        return
    fits = devices >= share
    fullest = np.where(fits, devices, np.iinfo(np.int64).max).argmin(axis=1)
    chosen = np.where(fits.any(axis=1), fullest, devices.argmax(axis=1))
    rows = np.arange(len(devices))
    devices[rows, chosen] = np.maximum(devices[rows, chosen] - share, 0)


def _annotated(snapshot: Snapshot, shares: Amounts) -> dict[int, int]:
    """The device that each pod with a share names in its annotation."""
    found = ((pod, _index(snapshot.pods[pod])) for pod in np.flatnonzero(shares).tolist())
    return {pod: device for pod, device in found if device != UNKNOWN}


def _index(pod: Pod) -> int:
    notes = pod.metadata.annotations or {}
    text = next((notes[key] for key in GPU_INDICES if key in notes), "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else UNKNOWN
