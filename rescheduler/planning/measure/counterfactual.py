"""The snapshot without some of our moves: the pods on their old nodes, with their load.

On the nodes that the moves touched each reading is what it was before, times how it has changed on
the policy's others since: a load that falls on all of them falls here too. Of that, the moved pods'
own part follows their workload's other pods; and pods that came since would have come in any case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from rescheduler.model.cluster.readings import (
    BoolArray,
    DeviceValue,
    FloatArray,
    IntArray,
    Reading,
    Readings,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline
from rescheduler.model.moves.history import History
from rescheduler.model.wording import count_text
from rescheduler.planning.measure.baseline import peers
from rescheduler.planning.measure.churn import (
    arrivals,
    by_itself,
    ended_usage,
    fewer_elsewhere,
    parts,
    unseen_usage,
)
from rescheduler.planning.measure.move_groups import MoveGroup, Settled
from rescheduler.planning.measure.node_values import by_node, fresh, of_objects, pods_of, usable
from rescheduler.planning.measure.selected_nodes import SelectedNodes
from rescheduler.planning.measure.trends import Trends
from rescheduler.policies.base import Policy


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a group cannot be measured for a policy. passes: whether that may change."""

    text: str
    passes: bool


class Counterfactual:
    """What the readings of one group's nodes and pods would be without its moves."""

    def __init__(
        self, snapshot: Snapshot, group: MoveGroup, history: History, selected: SelectedNodes
    ) -> None:
        """selected: the nodes that the policy selects."""
        self._snapshot = snapshot
        self._group = group
        self._selected = selected
        self._trends = Trends(snapshot, group.nodes, history, selected)
        moved = [settled_move.replacement for settled_move in group.measured]
        self._moved: IntArray = np.array(moved, dtype=np.int32)
        self._known: dict[tuple[str, str, int], float] = {}
        self._replaced: set[str] = {move.move.replacement for move in group.moves}

    def obstacle(self, policy: Policy) -> Obstacle | None:
        """Why the readings of this policy do not tell what the moves brought, or None."""
        for request in of_objects(policy.requests()):
            reading = self._snapshot.readings.find(request)
            if reading is None or not usable(reading, self._snapshot):
                return Obstacle(f"{request.name} is missing or has a problem", passes=True)
            obstacle = self._node_obstacle(reading) or self._silent(reading)
            if obstacle is not None:
                return obstacle
        return None

    def _silent(self, reading: Reading) -> Obstacle | None:
        """Why the moved pods' own use is not known now."""
        if reading.request.subject != "pod":
            return None
        values = fresh(reading)
        for settled_move in self._group.measured:
            if reading.name in settled_move.move.usage and np.isnan(
                values[settled_move.replacement]
            ):
                name = self._snapshot.pods[settled_move.replacement].key
                return Obstacle(f"{reading.name} is not known of pod {name}", passes=True)
        return None

    def _node_obstacle(self, reading: Reading) -> Obstacle | None:
        """Why the readings of the nodes do not tell what the moves changed."""
        request, values = reading.request, by_node(reading, self._snapshot)
        for node in sorted(self._group.nodes):
            name = self._snapshot.nodes[node].metadata.name
            baseline = self._group.baseline(node)
            if baseline is not None and name in baseline.nodes.get(request.key, {}):
                if np.isnan(values[node]) and request.subject == "node":
                    return Obstacle(f"{request.name} is not known of node {name}", passes=True)
                if self._trends.is_shown(request, baseline) and self._trends.is_relabelled(
                    request, baseline
                ):
                    text = "the policy selects other nodes than before the move"
                    return Obstacle(text, passes=False)
                lacking = self._trends.count_lacking(request, values, baseline)
                if lacking:
                    others = count_text(lacking, "other node")
                    text = f"{request.name} is not known of {others} that had it before the move"
                    return Obstacle(text, passes=True)
                if np.isnan(self._trend(reading, baseline)):
                    text = (
                        f"too few other nodes that the policy selects have {request.name} "
                        "undisturbed by moves: how it changed by itself is not known"
                    )
                    return Obstacle(text, passes=self._trends.is_shown(request, baseline))
            elif request.subject == "node" and self._is_source(node) and not np.isnan(values[node]):
                text = f"{request.name} of node {name} was not known before the move"
                return Obstacle(text, passes=False)
        return None

    def _is_source(self, node: int) -> bool:
        return any(node == move.source for move in self._group.moves)

    def substitute(self, reading: Reading, values: FloatArray) -> tuple[DeviceValue, ...]:
        """Write into `values` what this reading would be; answers the devices of the nodes."""
        if reading.request.subject == "pod":
            self._pods(reading, values)
            return reading.devices
        now = fresh(reading)
        pods = pods_of(reading, self._snapshot)
        devices = [device for device in reading.devices if device.node not in self._group.nodes]
        for node in self._group.nodes:
            name = self._snapshot.nodes[node].metadata.name
            baseline = self._group.baseline(node)
            before = None if baseline is None else baseline.nodes.get(reading.request.key, {})
            if before is None or baseline is None or name not in before:
                # Where it was not expected to land: what its replacement takes there now.
                values[node] = now[node] - self._landed_usage(node, reading, pods)
                continue
            most = max(1.0, before[name]) if reading.unit == "ratio" else np.inf
            values[node] = min(
                max(self._value_without_moves(node, reading, pods, baseline), 0.0), most
            )
            devices += self._devices(node, reading, baseline, most)
        return tuple(devices)

    def _value_without_moves(
        self, node: int, reading: Reading, pods: Reading | None, baseline: Baseline
    ) -> float:
        """What the node would read without the moves: its other pods, and those that left it."""
        key, name = reading.request.key, self._snapshot.nodes[node].metadata.name
        before = baseline.nodes[key][name] * _peak(baseline, key, name)
        trend = self._trend(reading, baseline)
        if pods is None:
            return before * trend
        removed, back = 0.0, 0.0
        for move in self._group.moves:
            used = _usage_before(move, pods)
            if move.source == node and used is not None:
                removed += used
                back += 0.0 if move.lost else self._use(move, pods)
        unit = self._unit(reading, node)
        new = self._arrivals(node, baseline)
        came = float(np.nansum(fresh(pods)[new])) / unit
        ended_there = self._ended_usage(node, pods, baseline) * _peak(baseline, key, name)
        in_window = unseen_usage(new, pods, self._snapshot) if reading is not pods else 0.0
        gone = max(ended_there - in_window, 0.0) / unit
        fewer = self._fewer_elsewhere(reading, baseline)
        return by_itself(before - removed / unit, trend, came, gone, fewer) + back / unit

    def _ended_usage(self, node: int, pods: Reading, baseline: Baseline) -> float:
        """What the pods used then that have ended there since, or that others took away."""
        name = self._snapshot.nodes[node].metadata.name
        then = baseline.pods.get(pods.request.key, {}).get(name)
        if then is None:
            return 0.0
        ours = [
            (move.move.podUid, move.move.usage.get(pods.name, 0.0))
            for move in self._group.moves
            if move.source == node and move.move.podUid not in self._replaced
        ]
        return ended_usage(then, node, baseline.at, ours, self._snapshot)

    def _use(self, settled_move: Settled, pods: Reading) -> float:
        """What the pod would use where it was: as before, changed as its workload's others have.

        Without others nothing tells whether the move changed it: then no less than it uses now.
        """
        used, now = _usage_before(settled_move, pods), float(fresh(pods)[settled_move.replacement])
        if used is None:
            return 0.0 if np.isnan(now) else now
        workload = int(self._snapshot.pod_workload[settled_move.replacement])
        before = None
        if settled_move.baseline is not None:
            theirs = settled_move.baseline.peers.get(settled_move.move.workload, {})
            before = theirs.get(pods.request.key)
        others = fresh(pods)[peers(workload, self._moved, self._snapshot)]
        if before and not np.isnan(others).all():
            return used * float(np.nanmean(others)) / before
        if settled_move.baseline is None:
            return used
        trend = self._trend(pods, settled_move.baseline)
        steady = used * (1.0 if np.isnan(trend) else trend)
        return steady if np.isnan(now) else max(steady, now)

    def _trend(self, reading: Reading, since: Baseline) -> float:
        """How the reading has changed by itself since then, on nodes that no move touched.

        On nodes of the group without kept values of then, the moves since are taken out first.
        """
        trend = self._known.get((reading.request.key, since.plan, since.batch))
        if trend is not None:
            return trend
        values = by_node(reading, self._snapshot).copy()
        then = since.nodes.get(reading.request.key, {})
        pods = pods_of(reading, self._snapshot)
        for move in self._group.moves:
            used = 0.0 if pods is None else move.move.usage.get(pods.name, 0.0)
            for name, node, sign in (
                (move.move.source, move.source, 1.0),
                (move.move.landedOn, move.landed, -1.0),
            ):
                if node >= 0 and name not in then and move.move.at >= since.at:
                    values[node] += sign * used / self._unit(reading, node)
        answer = self._trends.change_ratio(reading.request, values, since)
        self._known[reading.request.key, since.plan, since.batch] = answer
        return answer

    @staticmethod
    def _unit(reading: Reading, node: int) -> float:
        """How much of the pods' unit 1.0 of the reading is on the node; not known: infinite."""
        if reading.request.subject == "pod":
            return 1.0
        capacity = np.nan if reading.capacity is None else float(reading.capacity[node])
        return capacity if capacity > 0 else np.inf

    def _landed_usage(self, node: int, reading: Reading, pods: Reading | None) -> float:
        here = [m.replacement for m in self._group.measured if m.landed == node]
        if pods is None or not here:
            return 0.0
        return float(np.nansum(fresh(pods)[here])) / self._unit(reading, node)

    def _pods(self, reading: Reading, values: FloatArray) -> None:
        """Change the pods of the nodes so that their sums are what they would be."""
        key = reading.request.key
        for node in self._group.nodes:
            name = self._snapshot.nodes[node].metadata.name
            baseline = self._group.baseline(node)
            if baseline is None or name not in baseline.nodes.get(key, {}):
                continue
            if _peak(baseline, key, name) < 1:
                continue  # of the node alone it is known what it reads otherwise
            back = sum(
                self._use(settled_move, reading)
                for settled_move in self._group.measured
                if settled_move.source == node
                and settled_move.move.usage.get(reading.name) is not None
            )
            kept = self._value_without_moves(node, reading, reading, baseline) - back
            new = self._arrivals(node, baseline)
            kept -= float(np.nansum(fresh(reading)[new]))
            here = self._snapshot.pod_node == node
            here[new] = False
            here[self._moved] = False
            now = float(np.nansum(np.where(here, values, 0.0)))
            if now > 0:
                values[here] *= max(kept, 0.0) / now
        for settled_move in self._group.measured:
            if settled_move.move.usage.get(reading.name) is not None:
                values[settled_move.replacement] = self._use(settled_move, reading)

    def _arrivals(self, node: int, baseline: Baseline) -> IntArray:
        """The pods that came to the node since, and are no replacements of ours."""
        return arrivals(node, baseline.at, self._replaced, self._snapshot)

    def _devices(
        self, node: int, reading: Reading, baseline: Baseline, most: float
    ) -> Iterator[DeviceValue]:
        """The node's devices as before, changed like others, with the pods that had them.

        Of load those that have ended have taken their part along, and those that came bring theirs;
        one that none of its pods has left is as it is now.
        """
        name, trend = self._snapshot.nodes[node].metadata.name, self._trend(reading, baseline)
        now = {device.device: device for device in reading.devices if device.node == node}
        new = {*self._arrivals(node, baseline).tolist()}
        replaced = {
            settled_move.move.podUid: settled_move.replacement
            for settled_move in self._group.measured
        }
        there = {**self._snapshot.pod_index, **replaced}
        key = reading.request.key
        uses = baseline.uses.get(key, {}).get(name, {})
        for device, index, before, uids in baseline.devices.get(key, {}).get(name, []):
            users = tuple(there[uid] for uid in uids if uid in there)
            if uids and not users and device in now:
                yield now[device]
                continue
            value = before * trend
            if reading.capacity is not None:
                of_pods = parts(before, uids, uses.get(device, ()))
                gone = sum(use for uid, use in of_pods.items() if uid not in there)
                came = _added_load(now.get(device), new)
                fewer = self._fewer_elsewhere(reading, baseline)
                value = by_itself(before, trend, came, min(gone, before), fewer)
            yield DeviceValue(node, device, min(value, most), index, users)

    def _fewer_elsewhere(self, reading: Reading, baseline: Baseline) -> float:
        pods = pods_of(reading, self._snapshot)
        kept = {} if pods is None else baseline.pods.get(pods.request.key, {})
        return fewer_elsewhere(baseline, kept, self._group.nodes, self._selected, self._snapshot)


def _added_load(device: DeviceValue | None, new: set[int]) -> float:
    """What these pods add to the device, as far as that is reported."""
    if device is None:
        return 0.0
    return sum(use for pod, use in zip(device.pods, device.used, strict=False) if pod in new)


def _peak(baseline: Baseline | None, key: str, node: str) -> float:
    """What share of its value then the node reads otherwise; key: of it, or of its pods."""
    of_nodes = "node" + key.removeprefix("node").removeprefix("pod")
    return 1.0 if baseline is None else baseline.peaks.get(of_nodes, {}).get(node, 1.0)


def _usage_before(settled_move: Settled, pods: Reading) -> float | None:
    """What the pod used before its move, when its node was in no peak."""
    used = settled_move.move.usage.get(pods.name)
    return (
        None
        if used is None
        else used * _peak(settled_move.baseline, pods.request.key, settled_move.move.source)
    )


def undo_moves(
    snapshot: Snapshot, groups: Sequence[MoveGroup], history: History, selected: SelectedNodes
) -> Snapshot:
    """The snapshot without the moves of these groups, for a policy that selects these nodes."""
    befores = [Counterfactual(snapshot, group, history, selected) for group in groups]
    pods = list(snapshot.pods)
    for group in groups:
        for settled_move in group.measured:
            pods[settled_move.replacement] = structs.replace(
                pods[settled_move.replacement], node=settled_move.move.source
            )
    return replace(
        snapshot,
        pods=pods,
        readings=Readings(tuple(_reading(e, befores, snapshot) for e in snapshot.readings.entries)),
    )


def _reading(reading: Reading, befores: Sequence[Counterfactual], snapshot: Snapshot) -> Reading:
    if not usable(reading, snapshot):
        return reading
    values = reading.values.copy()
    for before in befores:
        reading = replace(reading, devices=before.substitute(reading, values))
    ages: FloatArray = np.where(np.isnan(values), np.nan, reading.ages)
    missing: BoolArray = np.isnan(reading.ages) & ~np.isnan(values)
    return replace(reading, values=values, ages=np.where(missing, 0.0, ages))
