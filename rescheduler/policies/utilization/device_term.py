"""The term of Utilization about GPUs that pods share: each device for itself."""

import itertools
from collections.abc import Iterator, Mapping
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.loads.average_pod import average_part
from rescheduler.policies.shared.loads.relief import heat_with_relief, hot_or_not, too_many
from rescheduler.policies.utilization.device_target import DeviceTarget
from rescheduler.policies.utilization.device_warnings import (
    device_warnings,
    passed_over_sentence,
)
from rescheduler.policies.utilization.shared_gpus import SharedGpus

_LEAST = 1e-9
"""Differences below this are rounding."""


class DeviceTerm:
    """Utilization of shared GPUs on one snapshot.

    cost = sum over devices of ((load - low)+ + (load - high)+) / 2 / unit

    load: measured, less the parts of the pods that left, plus those of the pods that came. unit:
    what the pods that may be moved use on average. A pod that comes goes where NVIDIA's device
    plugin would put it: on the device that the fewest pods have, and of equal ones it is taken to
    be the busiest; of several that come, the largest goes first. So the cost follows from the
    placement alone. A pod without a known part releases nothing and is no candidate. Devices
    without any known load count as full.
    Source: k8s-device-plugin, internal/rm/allocate.go, distributedAlloc.
    Arrays are (d,) over devices.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        gpus: SharedGpus,
        target: DeviceTarget,
        selected: BoolArray,
        movable: BoolArray,
        span: float = 0.0,
    ) -> None:
        self._gpus, self._target, self._span = gpus, target, span
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._home = snapshot.pod_node
        self._node = snapshot.pod_node.copy()
        self._scope = selected & gpus.sharing & ~np.isnan(target.high)
        self._scoped = self._scope[gpus.node] if len(gpus.node) else np.zeros(0, np.bool_)
        where = gpus.node
        open_ended = np.where(gpus.load_known, np.maximum(gpus.load, 1.0), np.inf)
        self._high = np.where(self._scoped, target.high[where], open_ended)
        self._low = np.where(self._scoped, target.low[where], open_ended)
        self._high[self._scoped & ~gpus.load_known] = 0.0
        self._low[self._scoped & ~gpus.load_known] = 0.0
        most = np.where(self._scoped, target.high[where], target.elsewhere)
        most = most - np.where(self._scoped, target.hidden, 0.0)
        self._most = np.where(gpus.load_known & ~np.isnan(most), most, -np.inf)
        self._hot = self._scoped & gpus.load_known & (gpus.load > self._high)
        self._begun: dict[int, datetime] = {}
        self._ceiling = np.where(self._scoped & gpus.load_known, target.ceiling[where], np.inf)
        self._passed_over = selected & ~gpus.sharing & (gpus.values > target.ceiling)
        self._above = np.unique(where[gpus.load > self._ceiling]).astype(np.int32)
        pods = len(self._home)
        used = np.bincount(gpus.pod, weights=gpus.part, minlength=pods)
        self._used: FloatArray = used.astype(np.float64)
        self._has = np.bincount(gpus.pod, minlength=pods) > 0
        self._movable = movable & (self._home >= 0) & self._has
        mobile = self._movable & ~snapshot.on_own_node
        self._unit = average_part(self._used, mobile, self._has)
        self._amount, self._count = gpus.load.copy(), gpus.held.copy()
        order = np.argsort(where, kind="stable").astype(np.int32)
        bounds = np.searchsorted(where[order], np.arange(len(self._names) + 1))
        self._devices = [order[begin:end] for begin, end in itertools.pairwise(bounds)]
        self._first = np.searchsorted(gpus.pod, np.arange(pods + 1))
        everywhere = np.arange(len(self._names), dtype=np.int32)
        self._choice = (
            np.stack([self._assigned_devices(row, everywhere) for row in range(len(gpus.places))])
            if len(gpus.places)
            else np.zeros((0, len(everywhere)), np.int32)
        )
        self._came: dict[int, set[int]] = {}
        self._left: dict[int, set[int]] = {}
        self._start = self.cost()

    def cost(self) -> float:
        """Average pods too many, over all devices."""
        return float(self._costs(self._amount, slice(None)).sum())

    def worst(self) -> float:
        """The cost if every device with a target were full, or the cost now if that is more."""
        full = np.where(self._scoped & self._gpus.load_known, 1.0, 0.0)
        return max(float(self._costs(full, slice(None)).sum()), self._start)

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(self._scope.sum())

    def evaluated_nodes(self) -> BoolArray:
        """(nodes,) which they are."""
        return self._scope

    def hot_on(self, node: int) -> tuple[str, ...]:
        """The devices of the node that are hot, where they are relieved to less than `high`."""
        hot = self._hot & (self._low < self._high)
        devices = [device for device in self._devices[node].tolist() if device not in self._begun]
        return tuple(self._device_name(device) for device in devices if hot[device])

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Let pods leave these devices until they are at `low`, though they are not hot now."""
        cool = self._scoped & self._gpus.load_known & ~self._hot & (self._gpus.load > self._low)
        for node in {node for node, _ in begun}:
            for device in self._devices[node].tolist():
                name = (node, self._device_name(device))
                if cool[device] and name in begun:
                    self._hot[device], self._begun[device] = True, begun[name]

    def _device_name(self, device: int) -> str:
        """What distinguishes the device from others of its node, in any cycle."""
        return f"{self._target.resource} {self._gpus.name[device]}"

    def candidates(self) -> IntArray:
        """The pods that take load off a hot device when they leave."""
        gpus = self._gpus
        hot = self._hot | (self._amount > self._high)
        home = (self._node[gpus.pod] == self._home[gpus.pod]) & self._movable[gpus.pod]
        useful = home & hot[gpus.device] & (self._removed_costs() > _LEAST)
        candidates = set(gpus.pod[useful].tolist())
        for node, pods in self._came.items():
            devices = self._devices[node]
            if (self._amount[devices] > self._high[devices]).any():
                candidates |= {pod for pod in pods if self._movable[pod] and self._used[pod] > 0}
        return np.array(sorted(candidates), np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) how much of its devices' cost leaves with each pod; where it goes only adds."""
        removed = np.bincount(
            self._gpus.pod, weights=self._removed_costs(), minlength=len(self._home)
        )
        answer = removed[pods]
        odd = (self._node[pods] != self._home[pods]) | np.isin(self._node[pods], list(self._came))
        for place in np.flatnonzero(odd & self._has[pods]).tolist():
            pod, home = int(pods[place]), int(self._home[pods[place]])
            answer[place] = max(self._departure_gain(pod), 0.0)
            if home >= 0 and home != self._node[pod]:
                # What came there meanwhile may get another device when the pod is back.
                gain = self._node_cost(home) - self._node_cost(home, adding=pod)
                answer[place] += max(gain, 0.0)
        return np.asarray(answer)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        if not self._has[pod]:
            return np.zeros(len(nodes))
        source = int(self._node[pod])
        chosen, amount = self._arrival(pod, nodes)
        after = self._costs(amount + self._used[pod], chosen)
        burden = np.where(chosen >= 0, after - self._costs(amount, chosen), 0.0)
        home = int(self._home[pod])
        odd = [*self._came, *([home] if home >= 0 and home != source else [])]
        for place in np.flatnonzero(np.isin(nodes, odd)).tolist() if odd else ():
            node = int(nodes[place])
            if node != source:
                burden[place] = self._node_cost(node, adding=pod) - self._node_cost(node)
        return np.where(nodes == source, 0.0, burden - self._departure_gain(pod))

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the device that the pod would get there would be too full with it.

        So is one of unknown load, and one of another model, where the pod's part is not known.
        """
        if self._used[pod] <= 0:
            return np.zeros(len(nodes), np.bool_)
        chosen, amount = self._arrival(pod, nodes)
        full = amount + self._used[pod] * (1 - _LEAST) > self._most[chosen]
        models, home = self._gpus.models, int(self._home[pod])
        own = int(models[home]) if home >= 0 else 0
        other = (models[nodes] != own) & (models[nodes] > 0) & (own > 0)
        return np.asarray((chosen >= 0) & (full | other) & (nodes != self._node[pod]))

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        pod, source, destination = shift
        home = int(self._home[pod])
        for node, arrives in ((source, False), (destination, True)):
            if node < 0:
                continue
            if node == home:
                (set.discard if arrives else set.add)(self._left.setdefault(node, set()), pod)
            else:
                (set.add if arrives else set.discard)(self._came.setdefault(node, set()), pod)
                if not self._came[node]:
                    del self._came[node]
        self._node[pod] = destination
        for node in {source, destination} - {-1}:
            self._amount[self._devices[node]], self._count[self._devices[node]] = self._layout(node)
        changed = np.array([source, destination], np.int32)
        changed = changed[changed >= 0]
        for row, choice in enumerate(self._choice):
            choice[changed] = self._assigned_devices(row, changed)

    def findings(self) -> Iterator[Finding]:
        """One for each device with too much load."""
        gpus = self._gpus
        candidates = set(self.candidates().tolist())
        costs, above = self._costs(self._amount, slice(None)), self._amount > self._ceiling + _LEAST
        order = np.argsort(gpus.device, kind="stable")
        bounds = np.searchsorted(gpus.device[order], np.arange(len(gpus.node) + 1))
        for device in np.flatnonzero(costs > 0).tolist():
            node = int(gpus.node[device])
            pods = set(gpus.pod[order[bounds[device] : bounds[device + 1]]].tolist())
            pods = {pod for pod in pods if self._node[pod] == node} | self._came.get(node, set())
            code = "UTL003" if gpus.load_known[device] else "UTL004"
            yield Finding(
                code=code,
                subject=f"node {self._names[node]}",
                cost=float(costs[device]),
                message=self._sentence(device),
                pods=tuple(sorted(pods & candidates)),
                aspect=self._device_name(device),
                counted_as=f"{self._names[node]} {gpus.name[device]}" if above[device] else "",
                tolerable=not (self._hot[device] or self._amount[device] > self._high[device]),
            )

    def hot_nodes(self) -> IntArray:
        """The nodes with a device above `high` itself in the snapshot."""
        return self._above

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) whether the load of the node's shared devices ought to be known and is not."""
        return np.asarray(self._scope & self._gpus.unknown)

    def load_after(self) -> dict[str, FloatArray]:
        """The node reading's name to the (nodes,) load of the working copy; NaN is unknown."""
        gpus = self._gpus
        change = (self._amount - gpus.load) * gpus.weight
        moved = np.bincount(gpus.node, weights=change, minlength=len(self._names))
        return {gpus.reading: gpus.values + moved}

    def usage(self, pod: int) -> dict[str, float]:
        """The pod reading's name to what the pod uses; unknown is left out."""
        if not self._has[pod]:
            return {}
        gpus, own = self._gpus, slice(self._first[pod], self._first[pod + 1])
        devices = gpus.device[own]
        used = gpus.part[own] * gpus.weight[devices] * gpus.capacity[gpus.node[devices]]
        return {"pod" + gpus.reading.removeprefix("node"): float(used.sum())}

    def measured_codes(self) -> None:
        """All findings come from readings."""

    def finding_ages(self) -> FloatArray:
        """(pods,) how long the device that each pod uses most has been hot."""
        answer = np.full(len(self._home), np.nan)
        if self._target.heat is None:
            return answer
        gpus, begun = self._gpus, list(self._begun)
        heat = heat_with_relief(self._target.heat, gpus.range_samples, self._low, begun)
        hot = np.where(self._hot, seconds_held(heat, self._span), np.nan)
        removed = self._removed_costs()
        for entry in np.lexsort((removed, gpus.pod)).tolist():
            if removed[entry] > _LEAST:
                answer[gpus.pod[entry]] = hot[gpus.device[entry]]
        return answer

    def warnings(self) -> tuple[Problem, ...]:
        """The nodes that are left alone, and why."""
        return device_warnings(self._gpus, self._scope, self._names)

    def unjudged_sentence(self) -> str:
        """The nodes that all their GPUs together make hot, while one pod has each of these."""
        return passed_over_sentence(self._passed_over, self._names, self._target.resource)

    def _costs(self, amounts: FloatArray, devices: IntArray | slice) -> FloatArray:
        over = np.maximum(amounts - self._low[devices], 0.0)
        over = over + np.maximum(amounts - self._high[devices], 0.0)
        return np.asarray(over / (2 * self._unit))

    def _removed_costs(self) -> FloatArray:
        """(e,) what leaves with each pod's part of each device; 0 where the pod is not at home."""
        gpus = self._gpus
        amounts = self._amount[gpus.device]
        costs_after = self._costs(amounts - gpus.part, gpus.device)
        removed = self._costs(amounts, gpus.device) - costs_after
        return np.where(self._node[gpus.pod] == self._home[gpus.pod], removed, 0.0)

    def _departure_gain(self, pod: int) -> float:
        """What leaves with the pod."""
        node = int(self._node[pod])
        if node < 0 or not self._has[pod]:
            return 0.0
        if node == self._home[pod] and node not in self._came:
            own = slice(self._first[pod], self._first[pod + 1])
            devices = self._gpus.device[own]
            amounts = self._amount[devices]
            costs_after = self._costs(amounts - self._gpus.part[own], devices)
            return float((self._costs(amounts, devices) - costs_after).sum())
        return self._node_cost(node) - self._node_cost(node, without=pod)

    def _arrival(self, pod: int, nodes: IntArray) -> tuple[IntArray, FloatArray]:
        """(k,) the device that the pod would get on each node, -1 none; and what it carries."""
        row = int(self._gpus.resource_of_pod[pod])
        if row < 0 or not self._has[pod]:
            return np.full(len(nodes), -1, np.int32), np.zeros(len(nodes))
        chosen = self._choice[row, nodes]
        return chosen, np.where(chosen >= 0, self._amount[chosen], 0.0)

    def _assigned_devices(self, row: int, nodes: IntArray) -> IntArray:
        """(k,) the device that a pod would get: the fewest have it, of equal ones the busiest.

        row: of the resource that the pod asks for. -1 where the node has none of it.
        """
        places = self._gpus.places[row, nodes]
        there = places >= 0
        count = np.where(there, self._count[places], np.iinfo(np.int32).max)
        full = there & (count >= self._gpus.replicas[places])
        few = np.where(full, count.astype(np.float64) + 1e6, count.astype(np.float64))
        least = few.min(axis=1, keepdims=True)
        busy = np.where(there & (few == least), self._amount[places], -1.0)
        return np.asarray(places[np.arange(len(nodes)), busy.argmax(axis=1)], np.int32)

    def _layout(
        self, node: int, adding: int = -1, without: int = -1
    ) -> tuple[FloatArray, IntArray]:
        """What the node's devices carry, and how many pods have each, with its pods of now."""
        gpus, devices = self._gpus, self._devices[node]
        amounts, counts = gpus.load[devices].copy(), gpus.held[devices].copy()
        place = {int(device): number for number, device in enumerate(devices.tolist())}
        gone = self._left.get(node, set()) | ({without} if self._at_home(without, node) else set())
        for pod in sorted(gone - ({adding} if self._at_home(adding, node) else set())):
            for entry in range(self._first[pod], self._first[pod + 1]):
                number = place[int(gpus.device[entry])]
                amounts[number] -= gpus.part[entry]
                counts[number] -= 1
        came = self._came.get(node, set()) - {without}
        if adding >= 0 and not self._at_home(adding, node):
            came = came | {adding}
        for pod in sorted(came, key=lambda pod: (-self._used[pod], pod)):
            row = int(gpus.resource_of_pod[pod])
            if row < 0 or not self._has[pod]:
                continue
            own = [place[device] for device in gpus.places[row, node].tolist() if device >= 0]
            if not own:
                continue
            best = min(
                own,
                key=lambda position: (
                    counts[position] >= gpus.replicas[devices[position]],
                    counts[position],
                    -amounts[position],
                ),
            )
            amounts[best] += self._used[pod]
            counts[best] += 1
        return amounts, counts

    def _at_home(self, pod: int, node: int) -> bool:
        return pod >= 0 and int(self._home[pod]) == node

    def _node_cost(self, node: int, adding: int = -1, without: int = -1) -> float:
        amounts, _ = self._layout(node, adding, without)
        return float(self._costs(amounts, self._devices[node]).sum())

    def _sentence(self, device: int) -> str:
        gpus, target, node = self._gpus, self._target, int(self._gpus.node[device])
        if not gpus.load_known[device]:
            return f"{gpus.reading} of its shared GPUs is not known, and load would be moved here"
        slot = gpus.slot[device]
        called = f"GPU {slot} ({gpus.name[device]})" if slot else f"GPU {gpus.name[device]}"
        load = self._amount[device]
        if not self._scoped[device]:
            return f"{called} would be at {load:.1%} of {gpus.reading}, more than all of it"
        hot = ""
        if target.low[node] < target.high[node]:
            begun = self._begun.get(device)
            hot = hot_or_not(target.high[node], begun, hot=bool(self._hot[device]))
        many = int(self._count[device])
        low = target.low[node]
        text = f"{gpus.reading} of {called} is {load:.1%}, target {low:.0%}{hot}"
        if many == 1:
            return f"{text}; one pod has it"
        text += too_many(load - low, load, many, "the", "that share it")
        if not gpus.parts_reported[device]:
            part = "in proportion to their claims" if gpus.claimed[device] else "in equal parts"
            text += f"; its load is counted for them {part}, as no metric tells them apart"
        return text
