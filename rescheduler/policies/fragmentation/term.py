"""The term of Fragmentation: what is stranded and what is missing, as pods move."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.fragmentation.fragmentation_kernel import FragmentationKernel
from rescheduler.policies.fragmentation.free_capacity import FreeCapacity, Rows
from rescheduler.policies.fragmentation.pending_gang import PendingGang
from rescheduler.policies.fragmentation.pending_places import PendingPlaces, PendingShape
from rescheduler.policies.fragmentation.stranded_capacity import Resource, Stranding

_NOTHING = 1e-12
_NO_NODE = ", and no node could be freed for one"
_NEVER = (
    ": even if all pods that may move were gone, their gang would not fit as a whole, or it asks "
    "for something else that is not free, so nothing is freed for a part of it"
)
_SCALE: dict[Resource, tuple[float, str]] = {
    "gpu": (1.0, "GPUs"),
    "cpu": (1e-3, "cores"),
    "memory": (2.0**-30, "GiB"),
}


class FragmentationTerm:
    """Fragmentation on one snapshot; two nodes change with every move.

    What a pod would cost on a node depends on what it asks for and not on which pod it is, so the
    answer for all nodes is kept per demand, and only the nodes that changed are measured again.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what it is bound to
        self,
        snapshot: Snapshot,
        free_capacity: FreeCapacity,
        stranding: Stranding,
        selected: BoolArray,
        movable: BoolArray,
        waiting: Sequence[PendingShape],
        gangs: Sequence[PendingGang] = (),
        warnings: Sequence[Problem] = (),
    ) -> None:
        """gangs: by the numbers that the shapes have of them."""
        self._snapshot = snapshot
        self._node = snapshot.pod_node.copy()
        self._home = snapshot.pod_node
        priorities = [pod_priority(spec) for spec in snapshot.specs]
        self._priority = np.array(priorities, dtype=np.int64)[snapshot.pod_spec]
        self._free_capacity = free_capacity
        self._stranding = stranding
        self._selected = selected
        self._movable = np.flatnonzero(movable).astype(np.int32)
        self._warnings = tuple(warnings)
        self._pending = PendingPlaces(waiting, free_capacity.free_rows())
        self._gangs = {gangs[number].name: number for number in self._pending.gangs.pods}
        self._of_gang = tuple(gangs)
        self._without_room = frozenset(self._pending.gangs_without_room())
        self._now = self._measure(free_capacity.free_rows())
        self._leaving = np.full(len(self._node), np.nan)
        self._freeing = np.full(len(self._node), np.nan)
        self._arriving: dict[int, FloatArray] = {}
        self._stale: dict[int, set[int]] = {}

    def cost(self) -> float:
        """Average pods' worth of stranded capacity, and pending pods without room."""
        return float(self._now.sum()) + self._pending.cost()

    def worst(self) -> float:
        """All that the nodes have is stranded, and every pending pod misses all."""
        amounts: dict[Resource, float] = {
            "gpu": float(self._free_capacity.gpus[self._selected].sum()),
            "cpu": float(self._free_capacity.cpu[self._selected].sum()),
            "memory": float(self._free_capacity.memory[self._selected].sum()),
        }
        total = sum(amounts[resource] / unit for resource, unit in self._stranding.units.items())
        return total + sum(shape.count for shape in self._pending.waiting)

    def stranded_amounts(self) -> dict[Resource, float]:
        """How much of each resource is stranded: GPUs, milli-CPU, bytes."""
        amounts = self._stranding.stranded_amounts(self._free_capacity.free_rows())
        return {
            resource: float(amount[self._selected].sum()) for resource, amount in amounts.items()
        }

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(self._selected.sum())

    def candidates(self) -> IntArray:
        """The pods that may move and whose move could lower the cost."""
        pods: IntArray = self._movable[self.bounds(self._movable) > 1e-9]
        return pods

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) what leaving gains, and coming to the best of all nodes."""
        unknown = pods[np.isnan(self._leaving[pods])]
        if len(unknown):
            firsts, like = self._free_capacity.group_alike(unknown, self._node[unknown])
            some = unknown[firsts]
            nodes = self._node[some]
            rows = self._free_capacity.rows_without(some, nodes)
            self._leaving[unknown] = (self._measure(rows) - self._now[nodes])[like]
            self._freeing[unknown] = 0.0
            if self._pending.waiting:
                most = max(shape.priority for shape in self._pending.waiting)
                gains = self._pending.gains(rows)[like]
                self._freeing[unknown] = np.where(self._priority[unknown] > most, 0.0, gains)
        numbers = self._free_capacity.of_pod[pods]
        best: FloatArray = np.zeros(len(self._free_capacity.demands))
        for number in np.unique(numbers).tolist():
            best[number] = self._arrivals(number).min(initial=0.0)
        arriving = best[numbers]
        for place in np.flatnonzero(self._node[pods] != self._home[pods]).tolist():
            pod = int(pods[place])
            if self._free_capacity.keeps_device(pod):
                back = (
                    self._measure(self._free_capacity.row_after_return(pod))[0]
                    - self._now[self._home[pod]]
                )
                arriving[place] = min(arriving[place], float(back))
        best_of: FloatArray = np.maximum(-self._leaving[pods] - arriving, 0.0)
        best_of += self._freeing[pods]
        return best_of

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        source, number = int(self._node[pod]), int(self._free_capacity.of_pod[pod])
        if source < 0:
            return np.zeros(len(nodes))
        here = np.array([source], dtype=np.int32)
        source_row = self._free_capacity.rows_without(np.array([pod], dtype=np.int32), here)
        change = self._arrivals(number)[nodes] + float(
            self._measure(source_row)[0] - self._now[source]
        )
        if self._pending.waiting:
            there = self._free_capacity.rows_with_demand(number, nodes)
            change += self._pending.changes(source_row, there, int(self._priority[pod]))
        home = np.flatnonzero(nodes == self._home[pod])
        if len(home) and source != self._home[pod] and self._free_capacity.keeps_device(pod):
            change[home] = self._coming_home(pod, source_row)
        change[nodes == source] = 0.0
        return change

    def _coming_home(self, pod: int, source_row: Rows) -> float:
        """The change if the pod went back to the device that it came from."""
        row, source = self._free_capacity.row_after_return(pod), int(self._node[pod])
        change = float(self._measure(source_row)[0] - self._now[source])
        change += float(self._measure(row)[0] - self._now[self._home[pod]])
        if self._pending.waiting:
            change += float(self._pending.changes(source_row, row, int(self._priority[pod]))[0])
        return change

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._free_capacity.commit(shift)
        self._node[shift.pod] = shift.destination
        changed = np.unique([shift.source, shift.destination]).astype(np.int32)
        rows = self._free_capacity.free_rows().take(changed)
        self._now[changed] = self._measure(rows)
        self._pending.update(rows)
        for stale in self._stale.values():
            stale.update(changed.tolist())
        self._leaving[np.isin(self._node, changed)] = np.nan
        if self._pending.waiting:
            self._leaving[:] = np.nan  # a place that one node offers is no longer missed elsewhere

    def joint_bound(self) -> None:
        """Who leaves last frees what a large pod needs: no sum over pods bounds the gain."""

    def kernel(self) -> FragmentationKernel | None:
        """Sums over nodes, unless pending pods look for room on all of them."""
        if self._pending.waiting:
            return None
        movable = np.zeros(len(self._node), dtype=np.bool_)
        movable[self._movable] = True
        return FragmentationKernel(
            self._free_capacity.afresh(),
            self._stranding,
            self._selected,
            self._home,
            self._node,
            movable,
        )

    def findings(self) -> Iterator[Finding]:
        """One per node with stranded capacity, per shape, and per gang that has no room."""
        amounts = self._stranding.stranded_amounts(self._free_capacity.free_rows())
        on = self._by_node()
        for node in np.flatnonzero(self._now > _NOTHING).tolist():
            lost = ", ".join(
                f"{amount[node] * _SCALE[resource][0]:.2f} {_SCALE[resource][1]}"
                for resource, amount in amounts.items()
            )
            yield Finding(
                code="FRG001",
                subject=f"node {self._snapshot.nodes[node].metadata.name}",
                cost=float(self._now[node]),
                message=f"of what is free, an average pod could not use {lost}",
                pods=on(node),
            )
        for number, cost in self._pending.costs().items():
            if cost <= _NOTHING:
                continue
            near = self._pending.nearest(number).tolist()
            names = ", ".join(self._snapshot.nodes[node].metadata.name for node in near[:3])
            yield Finding(
                code="FRG002",
                subject=self._pending.waiting[number].subject,
                cost=cost,
                message=f"free capacity for {cost:.2f} of them is missing"
                + (f", least of all on {names}" if near else _NO_NODE),
                pods=tuple(sorted(pod for node in near for pod in on(node))),
            )
        yield from self._room_findings(on)

    def _room_findings(self, on: Callable[[int], tuple[int, ...]]) -> Iterator[Finding]:
        waiting = self._pending.waiting
        for gang in self._pending.gangs_without_room():
            short = self._pending.short(gang)
            near = [node for number, *_ in short for node in self._pending.nearest(number).tolist()]
            names = ", ".join(self._snapshot.nodes[node].metadata.name for node in near[:3])
            lacks = sum(lack for *_, lack in short)
            places = sum(place_count for _, place_count, _ in short)
            shapes = [shape for shape in waiting if any(gang == part for part, _ in shape.gangs)]
            if not all(shape.whole for shape in shapes):
                why = _NEVER
            elif near:
                why = f", least of all on {names}"
            else:
                why = _NO_NODE
            yield Finding(
                code="FRG002",
                subject=f"gang {self._of_gang[gang].name}",
                cost=float(self._pending.gangs.pods[gang]),
                message=f"{self._of_gang[gang].size_text} find no room as a whole: {places} "
                f"{'place is' if places == 1 else 'places are'} too few, and free capacity for "
                f"{lacks:.2f} pods is missing{why}",
                pods=tuple(sorted({pod for node in near for pod in on(node)})),
            )

    def gangs_without_room(self) -> tuple[str, ...]:
        """The gangs that have no room as a whole in the working copy, and could have it."""
        shapes = self._pending.waiting
        never = {gang for shape in shapes if not shape.whole for gang, _ in shape.gangs}
        gangs = (gang for gang in self._pending.gangs_without_room() if gang not in never)
        return tuple(self._of_gang[gang].name for gang in gangs)

    def open_for(self, gang: str) -> list[tuple[int, int]]:
        """What could be freed for one more pod of a gang without room: shape and node.

        Those first where the least is missing, of each shape that has too few places.
        """
        number = self._gangs[gang]
        if number not in self._pending.gangs_without_room():
            return []
        return [
            (shape, node)
            for shape, *_ in self._pending.short(number)
            for node in self._pending.open(shape).tolist()
        ]

    def short(self, gang: str) -> int:
        """Of how many places a gang without room has too few; 0 with room."""
        number = self._gangs[gang]
        if number not in self._pending.gangs_without_room():
            return 0
        return sum(places for _, places, _ in self._pending.short(number))

    def relief(self, shape: int, node: int) -> tuple[IntArray, FloatArray]:
        """The movable pods of the node whose leaving brings it nearer to one more of the shape.

        With each, by how much.
        """
        waits = self._pending.waiting[shape].priority
        pods = self._movable[self._node[self._movable] == node]
        pods = pods[self._priority[pods] <= waits]
        nodes = np.full(len(pods), node, dtype=np.int32)
        here = self._free_capacity.free_rows().take(np.array([node], dtype=np.int32))
        want = float(self._pending.want(shape, here)[0])
        gains = want - self._pending.want(shape, self._free_capacity.rows_without(pods, nodes))
        helps = gains > _NOTHING
        return pods[helps], gains[helps]

    def gang_placements(self) -> list[GangRoom]:
        """Every gang that waits: whether it has room in the snapshot, and in the working copy."""
        lacking = set(self._pending.gangs_without_room())
        return [
            GangRoom(
                gang=gang.name,
                pods=gang.pods,
                gpus=gang.gpus,
                before=number not in self._without_room,
                after=number not in lacking,
            )
            for number, gang in enumerate(self._of_gang)
            if number in self._pending.gangs.pods
        ]

    def warnings(self) -> tuple[Problem, ...]:
        """What cannot be evaluated."""
        return self._warnings

    def _by_node(self) -> Callable[[int], tuple[int, ...]]:
        """The movable pods of each node, ascending."""
        nodes = self._node[self._movable]
        order = np.argsort(nodes, kind="stable")
        bounds = np.searchsorted(nodes[order], np.arange(len(self._now) + 1))
        pods = self._movable[order]
        return lambda node: tuple(pods[bounds[node] : bounds[node + 1]].tolist())

    def _measure(self, rows: Rows) -> FloatArray:
        """(rows,) the cost of what is stranded; nodes that are not selected cost nothing."""
        return np.where(self._selected[rows.nodes], self._stranding.cost(rows), 0.0)

    def _arrivals(self, number: int) -> FloatArray:
        """(nodes,) change of the cost of each node if a pod of that demand came there."""
        changes = self._arriving.get(number)
        if changes is None:
            nodes = np.arange(len(self._now), dtype=np.int32)
            changes = self._measure(self._free_capacity.rows_with_demand(number, nodes)) - self._now
            self._arriving[number] = changes
        elif self._stale[number]:
            nodes = np.array(sorted(self._stale[number]), dtype=np.int32)
            changes[nodes] = (
                self._measure(self._free_capacity.rows_with_demand(number, nodes))
                - self._now[nodes]
            )
        self._stale[number] = set()
        return changes
