"""NUMA zones in a working copy: what is left of each as pods come and go, and who is admitted."""

from collections.abc import Iterable

import msgspec
import numpy as np

from rescheduler.kube.annotations import NUMA_OBSERVED
from rescheduler.kube.objects import Resources
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.kubelet.kubelet_states import KubeletStates
from rescheduler.kubelet.numa_zones import (
    BEST_EFFORT,
    demands,
    read_zones,
    resources_of,
)
from rescheduler.kubelet.topology_manager import PodAdmitResult, place
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift


class _Amounts(msgspec.Struct):
    """One entry of the annotation: what the pod has in one zone."""

    zone: str
    amount: Resources


class ZoneAllocation:
    """What kubelets have left to give from their zones, by NodeResourceTopology and moves.

    A pod that leaves gives back what its placement annotation has for each zone, and
    nothing where there is none; one that comes takes what its kubelet would choose.
    home, node: (pods,) where the snapshot has each pod, and where the working copy has it.
    unreadable: the placement annotations that could not be read.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        resources = resources_of(snapshot.topologies)
        self.demands, self.demand_of = demands(snapshot, resources)
        self.zones = read_zones(snapshot, resources, self.demands, self.demand_of)
        self.kubelets = KubeletStates(snapshot)
        self.home = snapshot.pod_node
        self.node = snapshot.pod_node.copy()
        self.unreadable: list[str] = []
        self._aligned = self.zones.policy >= BEST_EFFORT
        self._observed = self._read_annotations(snapshot)
        self._away: dict[int, set[int]] = {}
        self._guests: dict[int, set[int]] = {}

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        pod, source, destination = shift
        if self.demand_of[pod] < 0:
            return
        home = int(self.home[pod])
        if source == home >= 0:
            self._away.setdefault(home, set()).add(pod)
        elif source >= 0:
            self._guests[source].discard(pod)
        if destination == home >= 0:
            self._away[home].discard(pod)
        elif destination >= 0:
            self._guests.setdefault(destination, set()).add(pod)
        self.node[pod] = destination

    def refusals(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the node's kubelet would refuse the pod, those that came being there first.

        What pods that left had is free only where their annotation tells in which zones it was.
        """
        answer = self.kubelets.refusals(pod, nodes)
        changed = self._changed
        for row, node in enumerate(nodes.tolist() if changed else ()):
            if node in changed:
                guests = sorted(self._guests.get(node, set()) - {pod})
                away = self._given_back(self._away.get(node, ()))
                answer[row] = self.kubelets.refuses(pod, node, guests, away)
        return answer

    def _given_back(self, away: Iterable[int]) -> dict[str, list[int]]:
        """Resource to what these pods had in each zone."""
        amounts = [self._observed[pod] for pod in away if pod in self._observed]
        if not amounts:
            return {}
        table = np.sum(amounts, axis=0).astype(np.int64)
        return {name: table[:, n].tolist() for n, name in enumerate(self.zones.resources)}

    @property
    def _changed(self) -> set[int]:
        """The nodes where somebody came or went."""
        return {
            node for holder in (self._away, self._guests) for node, pods in holder.items() if pods
        }

    def _arrivals(
        self, node: int, guests: Iterable[int], away: Iterable[int]
    ) -> tuple[list[tuple[int, PodAdmitResult]], FloatArray]:
        """What kubelet makes of each pod that came, in the order of the pods, and what is left.

        The pods of `away` have left before. Left: (zones, resources).
        """
        free: FloatArray = self.zones.free[node]
        for pod in away:
            if pod in self._observed:
                free = free + self._observed[pod]
        here, answer = one_node(node), []
        for pod in sorted(guests):
            placement = place(self.zones, here, free[None], self.demands[self.demand_of[pod]])
            answer.append((pod, placement))
            if placement.admitted[0]:
                free = placement.free[0]
        return answer, free

    def _read_annotations(self, snapshot: Snapshot) -> dict[int, FloatArray]:
        """Pod to its (zones, resources), of those whose annotation can be read and fits."""
        column = {name: index for index, name in enumerate(self.zones.resources)}
        decoder = msgspec.json.Decoder(list[_Amounts])
        answer = {}
        for pod in np.flatnonzero((self.demand_of >= 0) & (self.home >= 0)).tolist():
            text = (snapshot.pods[pod].metadata.annotations or {}).get(NUMA_OBSERVED)
            node = int(self.home[pod])
            if not text or not self.zones.known_nodes[node]:
                continue
            amounts = np.zeros(self.zones.total.shape[1:])
            rows = {name: row for row, name in enumerate(self.zones.names[node])}
            try:
                for entry in decoder.decode(text):
                    for name, quantity in entry.amount.items():
                        if name in column:
                            amount = nanos(quantity) / NANO
                            amounts[rows[entry.zone], column[name]] += max(amount, 0.0)
            except (ValueError, KeyError, RecursionError) as error:
                self.unreadable.append(f"pod {snapshot.pods[pod].key}: {error}")
                continue
            if amounts.any():
                answer[pod] = amounts
        return answer


def one_node(node: int) -> IntArray:
    """(1,) the node alone."""
    return np.array([node], dtype=np.int32)
