"""The term of Numa: which pods lie over more zones than they need, or in one that is too full."""

from collections.abc import Iterator

import numpy as np

from rescheduler.kubelet.numa_zones import BEST_EFFORT, NONE
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.numa.device_use import DeviceUse
from rescheduler.policies.numa.device_zones import DeviceZones
from rescheduler.policies.numa.numa_kernel import NumaKernel
from rescheduler.policies.numa.zone_use import ZoneUse

_LEAST = 1e-9
_SHOWN = 5
_ZONES, _DEVICES, _FULLNESS = range(3)


class NumaTerm:
    """Numa on one snapshot.

    cost = sum over the pods that it evaluates of
        zones(pod, node) + devices(pod, node) + fullness(pod, node)

    zones, devices: see ZoneUse and DeviceUse, 0 to 1. fullness: (load - limit) / (1 - limit) of the
    node's fullest zone, 0 to 1, for a pod as large as a zone, and less for a smaller one: what its
    memory is of a zone. excess: (nodes,) that first factor; NaN where it ought to be known and
    is not. devices: where devices lie that claims can have.
    crowded_for: (nodes,) seconds for which each has been crowded; NaN where it is not known.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        selected: BoolArray,
        matched: BoolArray,
        excess: FloatArray,
        devices: DeviceZones,
        crowded_for: FloatArray | None = None,
    ) -> None:
        home = snapshot.pod_node
        here = np.append(selected, False)[home]
        self._use = ZoneUse(snapshot, selected, matched & here)
        self._devices = DeviceUse(snapshot, devices, selected, matched & here)
        self._uses: tuple[ZoneUse | DeviceUse, ...] = (self._use, self._devices)
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._keys = [pod.key for pod in snapshot.pods]
        self._home = home
        self._node = home.copy()
        self._selected = selected
        self._matched = matched
        self._kept: dict[int, tuple[int, float, float]] = {}
        self._counted = self._use.counted
        self._unknown = selected & np.isnan(excess)
        self._excess = np.where(selected & ~self._unknown, excess, 0.0)
        unknown = np.full(len(self._names), np.nan)
        self._crowded_for = unknown if crowded_for is None else crowded_for
        self._size = self._sizes()
        self._zone_fit: list[dict[int, float]] = []
        for use in self._uses:
            pods = np.flatnonzero(use.counted).tolist()
            charges = {pod: c for pod in pods if (c := use.zone_fit(pod).charge) > 0}
            self._zone_fit.append(charges)
        self._unclear = sum(map(self._is_unclear, np.flatnonzero(self._counted).tolist()))

    def cost(self) -> float:
        """Pods as badly placed as can be."""
        return float(sum(charge for _, charge, _ in self._pieces()))

    def worst(self) -> float:
        """The cost if every pod lay as badly as it could, in a full zone with `crowded`."""
        full = float(self._counted.sum())
        crowded = full if self._excess.any() else 0.0
        return full + crowded + float(self._devices.counted.sum())

    def scope(self) -> int:
        """How many pods want something from a zone, or devices that lie on one."""
        return int((self._counted | self._devices.counted).sum())

    def candidates(self) -> IntArray:
        """The pods that are charged where they are."""
        return np.array(sorted({pod for pod, _, _ in self._pieces()}), dtype=np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) each pod's own charge, and those of all guests, to whom it may give way."""
        charged: dict[int, float] = {}
        guests = 0.0
        for pod, charge, _ in self._pieces():
            charged[pod] = charged.get(pod, 0.0) + charge
            guests += charge if self._node[pod] != self._home[pod] else 0.0
        return np.array([charged.get(pod, 0.0) + guests for pod in pods.tolist()], dtype=np.float64)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        source = int(self._node[pod])
        change = self._fullness(pod, nodes)
        if self._is_kept(pod):
            _, before, after = self._kept[pod]
            change = change - self._fullness(pod, self._node[pod : pod + 1]) + (after - before)
            return np.where(nodes == source, 0.0, change)
        for use in self._uses:
            change = change + use.arrival_charges(pod, nodes)
        if source >= 0:
            here = np.array([source], dtype=np.int32)
            change = change - float(self._fullness(pod, here)[0])
            for which, use in enumerate(self._uses):
                change = change + (use.departure_change(pod) - self._own_charge(which, pod))
        return np.where(nodes == source, 0.0, change)

    def estimate(self) -> NumaKernel:
        """What each pod by itself would be charged; those with devices of claims each by itself."""
        counted = self._counted | self._devices.counted
        kind = np.where(counted & (self._node >= 0), self._use.demand_of, -1)
        kind = np.where(self._devices.counted, kind.max(initial=0) + 1 + np.arange(len(kind)), kind)
        own = np.zeros(len(kind))
        for pod, charge, _ in self._pieces():
            own[pod] += charge
        everywhere = np.arange(len(self._names), dtype=np.int32)

        def charges(pod: int) -> FloatArray:
            return np.asarray(np.maximum(self.deltas(pod, everywhere) + own[pod], 0.0))

        return NumaKernel(charges, kind, own, self._node, self._node)

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        for use in self._uses:
            use.commit(shift)
        self._node[shift.pod] = shift.destination

    def charge(self, pod: int) -> float:
        """What the pod is charged for its zones and devices, and not for how full they are."""
        return sum(own.get(pod, 0.0) for own in self._zone_fit)

    def doubt(self, pod: int) -> str:
        """Why it is not known how the pod lies on its node, or an empty text."""
        node, key = int(self._home[pod]), self._keys[pod]
        if node < 0 or not self._selected[node]:
            return f"pod {key} is on no node that the policy selects"
        if not self._counted[pod] and not self._devices.counted[pod]:
            return f"pod {key} is not evaluated by the policy any more"
        name = self._names[node]
        if self._matched[pod] and self._use.demand_of[pod] >= 0:
            if not self._use.zones.known_nodes[node]:
                return f"the NUMA zones of node {name} are not known"
            if self._is_unclear(pod):
                return f"in which NUMA zones pod {key} lies on node {name} is not known"
        if self._devices.counted[pod] and not self._devices.zone_fit(pod).certain:
            return f"on which NUMA nodes the devices of pod {key} lie is not known"
        return ""

    def charge_on(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) what the pod would be charged for its zones and devices on each of the k nodes."""
        zones, devices = (use.arrival_charges(pod, nodes) for use in self._uses)
        return zones + devices

    def keep(self, pod: int, before: float, after: float) -> None:
        """Charge it `before` where the working copy has it, and expect `after` where it goes."""
        self._kept[pod] = int(self._node[pod]), before, after

    def findings(self) -> Iterator[Finding]:
        """One finding for each pod and cause."""
        for pod, charge, which in self._pieces():
            node = int(self._node[pod])
            name = self._names[node]
            if which == _FULLNESS:
                code = "NUM002"
                text = f"on {name}, whose fullest NUMA zone is {self._excess[node]:.0%} of the "
                text += "way from its limit to full"
            elif self._is_kept(pod):
                code, text = "NUM001", f"on {name}: as it lay there before it was moved"
            elif node == self._home[pod]:
                code = "NUM001"
                text = f"on {name}: {self._uses[which].zone_fit(pod).how}"
            elif which == _DEVICES:
                code = "NUM001"
                text = f"on {name}: the devices that it would get there may lie apart"
            else:
                code, text = "NUM001", f"on {name}: no zone there is known to hold it as planned"
            aspect = "devices" if which == _DEVICES else ""
            key = self._keys[pod]
            yield Finding(code, f"pod {key}", charge, text, (pod,), aspect, counted_as=key)

    def measured_codes(self) -> frozenset[str]:
        """Only how full zones are comes from readings; where pods lie does not."""
        return frozenset(("NUM002",))

    def finding_ages(self) -> FloatArray:
        """(pods,) for how long the node of each has been above the limit."""
        crowded = np.where(self._excess > 0, self._crowded_for, np.nan)
        here = np.append(crowded, np.nan)[self._home]
        return np.where(self._counted, here, np.nan)

    def hot_nodes(self) -> IntArray:
        """None: zones are not a load that a wrong query could make out of nothing."""
        return np.zeros(0, dtype=np.int32)

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) selected, and without zones that we could count on."""
        aligned = (self._use.zones.policy >= BEST_EFFORT) | self._devices.zones.has_zones
        return self._selected & (~aligned | self._unknown)

    def load_after(self) -> dict[str, FloatArray]:
        """Nothing is measured."""
        return {}

    def usage(self, pod: int) -> dict[str, float]:  # noqa: ARG002 - the protocol gives it
        """Nothing is measured."""
        return {}

    def warnings(self) -> tuple[Problem, ...]:
        """Which nodes and pods it cannot evaluate."""
        zones = self._use.zones
        answer = []
        if zones.odd:
            named = [f"{self._names[node]}: {why}" for node, why in sorted(zones.odd.items())]
            answer.append(
                Problem(
                    "NUM003", f"{count_text(len(named), 'node')} not evaluated: {_shorten(named)}"
                )
            )
        has_zones = zones.known_nodes | self._devices.zones.has_zones
        lacking = np.flatnonzero(self._selected & ~has_zones).tolist()
        without = [self._names[node] for node in lacking if node not in zones.odd]
        if without:
            text = f"{count_text(len(without), 'node')} "
            text += (
                f"{verb_for(len(without), 'has', 'have')} no NodeResourceTopology "
                f"({_shorten(without)})"
            )
            answer.append(Problem("NUM003", f"{text}; no pod goes there for its zones' sake"))
        if self._unclear:
            text = f"the zones of {self._unclear} of {count_text(self.scope(), 'pod')} are neither "
            text += "given by an annotation nor follow from what their zones have given away"
            answer.append(Problem("NUM003", f"{text}; they count as well placed"))
        if self._use.unreadable:
            text = f"placement annotations cannot be read: {_shorten(self._use.unreadable)}"
            answer.append(Problem("NUM003", text))
        answer += self._of_devices()
        return tuple(answer)

    def _of_devices(self) -> Iterator[Problem]:
        """Of which pods with claims it is not known where their devices lie, or could lie."""
        devices = self._devices
        pods = np.flatnonzero(devices.counted).tolist()
        open_ = sum(not devices.zone_fit(pod).certain for pod in pods)
        if open_:
            text = (
                f"the NUMA node of some devices of {open_} of {count_text(len(pods), 'pod')} with "
            )
            text += "claims is not known; of them only what is known counts"
            yield Problem("NUM003", text)
        apart = []
        for pod in np.flatnonzero(self._counted & devices.users).tolist():
            other, own = self._use.numa_nodes(pod), devices.numa_nodes(pod)
            if own and other - own:
                apart.append(self._keys[pod])
        if apart:
            text = f"what kubelet gave to {count_text(len(apart), 'pod')} lies on other NUMA nodes "
            text += "than the devices of their claims; on which nodes both would align is "
            yield Problem("NUM003", f"{text}not known, so they stay: {_shorten(apart)}")
        if devices.unmodeled:
            named = [f"{self._keys[pod]}: {why}" for pod, why in sorted(devices.unmodeled.items())]
            text = (
                f"devices of {count_text(len(named), 'pod')} lie on several NUMA nodes, and where "
            )
            yield Problem("NUM003", f"{text}others could lie is not known: {_shorten(named)}")

    def _sizes(self) -> FloatArray:
        """(nodes, demands) what a pod's memory is of a zone, 0 to 1."""
        zones, demands = self._use.zones, self._use.demands
        if "memory" not in zones.resources or not demands:
            return np.zeros((len(self._names), max(len(demands), 1)))
        column = zones.resources.index("memory")
        room = zones.total[:, :, column].max(axis=1)
        wanted = np.array([demand.whole[column] for demand in demands])
        return np.clip(wanted[None, :] / np.where(room > 0, room, np.inf)[:, None], 0.0, 1.0)

    def _is_unclear(self, pod: int) -> bool:
        """Whether its node may spread the pod, and it is not known whether it does.

        With scope `container` kubelet aligns each container by itself, so that those of one pod may
        lie in different zones whatever its policy.
        """
        node, zones = int(self._home[pod]), self._use.zones
        if node < 0 or not zones.known_nodes[node] or self._use.zone_fit(pod).certain:
            return False
        steps = self._use.demands[int(self._use.demand_of[pod])].steps
        apart = not zones.by_pod[node] and len(steps) > 1
        return apart or zones.policy[node] in (NONE, BEST_EFFORT)

    def _is_kept(self, pod: int) -> bool:
        return pod in self._kept and self._kept[pod][0] == self._node[pod]

    def _fullness(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) what the pod is charged for the fullest zone of each node."""
        number = int(self._use.demand_of[pod])
        if not self._counted[pod]:
            return np.zeros(len(nodes))
        return np.asarray(self._excess[nodes] * self._size[nodes, number])

    def _own_charge(self, which: int, pod: int) -> float:
        """The pod's own charge for its zones or devices where it is."""
        node = int(self._node[pod])
        if node == self._home[pod]:
            return self._zone_fit[which].get(pod, 0.0)
        return self._uses[which].guests(node).get(pod, 0.0) if node >= 0 else 0.0

    def _pieces(self) -> Iterator[tuple[int, float, int]]:
        """Pod, charge above zero, and what it is for."""
        moved = np.flatnonzero(self._node != self._home).tolist()
        kept = {pod for pod in self._kept if self._is_kept(pod)}
        for pod in kept:
            if self._kept[pod][1] > _LEAST:
                yield pod, self._kept[pod][1], _ZONES
        for which, use in enumerate(self._uses):
            home = {pod: c for pod, c in self._zone_fit[which].items() if pod not in kept}
            for pod, charge in home.items():
                if self._node[pod] == self._home[pod]:
                    yield pod, charge, which
            for pod in moved:
                charge = 0.0 if pod in kept else self._own_charge(which, pod)
                if self._node[pod] >= 0 and use.counted[pod] and charge > _LEAST:
                    yield pod, charge, which
        yield from self._fullness_charges()

    def _fullness_charges(self) -> Iterator[tuple[int, float, int]]:
        """The same, of how full the zones are."""
        crowded = self._excess > 0
        if not crowded.any():
            return
        there = np.append(crowded, False)[self._node] & self._counted
        for pod in np.flatnonzero(there).tolist():
            charge = float(self._fullness(pod, self._node[pod : pod + 1])[0])
            if charge > _LEAST:
                yield pod, charge, _FULLNESS


def _shorten(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
