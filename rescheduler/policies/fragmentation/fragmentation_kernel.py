"""Stranded capacity as sums over nodes: what each demand adds at each node, kept as one table."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.moves.move import Shift
from rescheduler.policies.fragmentation.free_capacity import UNKNOWN, Amounts, FreeCapacity
from rescheduler.policies.fragmentation.layouts import Layouts, Left, laid_out
from rescheduler.policies.fragmentation.stranded_capacity import NodeLeft, Stranding
from rescheduler.policies.shared.demand import WHOLE, Demand


class FragmentationKernel:
    """The kernel. free_capacity: as the snapshot is; selected: (nodes,) what counts.

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
        self._where = where.astype(np.int32, copy=True)
        demands = free_capacity.demands
        self._asked = np.array(demands, dtype=np.int64).reshape(-1, len(Demand._fields))
        kinds = sorted({demand[2:] for demand in demands})
        self._kind = np.array([kinds.index(demand[2:]) for demand in demands], dtype=np.int32)
        self._layouts = Layouts(kinds, stranding.kinds)
        free, nodes = free_capacity.free_rows(), len(selected)
        self._left_cpu, self._left_memory = free.cpu.copy(), free.memory.copy()
        self._gpus = free_capacity.gpus.tolist()
        self._pods: list[dict[int, None]] = [{} for _ in range(nodes)]
        for pod in np.flatnonzero(home >= 0).tolist():
            self._pods[home[pod]][pod] = None
        for pod in np.flatnonzero(where != home).tolist():
            self._hand(Shift(pod, int(home[pod]), int(where[pod])))
        self._now = np.zeros(nodes)
        self._leaving = np.full(len(home), np.nan)
        self._come = np.empty((len(demands), nodes))
        for node in range(nodes):
            self._renew(node)

    def cost(self) -> float:
        """Average pods' worth of stranded capacity."""
        return float(self._now.sum())

    def departure_deltas(self, pods: IntArray) -> FloatArray:
        """(k,) what leaving frees or strands."""
        answer: FloatArray = self._leaving[pods]
        unknown = np.isnan(answer)
        if unknown.any():
            for node in np.unique(self._where[pods[unknown]]).tolist():
                self._renew_leaving(node)
            answer = self._leaving[pods]
        return answer

    def arrival_deltas(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k, n) what coming fills or strands."""
        table: FloatArray = self._come[self._free.of_pod[pods][:, None], nodes]
        for row in np.flatnonzero(self._where[pods] != self._home[pods]).tolist():
            pod = int(pods[row])
            if self._free.keeps_device(pod):
                at = np.flatnonzero(nodes == self._home[pod])
                if len(at):
                    table[row, at] = self._return_delta(pod)
        return table

    def commit(self, shift: Shift) -> None:
        """Move the pod."""
        if shift.source == shift.destination:
            return
        self._hand(shift)
        self._where[shift.pod] = shift.destination
        self._leaving[shift.pod] = np.nan
        self._layouts.trim()
        for node in (shift.source, shift.destination):
            if node >= 0:
                self._renew(node)

    def savings(self) -> FloatArray:
        """(pods,) no bound is known but that of `relaxed`."""
        return np.full(len(self._home), np.inf)

    def _hand(self, shift: Shift) -> None:
        demand = self._free.demand(shift.pod)
        if shift.source >= 0:
            del self._pods[shift.source][shift.pod]
            self._left_cpu[shift.source] += demand.cpu
            self._left_memory[shift.source] += demand.memory
        if shift.destination >= 0:
            self._pods[shift.destination][shift.pod] = None
            self._left_cpu[shift.destination] -= demand.cpu
            self._left_memory[shift.destination] -= demand.memory

    def _state(
        self, node: int, *, without: int = -1, having: int = -1
    ) -> tuple[Left, int, Left, bool]:
        """What holds the GPUs of the node: see `Layouts.after`; and whether shares are unknown."""
        fixed = [WHOLE] * self._gpus[node]
        whole, shares, unknown = 0, [], False
        for pod in (*self._pods[node], having):
            if pod < 0 or pod == without:
                continue
            demand = self._free.demand(pod)
            whole += demand.gpus
            if demand.share:
                device = self._free.device(pod, node)
                unknown |= device == UNKNOWN
                if 0 <= device < len(fixed):
                    fixed[device] = max(0, fixed[device] - demand.share)
                else:
                    shares.append(demand.share)
        shares.sort(reverse=True)
        return tuple(sorted(fixed, reverse=True)), whole, tuple(shares), unknown

    def _renew(self, node: int) -> None:
        """What the node costs now, and what each demand would add."""
        self._leaving[list(self._pods[node])] = np.nan
        fixed, whole, shares, unknown = self._state(node)
        free, _ = laid_out(fixed, whole, shares)
        here = np.array([self._layouts.number(free)], dtype=np.int32)
        cpu, memory = int(self._left_cpu[node]), int(self._left_memory[node])
        self._now[node] = self._measure(node, here, np.array([cpu]), np.array([memory]))[0]
        after = self._layouts.states_after_arrival(
            *((fixed, whole, shares) if unknown else (free, 0, ()))
        )
        states = after[self._kind]
        change = self._measure(node, states, cpu - self._asked[:, 0], memory - self._asked[:, 1])
        change -= self._now[node]
        self._come[:, node] = np.where(states < 0, np.inf, change)

    def _renew_leaving(self, node: int) -> None:
        """What each pod of the node takes away."""
        pods = np.array(list(self._pods[node]), dtype=np.int32)
        states: dict[tuple[int, int], int] = {}
        of_pod = []
        for pod in pods.tolist():
            alike = int(self._kind[self._free.of_pod[pod]]), self._free.device(pod, node)
            if alike not in states:
                fixed, whole, shares, _ = self._state(node, without=pod)
                states[alike] = self._layouts.number(laid_out(fixed, whole, shares)[0])
            of_pod.append(states[alike])
        requests = self._asked[self._free.of_pod[pods]]
        cpu, memory = (
            self._left_cpu[node] + requests[:, 0],
            self._left_memory[node] + requests[:, 1],
        )
        after = self._measure(node, np.array(of_pod, dtype=np.int32), cpu, memory)
        self._leaving[pods] = after - self._now[node]

    def _measure(self, node: int, states: IntArray, cpu: Amounts, memory: Amounts) -> FloatArray:
        """(rows,) what is stranded there; nodes that are not selected cost nothing."""
        if not self._selected[node]:
            return np.zeros(len(states))
        layouts = self._layouts
        idle, usable, fits = layouts.idle[states], layouts.usable[states], layouts.fits[states]
        return self._stranding.cost_at(node, NodeLeft(cpu, memory, idle, usable, fits))

    def _return_delta(self, pod: int) -> float:
        """What a pod adds that comes back to its own device."""
        node, demand = int(self._home[pod]), self._free.demand(pod)
        fixed, whole, shares, _ = self._state(node, having=pod)
        free, enough = laid_out(fixed, whole, shares)
        if not enough:
            return float(np.inf)
        state = np.array([self._layouts.number(free)], dtype=np.int32)
        cpu, memory = self._left_cpu[node] - demand.cpu, self._left_memory[node] - demand.memory
        return float(self._measure(node, state, cpu[None], memory[None])[0] - self._now[node])
