"""Stranding: what nodes have left that the pods of the cluster could not use.

The measure is the fragmentation of FGD (USENIX ATC 2023). For a task of type m and a node n,

    GPUs: all that is idle on n, if m does not fit there; else what is left on GPUs of which less
          is left than m asks for;
    CPU and memory: all that is idle on n, if m does not fit there; else nothing;

and the node's fragmentation is the mean over the types, weighted by how many pods are of each.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray
from rescheduler.policies.fragmentation.free_capacity import Amounts, Rows
from rescheduler.policies.shared.demand import WHOLE, Demand

Resource = Literal["gpu", "cpu", "memory"]

_CHUNK = 4096
"""Rows that are measured at once, so that a table of rows by types stays in the cache."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """The types of pods that could use what is left.

    demands: (types,). accepted: (types, nodes) whether a node takes such a pod at all.
    counts: (types,) how many pods are of each type.
    """

    demands: list[Demand]
    accepted: BoolArray
    counts: Amounts


@dataclass(frozen=True, slots=True)
class NodeLeft:
    """What one node could have left.

    cpu, memory: (rows,) milli-CPU and bytes. idle: (rows,) GPUs. usable, fits: (rows, kinds) GPUs
    that have enough left for a type of that kind, and whether its GPUs fit at all.
    """

    cpu: Amounts
    memory: Amounts
    idle: FloatArray
    usable: FloatArray
    fits: BoolArray


def tasks(rows: Iterable[tuple[Demand, bytes, BoolArray, int]], nodes: int) -> Tasks:
    """Tasks: what so many pods ask for, and which nodes accept them, by a key and a mask."""
    counts: Counter[tuple[Demand, bytes]] = Counter()
    masks: dict[bytes, BoolArray] = {}
    for demand, key, mask, count in rows:
        counts[demand, key] += count
        masks[key] = mask
    kinds = sorted(counts)
    accepted = np.array([masks[key] for _, key in kinds], dtype=np.bool_)
    return Tasks(
        [demand for demand, _ in kinds],
        accepted.reshape(len(kinds), nodes),
        np.array([counts[kind] for kind in kinds], dtype=np.int64),
    )


class Stranding:
    """Measures rows of what is left.

    needing: whether a type that asks for nothing of a resource does not count for it; in the
    paper it counts, and cannot use any of it.
    """

    def __init__(self, types: Tasks, resources: Iterable[Resource], *, needing: bool) -> None:
        table = np.array(types.demands, dtype=np.int64).reshape(-1, len(Demand._fields))
        self._cpu, self._memory, self._gpus, self._shares = table.T
        self._accepted = types.accepted
        self._anywhere = bool(types.accepted.all())
        gpu_requests = list(zip(self._gpus.tolist(), self._shares.tolist(), strict=True))
        self.kinds: list[tuple[int, int]] = sorted(set(gpu_requests))
        """What types ask of GPUs: how many whole ones, and thousandths of one."""
        self._kind = np.array([self.kinds.index(kind) for kind in gpu_requests], dtype=np.int32)
        self._levels = np.unique(self._shares[self._shares > 0])
        self._weights: dict[Resource, FloatArray] = {}
        self.units: dict[Resource, float] = {}
        """How much of each resource 1.0 of cost is: what an average pod asks of it."""
        devices = self._gpus + self._shares / WHOLE
        amounts = {"gpu": devices, "cpu": self._cpu, "memory": self._memory}
        for resource in resources:
            needed = amounts[resource] > 0
            counts = np.where(needed, types.counts, 0)
            if not counts.any():
                continue
            self.units[resource] = float(counts @ amounts[resource] / counts.sum())
            weights = counts if needing else types.counts
            self._weights[resource] = weights / weights.sum()

    def cost(self, rows: Rows) -> FloatArray:
        """(rows,) what is stranded of all resources, in average pods."""
        total = np.zeros(len(rows.nodes))
        for resource, amount in self.stranded_amounts(rows).items():
            total += amount / self.units[resource]
        return total

    def cost_at(self, node: int, room: NodeLeft) -> FloatArray:
        """(rows,) what is stranded on that node of all resources, in average pods."""
        fits = room.cpu[:, None] >= self._cpu
        fits &= room.memory[:, None] >= self._memory
        if not self._anywhere:
            fits &= self._accepted[:, node]
        total = np.zeros(len(room.cpu))
        for resource, weights in self._weights.items():
            if resource == "gpu":
                usable = room.usable[:, self._kind]
                usable *= fits
                lost = room.idle - usable @ weights
            else:
                free, requests = (
                    (room.cpu, self._cpu) if resource == "cpu" else (room.memory, self._memory)
                )
                idle = np.maximum(free, 0)
                could = (fits & room.fits[:, self._kind]) @ np.where(requests > 0, weights, 0.0)
                lost = idle * (1.0 - could)
            total += np.maximum(lost, 0.0) / self.units[resource]
        return total

    def stranded_amounts(self, rows: Rows) -> dict[Resource, FloatArray]:
        """Resource to the (rows,) amount that is stranded: GPUs, milli-CPU, bytes."""
        size = len(rows.nodes)
        answer = {resource: np.zeros(size) for resource in self._weights}
        for start in range(0, size, _CHUNK):
            part = rows.take(np.arange(start, min(start + _CHUNK, size), dtype=np.int32))
            for resource, amount in self._measure(part).items():
                answer[resource][start : start + _CHUNK] = amount
        return answer

    def _measure(self, rows: Rows) -> dict[Resource, FloatArray]:
        full = (rows.devices == WHOLE).sum(axis=1)
        fits = self._accepted[:, rows.nodes].T.copy()
        fits &= rows.cpu[:, None] >= self._cpu
        fits &= rows.memory[:, None] >= self._memory
        fits &= full[:, None] >= self._gpus
        fits &= rows.devices.max(axis=1, initial=0)[:, None] >= self._shares
        answer: dict[Resource, FloatArray] = {}
        for resource, weights in self._weights.items():
            if resource == "gpu":
                idle = rows.devices.sum(axis=1) / WHOLE
                usable = np.where(fits, self._usable(rows, full), 0.0)
            else:
                free = rows.cpu if resource == "cpu" else rows.memory
                idle = np.maximum(free, 0).astype(np.float64)
                usable = np.where(fits, idle[:, None], 0.0)
                usable[:, (self._cpu if resource == "cpu" else self._memory) == 0] = 0.0
            answer[resource] = np.maximum(idle - usable @ weights, 0.0)
        return answer

    def _usable(self, rows: Rows, full: Amounts) -> FloatArray:
        """(rows, types) idle GPUs that have enough left for the type, if it fits at all."""
        usable = np.where(self._gpus > 0, full[:, None].astype(np.float64), 0.0)
        for level in self._levels:
            enough = np.where(rows.devices >= level, rows.devices, 0).sum(axis=1) / WHOLE
            usable[:, (self._shares == level) & (self._gpus == 0)] = enough[:, None]
        return usable
