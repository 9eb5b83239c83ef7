"""The term of Utilization: what moving a pod does to the load of the nodes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import list_names
from rescheduler.policies.shared.hinges import Hinges
from rescheduler.policies.shared.loads.average_pod import average_pods
from rescheduler.policies.shared.loads.estimate import hinges_of, room_of
from rescheduler.policies.shared.loads.relief import heat_with_relief, hot_or_not, too_many
from rescheduler.policies.shared.loads.resource_target import ResourceTarget
from rescheduler.policies.shared.pods_by_node import OfNodes
from rescheduler.policies.terms import JointBound

_LEAST = 1e-9
"""Relative differences below this are rounding."""


class UtilizationTerm:
    """Utilization on one snapshot.

    cost of a node = sum over resources of max over its resource targets of
                     ((amount - low)+ + (amount - high)+) / 2 / unit

    amount: the measured load in the pods' unit, less what left, plus what came.
    low, high: times the node's capacity; at most the floor where tasks wait for the resource. What
    is above `low` counts half, what is above `high` in full, so that the cost is one function of
    where the pods are: what a move promises is found afterwards, and what only changes places gains
    nothing. That a node is hot, above `high`, decides only whether it gives pods away.
    unit: what a pod uses on average, of those that may be moved and are not idle, wherever they
    are, so that costs of one cycle and the next can be compared. 1.0 is one such pod too many.

    What `overfills` a node is apart from the cost: there the peaks of the node count, the pods that
    were just bound, and nodes without a target.

    Nothing is gained from what is not known. Where a node's load is not explained by its pods, the
    pods free nothing when they leave, and yet burden where they go. A node that ought to have a
    reading and has none counts as full: what comes is charged, what leaves frees nothing. A pod
    whose usage is not known moves no load, and is no candidate.
    Arrays are (targets, nodes) and (targets, pods); limits are (2, targets, nodes): low, high.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resource_targets: Sequence[ResourceTarget],
        selected: BoolArray,
        movable: BoolArray,
        span: float = 0.0,
    ) -> None:
        """span: seconds of the past that is known."""
        loads = [resource_target.load for resource_target in resource_targets]
        resources = [resource_target.resource for resource_target in resource_targets]
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._resource_targets = list(resource_targets)
        self._span = span
        # Targets of one resource are neighbors; each resource begins at one of these rows.
        self._begins = [row for row, name in enumerate(resources) if resources.index(name) == row]
        self._home = snapshot.pod_node
        self._node = snapshot.pod_node.copy()
        self._measured = np.stack([load.measured for load in loads])
        self._capacity = np.stack([load.capacity for load in loads])
        self._used = np.stack([load.used for load in loads])
        self._known = np.stack([load.usage_known for load in loads])
        load_known = ~np.isnan(self._measured)
        high = np.stack([resource_target.high for resource_target in resource_targets])
        targeted = selected & ~np.isnan(high)
        in_scope = targeted & (np.stack([load.expected for load in loads]) | load_known)
        self._targeted = in_scope
        self._unknown_load = in_scope & ~load_known
        self._scope = in_scope.any(axis=0)
        self._pressed = np.stack([resource_target.pressed for resource_target in resource_targets])
        band = np.stack(
            [np.stack([resource_target.low for resource_target in resource_targets]), high]
        )
        floor = np.stack([resource_target.floor for resource_target in resource_targets])
        band = np.where(self._pressed, np.minimum(band, floor), band) * self._capacity
        self._hot = in_scope & load_known & (self._measured > band[1])
        self._begun: dict[tuple[int, int], datetime] = {}
        ceiling = np.stack([resource_target.ceiling for resource_target in resource_targets])
        ceiling = np.where(self._pressed, np.minimum(ceiling, floor), ceiling) * self._capacity
        self._ceiling = np.where(in_scope & load_known, ceiling, np.inf)
        # Nodes that are not selected cost nothing until a move fills them beyond their size.
        whole = np.where(load_known, np.maximum(self._capacity, self._measured), np.inf)
        limits = np.where(in_scope, band, whole)
        self._limits = np.where(self._unknown_load, 0.0, limits)
        hidden = (
            np.stack([resource_target.hidden for resource_target in resource_targets])
            * self._capacity
        )
        self._unknown_peak = in_scope & load_known & np.isnan(hidden)
        taken = np.nan_to_num(hidden, nan=np.inf) + np.stack([load.shadow for load in loads])
        elsewhere = (
            np.array([[resource_target.elsewhere] for resource_target in resource_targets])
            * self._capacity
        )
        most = np.where(in_scope, band[1], elsewhere) - taken
        self._most = np.where(load_known, most, -np.inf)
        self._amounts = np.where(load_known, self._measured, 0.0)
        trusted = np.stack([load.trusted for load in loads]) & load_known
        self._distrusted = in_scope & load_known & ~trusted
        bound = self._home >= 0
        leaves = bound & self._known & self._flags_at(trusted, self._home)
        freed = np.stack([load.used if load.freed is None else load.freed for load in loads])
        self._freed = np.where(leaves, freed, 0.0)
        missing = np.stack([load.missing for load in loads]).any(axis=0)
        self._movable = movable & bound & ~missing
        self._unit = average_pods(
            freed, self._capacity, bound, self._movable & ~snapshot.on_own_node
        )
        self._start = self.cost()

    def cost(self) -> float:
        """Average pods too many, over all nodes."""
        return float(self._node_costs(self._amounts, self._limits).sum())

    def worst(self) -> float:
        """The cost if every selected node were full, or the cost now if that is more."""
        full = np.where(self._targeted & ~self._unknown_load, self._capacity, 0.0)
        return max(float(self._node_costs(full, self._limits).sum()), self._start)

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(self._scope.sum())

    def evaluated_nodes(self) -> BoolArray:
        """(nodes,) which they are."""
        return np.asarray(self._scope)

    def hot_on(self, node: int) -> tuple[str, ...]:
        """The readings by which the node is hot, where it is relieved to less than `high`."""
        return tuple(
            target.load.name
            for row, target in enumerate(self._resource_targets)
            if self._hot[row, node]
            and (row, node) not in self._begun
            and self._limits[0, row, node] < self._limits[1, row, node]
        )

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Let these nodes give pods away until they are at `low`, though they are not hot now."""
        rows = {target.load.name: row for row, target in enumerate(self._resource_targets)}
        for (node, name), when in begun.items():
            row = rows.get(name, -1)
            if row < 0 or self._hot[row, node] or not self._targeted[row, node]:
                continue
            if self._measured[row, node] > self._limits[0, row, node]:
                self._hot[row, node] = True
                self._begun[row, node] = when

    def candidates(self) -> IntArray:
        """The pods that take load off a hot node when they leave, and whose usage is known."""
        pods = np.flatnonzero(self._movable & (self._node >= 0)).astype(np.int32)
        too_full = self._too_full(self._amounts, self._limits, self._hot)
        full = np.asarray(too_full.any(axis=0), dtype=np.bool_)
        pods = pods[full[self._node[pods]]]
        return np.asarray(pods[self._excess_removed(pods).any(axis=0)], dtype=np.int32)

    def _excess_removed(self, pods: IntArray) -> FloatArray:
        """(resources, k) how much of what makes its node hot leaves with each pod."""
        nodes = self._node[pods]
        if not len(nodes):
            return np.zeros((len(self._begins), 0))
        amounts, limits = self._amounts[:, nodes], self._limits[:, :, nodes]
        hot = self._too_full(amounts, limits, self._hot[:, nodes])
        amounts_after = amounts - self._departing_load(pods)
        before, after = (
            self._excess(amounts, limits) * hot,
            self._excess(amounts_after, limits) * hot,
        )
        removed = np.maximum.reduceat(before, self._begins) - np.maximum.reduceat(
            after, self._begins
        )
        return np.where(removed > _LEAST * np.maximum.reduceat(before, self._begins), removed, 0.0)

    def _too_full(self, amounts: FloatArray, limits: FloatArray, hot: BoolArray) -> BoolArray:
        """(resource targets, k) where the load counts: on hot nodes, and above the high limit."""
        return np.asarray(hot | (amounts - limits[1] > _LEAST * self._unit[:, np.newaxis]))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) how much of its node's cost leaves with each pod; where it goes, it can only add."""
        placed = self._node[pods] >= 0
        nodes = np.where(placed, self._node[pods], 0)
        if not len(self._names):
            return np.zeros(len(pods))
        amounts, limits = self._amounts[:, nodes], self._limits[:, :, nodes]
        amounts_after = amounts - self._departing_load(pods)
        removed = self._node_costs(amounts, limits) - self._node_costs(amounts_after, limits)
        return np.where(placed, np.maximum(removed, 0.0), 0.0)

    def joint_bound(self) -> JointBound | None:
        """A node's cost is convex in its load, but where the fullest of several targets counts."""
        if len(self._begins) < len(self._resource_targets):
            return None
        costs = self._node_costs(self._amounts, self._limits)
        pods = np.flatnonzero(np.append(costs > 0, False)[self._node]).astype(np.int32)
        values = np.zeros(len(self._node))
        values[pods] = self.bounds(pods)
        return JointBound(values, self._node.copy(), costs)

    def estimate(self) -> Hinges:
        """Two hinges for each target, `low` and `high`: see `hinges_of`."""
        above = [self._amounts - limits for limits in self._limits]
        return hinges_of(self._used, above, self._unit, self._node, self._movable)

    def room(self) -> tuple[FloatArray, FloatArray]:
        """Up to what `overfills` says."""
        return room_of(self._used, self._most - self._amounts)

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        source = int(self._node[pod])
        removed = 0.0
        if source >= 0:
            here = slice(source, source + 1)
            amounts, limits = self._amounts[:, here], self._limits[:, :, here]
            amounts_after = amounts - self._departing_load(np.array([pod], dtype=np.int32))
            removed = float(
                (self._node_costs(amounts_after, limits) - self._node_costs(amounts, limits))[0]
            )
        amounts, limits = self._amounts[:, nodes], self._limits[:, :, nodes]
        come = amounts + self._arriving_load(pod, nodes)
        burden = self._node_costs(come, limits) - self._node_costs(amounts, limits)
        return np.where(nodes == source, 0.0, removed + burden)

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would take each of the nodes above what pods may fill it to.

        That is `high` where the node has a target, less what its peaks and the pods that were just
        bound take besides. A node of unknown load has no room.
        """
        used = self._used[:, pod, None]
        full = self._amounts[:, nodes] + used * (1 - _LEAST) > self._most[:, nodes]
        return np.asarray(((used > 0) & full).any(axis=0) & (nodes != self._node[pod]))

    def _arriving_load(self, pod: int, nodes: IntArray) -> FloatArray:
        """(resource targets, k) what the pod burdens each of the nodes with when it comes."""
        used, freed = self._used[:, pod, None], self._freed[:, pod, None]
        return np.where(nodes == self._home[pod], freed, used)

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        pod, source, destination = shift
        for node, sign in ((source, -1.0), (destination, 1.0)):
            if node >= 0:
                moved = self._freed if node == self._home[pod] else self._used
                self._amounts[:, node] += sign * moved[:, pod]
        self._node[pod] = destination

    def findings(self) -> Iterator[Finding]:
        """One finding per node and resource with too much load."""
        shares = self._resource_costs(self._amounts, self._limits)
        candidates = OfNodes(self.candidates(), self._node)
        ends = [*self._begins[1:], len(self._resource_targets)]
        hot = np.asarray((self._amounts > self._ceiling * (1 + _LEAST)).any(axis=0))
        high = self._too_full(self._amounts, self._limits, self._hot)
        for resource, node in zip(*np.nonzero(shares), strict=True):
            begin = self._begins[resource]
            excess = self._excess(self._amounts[:, node], self._limits[:, :, node])
            row = begin + int(excess[begin : ends[resource]].argmax())
            yield Finding(
                code="UTL001",
                subject=f"node {self._names[node]}",
                cost=float(shares[resource, node]),
                message=self._sentence(row, int(node)),
                pods=candidates[int(node)],
                aspect=self._resource_targets[begin].resource,
                counted_as=self._names[node] if hot[node] else "",
                tolerable=not high[begin : ends[resource], node].any(),
            )

    def hot_nodes(self) -> IntArray:
        """The nodes above `high` itself in the snapshot, not those only above the mean."""
        return np.flatnonzero((self._measured > self._ceiling).any(axis=0)).astype(np.int32)

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) whether a load that ought to be known is not, or its peaks are not."""
        return np.asarray((self._unknown_load | self._unknown_peak).any(axis=0))

    def load_after(self) -> dict[str, FloatArray]:
        """Node reading name to the (nodes,) load of the working copy; NaN is unknown."""
        ratios = np.where(np.isnan(self._measured), np.nan, self._amounts) / self._capacity
        return {
            resource_target.load.name: row
            for resource_target, row in zip(self._resource_targets, ratios, strict=True)
        }

    def usage(self, pod: int) -> dict[str, float]:
        """Pod reading name to what the pod uses; unknown is left out."""
        return {
            resource_target.load.pod_name: float(self._used[row, pod])
            for row, resource_target in enumerate(self._resource_targets)
            if self._known[row, pod]
        }

    def measured_codes(self) -> None:
        """All findings come from readings."""

    def finding_ages(self) -> FloatArray:
        """(pods,) how long the load that each pod relieves most has been too high."""
        bound = np.flatnonzero(self._home >= 0).astype(np.int32)
        nodes = self._home[bound]
        removed = self._excess_removed(bound)
        held = np.full((len(self._resource_targets), len(bound)), np.nan)
        for row, resource_target in enumerate(self._resource_targets):
            if resource_target.heat is not None:
                begun = [node for of_row, node in self._begun if of_row == row]
                past, low = resource_target.load.range_samples, resource_target.low
                heat = heat_with_relief(resource_target.heat, past, low, begun)
                hot = np.where(self._hot[row], seconds_held(heat, self._span), np.nan)
                held[row] = np.where(self._freed[row, bound] > 0, hot[nodes], np.nan)
        of_resource = np.fmax.reduceat(held, self._begins, axis=0)
        answer = np.full(len(self._home), np.nan)
        answer[bound] = of_resource[removed.argmax(axis=0), np.arange(len(bound))]
        return answer

    def warnings(self) -> tuple[Problem, ...]:
        """The nodes that are left alone, by reading and reason."""
        answer = []
        for row, resource_target in enumerate(self._resource_targets):
            name = resource_target.load.name
            if self._unknown_load[row].any():
                text = f"{name} is not known of {self._node_names(self._unknown_load[row])}"
                answer.append(
                    Problem("RDG003", f"{text}; no pod leaves or goes there for its sake")
                )
            if self._unknown_peak[row].any():
                text = (
                    f"the peaks of {name} are not known of "
                    f"{self._node_names(self._unknown_peak[row])}"
                )
                answer.append(Problem("RDG003", f"{text}; no pod goes there for its sake"))
            if self._distrusted[row].any():
                text = f"{name} is not explained by {resource_target.load.pod_name} on "
                text += self._node_names(self._distrusted[row])
                answer.append(Problem("RDG010", f"{text}; its pods stay"))
        return tuple(answer)

    def _node_names(self, nodes: BoolArray) -> str:
        return list_names([self._names[node] for node in np.flatnonzero(nodes)], "node")

    def _sentence(self, row: int, node: int) -> str:
        resource_target = self._resource_targets[row]
        if self._unknown_load[row, node]:
            return f"{resource_target.load.name} is not known, and load would be moved here"
        capacity = self._capacity[row, node]
        load, limit = self._amounts[row, node] / capacity, self._limits[0, row, node] / capacity
        if not self._targeted[row, node]:
            return f"{resource_target.load.name} would be {load:.1%}, more than the node's capacity"
        hot = ""
        if self._pressed[row, node] and load > resource_target.floor[node]:
            hot = ", because tasks wait for it"
        elif resource_target.low[node] < resource_target.high[node]:
            hot = hot_or_not(
                resource_target.high[node], self._begun.get((row, node)), hot=self._hot[row, node]
            )
        return (
            f"{resource_target.load.name} is {load:.1%}, target {limit:.0%}{hot}"
            f"{self._too_many(row, node)}"
        )

    def _too_many(self, row: int, node: int) -> str:
        """How many of the node's pods would have to leave until it is at its target."""
        uses = self._used[row, (self._node == node) & (self._used[row] > 0)]
        above = self._amounts[row, node] - self._limits[0, row, node]
        return too_many(above, uses.sum(), len(uses), "its")

    def _departing_load(self, pods: IntArray) -> FloatArray:
        """(resource targets, k) what each pod frees when it leaves the node where it is now."""
        at_home = self._node[pods] == self._home[pods]
        return np.where(at_home, self._freed[:, pods], self._used[:, pods])

    @staticmethod
    def _flags_at(flags: BoolArray, nodes: IntArray) -> BoolArray:
        """(targets, k) the nodes' flags; the caller masks what means no node."""
        if flags.shape[1] == 0:
            return np.zeros((len(flags), len(nodes)), dtype=np.bool_)
        return flags[:, nodes]

    def _excess(self, amounts: FloatArray, limits: FloatArray) -> FloatArray:
        """Targets first: how far each amount is above its limits, on average, in units.

        limits: low and high, of the shape of the amounts each.
        """
        unit = self._unit.reshape(-1, *[1] * (amounts.ndim - 1))
        above = np.maximum(amounts - limits, 0.0)
        excess = np.asarray((above[0] + above[1]) / 2 / unit)
        # What the rounding of a pod's coming and going leaves behind is no load.
        excess[excess < _LEAST] = 0.0
        return excess

    def _resource_costs(self, amounts: FloatArray, limits: FloatArray) -> FloatArray:
        """(resources, k) from (resource targets, k)."""
        return np.maximum.reduceat(self._excess(amounts, limits), self._begins, axis=0)

    def _node_costs(self, amounts: FloatArray, limits: FloatArray) -> FloatArray:
        """(k,) from (resource targets, k)."""
        return np.asarray(self._resource_costs(amounts, limits).sum(axis=0))
