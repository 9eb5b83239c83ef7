"""How the pods lie on the NUMA zones of a working copy, and what that is worth."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rescheduler.kubelet.topology_manager import fewest_zones, least_spread, place
from rescheduler.kubelet.zone_allocation import ZoneAllocation, one_node
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ZoneFit:
    """How a pod lies where it is. charge: 0 to 1. how: the evidence, as people read it.

    certain: whether the charge is what it is, and not just the least that it can be.
    """

    charge: float
    how: str = ""
    certain: bool = True


class ZoneUse(ZoneAllocation):
    """The zones of every node with the pods that came and went, and what that is worth.

    A pod's charge is (zones it lies in - fewest) / (zones of the node - fewest), 0 to 1: fewest is
    how many an empty node would need. Where it is now, a placement annotation names its zones;
    without one they are at least as many as it takes for what the zones have given away to cover
    its requests. Where it would go, kubelet's own choice counts; without a fitting choice it is
    charged 1. On a node whose zones are not known, or whose kubelet aligns nothing, it is charged
    what it is charged now: nothing is gained by what is not known.

    selected: (nodes,) where charges are evaluated, counted: (pods,) whose charges count; others
    take their room all the same.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        selected: BoolArray | None = None,
        counted: BoolArray | None = None,
    ) -> None:
        super().__init__(snapshot)
        self._provable = self._aligned if selected is None else self._aligned & selected
        self.counted = self.demand_of >= 0 if counted is None else counted & (self.demand_of >= 0)
        self._zone_fit: dict[int, ZoneFit] = {}
        self._fresh: dict[int, FloatArray] = {}
        self._least: dict[int, IntArray] = {}

    def zone_fit(self, pod: int) -> ZoneFit:
        """How the pod lies where the snapshot has it."""
        if pod not in self._zone_fit:
            self._zone_fit[pod] = self._fit_at_home(pod)
        return self._zone_fit[pod]

    def numa_nodes(self, pod: int) -> set[int]:
        """The NUMA nodes that the pod's annotation names; empty where there is none."""
        amounts = self._observed.get(pod)
        if amounts is None:
            return set()
        names = self.zones.names[int(self.home[pod])]
        ends = [names[zone].rpartition("-")[2] for zone in np.flatnonzero(amounts.any(axis=1))]
        return {int(end) for end in ends if end.isdecimal()}

    def guests(self, node: int) -> dict[int, float]:
        """Pod to its charge, of the pods that came to the node in the working copy."""
        return self._charges(node, self._guests.get(node, ()), self._away.get(node, ()))

    def arrival_charges(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) the charge of the pod on each node, and the change of the charge of guests there."""
        number = int(self.demand_of[pod])
        if number < 0:
            return np.zeros(len(nodes))
        home = int(self.home[pod])
        here = self.zone_fit(pod).charge
        if number not in self._fresh:
            self._fresh[number] = self._on_fresh_nodes(number)
        there: FloatArray = np.where(self._provable[nodes], self._fresh[number][nodes], here)
        answer = there * float(self.counted[pod])
        changed = self._changed
        for row, node in enumerate(nodes.tolist()):
            if node == home or node in changed:
                answer[row] = self._arrival_charge(pod, node)
        return answer

    def departure_change(self, pod: int) -> float:
        """How the charges of the guests on the pod's node change when it leaves."""
        node = int(self.node[pod])
        if node < 0 or self.demand_of[pod] < 0 or not self._guests.get(node):
            return 0.0
        guests, away = self._guests[node] - {pod}, set(self._away.get(node, ()))
        if node == self.home[pod]:
            away.add(pod)
        before = sum(c for p, c in self.guests(node).items() if p != pod)
        return sum(self._charges(node, guests, away).values()) - before

    def _fewest_zones(self, number: int) -> IntArray:
        """(nodes,) in how few zones of each node a pod of that demand could lie."""
        if number not in self._least:
            nodes = np.arange(len(self.zones.policy), dtype=np.int32)
            self._least[number] = fewest_zones(self.zones, nodes, self.demands[number])
        return self._least[number]

    def _on_fresh_nodes(self, number: int) -> FloatArray:
        """(nodes,) the charge where nothing has changed."""
        nodes = np.arange(len(self.zones.policy), dtype=np.int32)
        placement = place(self.zones, nodes, self.zones.free, self.demands[number])
        charge = self._share(placement.spread, self._fewest_zones(number), self.zones.width)
        return np.where(placement.aligned, charge, 1.0)

    def _arrival_charge(self, pod: int, node: int) -> float:
        """The pod's charge on the node, and what its coming changes for the guests there."""
        guests, away = self._guests.get(node, set()) - {pod}, self._away.get(node, set()) - {pod}
        old = away | {pod} if node == self.home[pod] else away
        before = sum(self._charges(node, guests, old).values())
        if node == self.home[pod]:
            return (
                self.zone_fit(pod).charge + sum(self._charges(node, guests, away).values()) - before
            )
        return sum(self._charges(node, guests | {pod}, away).values()) - before

    def _charges(self, node: int, guests: Iterable[int], away: Iterable[int]) -> dict[int, float]:
        """Each guest's charge, in the order of the pods; those of `away` have left before."""
        if not self._provable[node]:
            return {pod: self.zone_fit(pod).charge for pod in sorted(guests)}
        here, answer = one_node(node), {}
        for pod, placement in self._arrivals(node, guests, away)[0]:
            least = self._fewest_zones(int(self.demand_of[pod]))[here]
            share = self._share(placement.spread, least, self.zones.width[here])
            charge = float(share[0]) if placement.aligned[0] else 1.0
            answer[pod] = charge if self.counted[pod] else 0.0
        return answer

    @staticmethod
    def _share(spread: IntArray, least: IntArray, width: IntArray) -> FloatArray:
        """(k,) how much wider than it has to be, of how much wider it could be, 0 to 1."""
        return np.asarray(np.clip((spread - least) / np.maximum(width - least, 1), 0.0, 1.0))

    def _fit_at_home(self, pod: int) -> ZoneFit:
        node, number = int(self.home[pod]), int(self.demand_of[pod])
        if node < 0 or not self.counted[pod] or not self.zones.known_nodes[node]:
            return ZoneFit(0.0)
        demand = self.demands[number]
        least = self._fewest_zones(number)[node : node + 1]
        observed = self._observed.get(pod)
        if observed is not None:
            observed = observed[:, demand.whole > 0]
            spread = int((observed > 0).any(axis=1).sum())
            names = [self.zones.names[node][zone] for zone in np.flatnonzero(observed.any(axis=1))]
            how = f"it lies in {', '.join(names)} (by its annotation)"
        else:
            width = int(self.zones.width[node])
            used = (self.zones.total[node] - self.zones.free[node])[:width]
            spread = least_spread(used, demand.whole)
            how = f"it lies in at least {spread} NUMA zones (by what each has allocated)"
        width_here = self.zones.width[one_node(node)]
        charge = float(self._share(np.array([spread], np.int32), least, width_here)[0])
        certain = observed is not None or charge > 0 or int(least[0]) >= int(width_here[0])
        how += f", and {int(least[0])} of {int(width_here[0])} could hold it"
        return ZoneFit(charge, how, certain)
