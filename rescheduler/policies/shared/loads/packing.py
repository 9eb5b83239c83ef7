"""The term of Utilization that also empties cold nodes."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from rescheduler.kube.quantity import milli, units
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.shared.demand import Demand, Devices, demands, next_demands
from rescheduler.policies.shared.loads.resource_target import ResourceTarget
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.terms import Evacuation

_GPU = "nvidia.com/gpu"


class PackingTerm(UtilizationTerm):
    """Utilization, with a charge of 1.0 for each pod that keeps a node from being free.

    Kept from being free are the nodes that were chosen to be freed, and those that are empty in
    the snapshot. Pods of DaemonSets and static pods go with their node and do not count.

    A node is chosen if the others have room for all that its pods use and ask for, taken together,
    and, once planning has passed its `Evacuation`, only if each of its pods may be evicted and
    lands on a node that is not to be free and that it does not overfill, one pod after the other.
    """

    cold_code: ClassVar[str] = "UTL002"
    cold_text: ClassVar[str] = "it is cold"

    def __init__(
        self,
        snapshot: Snapshot,
        resource_targets: Sequence[ResourceTarget],
        selected: BoolArray,
        movable: BoolArray,
        cold: float,
        span: float = 0.0,
    ) -> None:
        self._spare = np.zeros(len(snapshot.nodes), dtype=np.bool_)
        self._lasting = ~snapshot.on_own_node
        super().__init__(snapshot, resource_targets, selected, movable, span)
        self._held = self._count()
        usable = [node.ready and not node.spec.unschedulable for node in snapshot.nodes]
        self._usable = selected & np.array(usable, dtype=np.bool_)
        self._cold = self._find_cold(cold)
        self._calm = self._seconds_cold(cold)
        self._carried, self._room = self._burdens(snapshot, self._usable & (self._held > 0))
        self._choose(self._find_room(self._cold))
        self._wanted = self._chosen
        self._taking: set[int] = set()

    def leave(self, evacuation: Evacuation) -> None:
        """Ignore nodes with a pod that may not leave, or would land nowhere."""
        leaving = [
            node for node in self._cold if all(map(evacuation.leaves, self._lasting_on(node)))
        ]
        # What was begun comes first, so that it is ended before another node is begun.
        leaving.sort(key=lambda node: not evacuation.has_begun(node))
        self._choose(self._find_landings(self._find_room(leaving), evacuation))

    def immovable(self) -> tuple[Finding, ...]:
        """The nodes for whose pods the others have room, of which one stays or lands nowhere.

        What takes in the pods of nodes that are freed is in use then.
        """
        return tuple(
            Finding(
                code=self.cold_code,
                subject=f"node {self._names[node]}",
                cost=float(self._held[node]),
                message=f"{self.cold_text}, and the other nodes have free capacity for its pods; "
                "yet not each of them may leave and would land on a node that stays in use",
            )
            for node in np.flatnonzero(self._wanted & ~self._chosen).tolist()
            if node not in self._taking
        )

    def freeable_nodes(self) -> BoolArray:
        """(nodes,) those that are cold, whether the others have room or not, and the empty ones."""
        freeable = self._usable & (self._held == 0)
        freeable[self._cold] = True
        return np.asarray(freeable)

    def free(self, nodes: BoolArray) -> None:
        """Charge these instead."""
        self._spare = nodes.copy()

    def cost(self) -> float:
        """Average pods too many, and pods that keep nodes from being free."""
        return super().cost() + float(self._count()[self._spare].sum())

    def worst(self) -> float:
        """The cost if every node were full and to be freed."""
        return super().worst() + float(self._lasting.sum())

    def candidates(self) -> IntArray:
        """The pods that take load off a hot node, and those that keep one from being free."""
        here = np.append(self._spare, False)[self._node]
        keeping = np.flatnonzero(self._movable & self._lasting & here)
        return np.union1d(super().candidates(), keeping).astype(np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) the cost that leaves with each, and 1 where it keeps its node from being free."""
        here = np.append(self._spare, False)[self._node[pods]] & self._lasting[pods]
        return super().bounds(pods) + here

    def joint_bound(self) -> None:
        """Who leaves last frees the node, so that all gain more together than each alone."""

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        change = super().deltas(pod, nodes)
        if not self._lasting[pod]:
            return change
        source = int(self._node[pod])
        before = float(self._spare[source]) if source >= 0 else 0.0
        return change + np.where(nodes == source, 0.0, self._spare[nodes] - before)

    def findings(self) -> Iterator[Finding]:
        """Those of the load, and one for each node that is kept from being free."""
        yield from super().findings()
        counts = self._count()
        for node in np.flatnonzero(self._spare & (counts > 0)).tolist():
            pods = np.flatnonzero((self._node == node) & self._lasting & self._movable)
            text = f"{self.cold_text}, and the other nodes have free capacity for its pods"
            if not self._chosen[node]:
                text = "it was empty, and pods would be moved there"
            yield Finding(
                code=self.cold_code,
                subject=f"node {self._names[node]}",
                cost=float(counts[node]),
                message=f"{text}: {count_text(int(counts[node]), 'pod')} "
                f"{verb_for(int(counts[node]), 'keeps', 'keep')} it from being free",
                pods=tuple(pods.tolist()),
            )

    def _count(self) -> IntArray:
        """(nodes,) pods that would have to leave for the node to be free."""
        here = self._node[self._lasting & (self._node >= 0)]
        return np.bincount(here, minlength=len(self._spare)).astype(np.int32)

    def _find_cold(self, cold: float) -> list[int]:
        """The nodes below that share in all that has a target, those with the fewest pods first."""
        share = self._amounts / self._capacity
        targeted = self._targeted
        calm = np.where(targeted, share < cold, True).all(axis=0) & targeted.any(axis=0)
        sure = ~(self._unknown_load | self._distrusted | self._unknown_peak | self._hot).any(axis=0)
        stuck = self._node[self._lasting & ~self._movable & (self._node >= 0)]
        free = np.bincount(stuck, minlength=len(self._usable)) == 0
        wanted = self._usable & calm & sure & free & (self._held > 0)
        fullest = np.nanmax(np.where(targeted, share, 0.0), axis=0, initial=0.0)
        return sorted(
            np.flatnonzero(wanted).tolist(), key=lambda node: (self._held[node], fullest[node])
        )

    def _seconds_cold(self, cold: float) -> FloatArray:
        """(nodes,) seconds for which every resource with a target has been cold; NaN: it is not."""
        range_samples = [
            resource_target.load.range_samples for resource_target in self._resource_targets
        ]
        samples = [range_samples for range_samples in range_samples if range_samples is not None]
        if len(samples) < len(range_samples):
            return np.full(len(self._names), np.nan)
        targeted = self._targeted[:, None, :]
        calm = np.where(targeted, np.stack(samples) < cold, True).all(axis=0)
        return seconds_held(np.asarray(calm & targeted.any(axis=0)), self._span)

    def _lasting_on(self, node: int) -> list[int]:
        """The pods that would have to leave for the node to be free."""
        return np.flatnonzero((self._node == node) & self._lasting).tolist()

    def _choose(self, nodes: list[int]) -> None:
        """Free these, and keep free what is empty."""
        self._chosen = np.zeros(len(self._usable), dtype=np.bool_)
        self._chosen[nodes] = True
        self._spare = self._chosen | (self._usable & (self._held == 0))
        self._start = self.cost()

    def _find_room(self, nodes: list[int]) -> list[int]:
        """Those of the nodes for whose pods, all together, the others have room."""
        nodes_with_room = []
        free_room, moved = self._room.sum(axis=1), np.zeros(len(self._room))
        for node in nodes:
            room, more = free_room - self._room[:, node], moved + self._carried[:, node]
            if (room >= more - 1e-9).all():
                free_room, moved = room, more
                nodes_with_room.append(node)
        return nodes_with_room

    def _find_landings(self, nodes: list[int], evacuation: Evacuation) -> list[int]:
        """Those of the nodes whose pods all land on nodes that stay in use."""
        blocked = self._usable & (self._held == 0)
        blocked[nodes] = True
        emptiable_nodes: list[int] = []
        made: list[Shift] = []
        taking: set[int] = set()
        candidates, begun = nodes, {node for node in nodes if evacuation.has_begun(node)}
        # Twice, as what stays in use may take in the pods of nodes checked before.
        for keep in (begun, set[int]()):
            retries: list[int] = []
            for node in candidates:
                blocked[node] = True
                shifts = None if node in taking else self._empty(node, blocked, evacuation)
                blocked[node] = shifts is not None or node in keep
                if shifts is None:
                    retries.append(node)
                    continue
                emptiable_nodes.append(node)
                made += shifts
                taking.update(shift.destination for shift in shifts)
            candidates = retries
        self._undo(made, evacuation)
        self._taking = taking
        return emptiable_nodes

    def _empty(self, node: int, blocked: BoolArray, evacuation: Evacuation) -> list[Shift] | None:
        """Move all pods off the node in the working copies; None, and nothing done: one stays."""
        everywhere = np.arange(len(blocked), dtype=np.int32)
        made: list[Shift] = []
        for pod in self._lasting_on(node):
            there = evacuation.landing(pod, blocked | self.overfills(pod, everywhere))
            if there < 0:
                self._undo(made, evacuation)
                return None
            made.append(Shift(pod, node, there))
            self.commit(made[-1])
            evacuation.commit(made[-1])
        return made

    def _undo(self, made: list[Shift], evacuation: Evacuation) -> None:
        for shift in reversed(made):
            self.commit(shift.shift_back())
            evacuation.commit(shift.shift_back())

    def finding_ages(self) -> FloatArray:
        """(pods,) for how long the load that each pod takes away was high, or its node was cold."""
        chosen = np.where(self._chosen, self._calm, np.nan)
        keeping = self._lasting & (self._home >= 0)
        here = np.where(keeping, np.append(chosen, np.nan)[self._home], np.nan)
        return np.asarray(np.fmax(super().finding_ages(), here))

    def _burdens(self, snapshot: Snapshot, taking: BoolArray) -> tuple[FloatArray, FloatArray]:
        """(resource targets and requests, nodes) what each node's pods carry, and its room.

        taking: (nodes,) whether pods may go there. Requests are CPU, memory, GPUs and pods.
        """
        nodes = len(taking)
        bound = self._lasting & (self._node >= 0)
        places = self._node[bound]

        def by_node(amounts: FloatArray) -> FloatArray:
            summed = np.bincount(places, weights=amounts[bound], minlength=nodes)
            return summed.astype(np.float64)

        room = np.maximum(self._most - self._amounts, 0.0)
        carried = [by_node(used) for used in self._used]
        requests = _request_table(demands(snapshot, Devices(_GPU)))
        then = _request_table(next_demands(snapshot, Devices(_GPU)))
        everyone = self._node >= 0
        held = np.stack(
            [
                np.bincount(self._node[everyone], weights=row[everyone], minlength=nodes)
                for row in requests
            ]
        )
        offered = np.array([_allocatable(node.status.allocatable or {}) for node in snapshot.nodes])
        spare = np.maximum(offered.reshape(-1, 4).T - held, 0.0)
        everything = np.concatenate([room, spare])
        return (
            np.stack([*carried, *(by_node(row) for row in then)]),
            np.where(taking, everything, 0.0),
        )


def _request_table(asking: tuple[list[Demand], IntArray]) -> FloatArray:
    """(4, pods) CPU, memory, GPUs and pods. asking: demands, and (pods,) the place of each's."""
    distinct_demands, of_pod = asking
    table = np.array([[d.cpu, d.memory, d.gpus, 1] for d in distinct_demands], dtype=np.float64)
    return table.reshape(-1, 4)[of_pod].T if len(distinct_demands) else np.zeros((4, len(of_pod)))


def _allocatable(resources: dict[str, str | int | float]) -> tuple[float, float, float, float]:
    return (
        float(milli(resources.get("cpu", 0))),
        float(units(resources.get("memory", 0))),
        float(units(resources.get(_GPU, 0))),
        float(units(resources.get("pods", 0))),
    )
