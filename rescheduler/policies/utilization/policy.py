"""Utilization: keep measured load of nodes below a target, balance it, or pack it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rescheduler.documents.field_problems import FieldPath, FieldWarning
from rescheduler.documents.fields import PositiveDuration, Ratio
from rescheduler.model.cluster.readings import BoolArray, FloatArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.loads.load import (
    BASE_LOAD,
    RESIDUAL,
    ResourceLoad,
    mean_share,
    read_load,
)
from rescheduler.policies.shared.loads.packing import PackingTerm
from rescheduler.policies.shared.loads.resource_target import ResourceTarget
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.policies.shared.node_signal import Signal, read_signal
from rescheduler.policies.utilization.combined_term import CombinedTerm
from rescheduler.policies.utilization.device_target import (
    DeviceTarget,
    bound_target,
    read_device_peaks,
)
from rescheduler.policies.utilization.device_term import DeviceTerm
from rescheduler.policies.utilization.node_groups import group_of_nodes, without_nodes
from rescheduler.policies.utilization.shared_gpus import read_shared_gpus, why_none_is_shared
from rescheduler.policies.utilization.targets import (
    FINDING_NOUNS,
    OF_GPUS,
    READINGS,
    Headroom,
    NodeGroup,
    PressedTarget,
    Target,
    Targets,
    link_speeds,
    readings_of,
)
from rescheduler.policies.utilization.utilization_examples import EXAMPLES


class Utilization(Policy):
    """Charge a node for the load above its target, in average pods.

    A node above `high` is hot, and gives pods away until it is at `low`. Load between `low` and
    `high` counts half, load above `high` counts in full, on every node, hot or not. With `low: 60%`
    and `high: 80%`, a node at 90% is charged half of the 20 points between them and all of the 10
    above, so 20% of its capacity. Where one cycle does not move enough, the next ones go on, for up
    to 6 hours after a move that still found the node hot. The unit is what those pods use on
    average that may be moved and use at least 1% of the largest node, wherever they run, so that
    the costs of two cycles can be compared.

    No pod is moved for this policy's sake to where it would most likely be too much for its node:
    above `high`, less what the node's peaks (`headroom`) and pods that were just bound (85% of the
    CPU and 70% of the memory that they ask for) take besides. Nodes that `nodes` leaves out, and
    those without a target of the resource, count as full at the lowest `high` that the policy
    gives. A node whose load is not known, or not explained by its pods (within 10% of the node
    below, and 10% of GPUs or 30% of all else above), gives no pods away, and takes none in if it is
    not known.

    GPUs are judged one by one, and only those that several pods may share (time-slicing, MPS,
    shared partitions, claims on one device): a pod that has a GPU or partition (MIG) to itself
    keeps it as busy wherever it goes. A pod that comes gets the device that the fewest pods have,
    as NVIDIA's device plugin does. A shared device's load is its pods' by their own series, else by
    the capacity that their claims consume, else in equal parts; where nobody reports who has which
    device, no pod leaves the node for its sake (RDG012). `wholeDevices: Count`, and `strategy:
    Pack`, take the mean of all GPUs of a node: for power, heat or network behind them.

    `strategy: Balance` lowers the targets to the mean of the nodes, each weighed by its size: a
    node more than `tolerance` above the mean gives pods away, down to the mean, to others that
    `nodes` selects. `maxHotShare` of the Limits counts only those above `high` itself.

    `strategy: Pack` also charges 1.0 for each pod on a node that shall become empty, and for each
    pod that would land on an empty node. Cold nodes are chosen, those with the fewest pods first,
    if every pod of the node may be evicted (by PodDisruptionBudgets and our own Limits) and would
    land on another node that stays in use, below `high`, when the others have left before it. No
    pod is moved on that the rescheduler has moved, as long as it remembers its moves. With the
    scheduler's default of filling the emptiest node first, pods come back and no node is freed: it
    must score by `MostAllocated`, or the nodes be tainted. A node that becomes cold adds its pods
    to the cost.

    With `stableFor`, a pod is moved only if the load that its move lowers most has been too high
    for that long, and what the move has brought is measured against what the node reads otherwise.
    Without it, a peak that passes by itself counts as a gain: give it a few times `window`.
    Sources: descheduler's deviation thresholds; koordinator's estimator.
    """

    summary: ClassVar[str] = (
        "Keep the measured load of GPUs, CPU, memory and network of each node below a target, "
        "balance it, or pack it onto fewer nodes."
    )
    codes: ClassVar[tuple[str, ...]] = ("UTL", "RDG003", "RDG010", "RDG012")
    finding_nouns: ClassVar = FINDING_NOUNS
    examples: ClassVar = EXAMPLES
    subject: ClassVar[Subject] = "nodes"

    kind: Literal["Utilization"] = "Utilization"
    nodes: NodeMatch = Field(description="The nodes to evaluate.")
    match: Match = Field(description="The pods that may be moved. Every pod's load counts.")
    targets: Targets = Field(description="What is too full, by resource; at least one.")
    groups: list[NodeGroup] = Field(
        default_factory=list,
        description="Nodes with other targets; of several groups the first that selects a node "
        "counts.",
    )
    strategy: Literal["Relieve", "Balance", "Pack"] = Field(
        "Relieve",
        description="Relieve: hot nodes give pods away. Balance: so do nodes far above the mean. "
        "Pack: so do cold nodes, until they are free.",
    )
    tolerance: Ratio = Field(
        0.1, description="With `Balance`: how far a node may be above the mean."
    )
    cold: Ratio = Field(
        0.3, description="With `Pack`: a node below this in every resource is cold."
    )
    wholeDevices: Literal["Ignore", "Count"] = Field(
        "Ignore",
        description="GPUs that one pod has to itself. Ignore: their load is nobody else's trouble, "
        "and a move would take it along. Count: the node is hot by the mean of all its GPUs, for "
        "what they share: power, cooling, network.",
    )
    headroom: Headroom | None = Field(
        None, description="Room for peaks on the nodes where pods go. None is left unless given."
    )
    window: PositiveDuration = Field(
        timedelta(minutes=5), description="Over what time the load is averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of nodes and of pods that must have a value; with less, the policy "
        "is not evaluated.",
    )

    def warnings(self) -> Iterator[FieldWarning]:
        """Targets with which a node is cold, and to be freed, while it is hot."""
        said = "cold" in self.model_fields_set
        for at, targets in self._targets() if self.strategy == "Pack" else ():
            yield from targets.colder_than_hot(at, self.cold, said=said)

    def _targets(self) -> Iterator[tuple[FieldPath, Targets]]:
        """Its own and those of its groups, each with the field that has them."""
        yield ("targets",), self.targets
        yield from (
            (("groups", i, "targets"), group.targets) for i, group in enumerate(self.groups)
        )

    def requests(self) -> list[ReadingRequest]:
        """The node's and the pods' readings of every resource with a target."""
        requests: list[ReadingRequest] = []
        for resource in self._resources():
            for reading in readings_of(resource):
                pair = self._pair(reading)
                requests += pair[:1] if self._by_device(resource) else pair
                requests += [self._peak(reading)] if self.headroom else []
            requests += [self._pressure(resource)] if self._has_pressure(resource) else []
        return requests

    def unreachable(self) -> Iterator[str]:
        """Targets that no load can be above, and thresholds that no node is beyond."""
        if self.strategy == "Balance" and self.tolerance >= 1:
            yield "tolerance: no node is more than 100% above the mean"
        if self.strategy == "Pack" and self.cold <= 0:
            yield "cold: no load is below 0%, so no node is ever freed"
        for at, targets in self._targets():
            name = ".".join(map(str, at))
            yield from targets.unreachable(name) if self.strategy == "Relieve" else ()
            yield from targets.pressed_in_vain(name)

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """The groups without a node that has the targets; targets of GPUs, if each has one pod."""
        yield from without_nodes(self.groups, self.nodes, snapshot)
        for resource in filter(self._by_device, self._resources()):
            yield from why_none_is_shared(resource, snapshot, select_nodes(self.nodes, snapshot))

    def wider(self) -> Iterator[tuple[str, str]]:
        """GPUs that one pod has to itself."""
        if any(map(self._by_device, self._resources())):
            yield "wholeDevices", "Count"

    def without_effect(self) -> Iterator[str]:
        """Besides, fields of another strategy."""
        yield from super().without_effect()
        if "wholeDevices" in self.model_fields_set and not OF_GPUS & set(self._resources()):
            yield "no target is of GPUs, so wholeDevices has no effect"
        for field, strategy in (("tolerance", "Balance"), ("cold", "Pack")):
            if field in self.model_fields_set and self.strategy != strategy:
                yield f"strategy is {self.strategy}, so {field} has no effect"

    def compile(self, snapshot: Snapshot) -> UtilizationTerm | DeviceTerm | CombinedTerm | Problem:
        """The term, or the problem of the first reading that is not fit to act on."""
        selected = select_nodes(self.nodes, snapshot)
        matched = select_pods(self.match, snapshot)
        group_of = group_of_nodes(self.groups, snapshot)
        resource_targets: list[ResourceTarget] = []
        parts: list[UtilizationTerm | DeviceTerm] = []
        for resource in self._resources():
            wanted = selected & ~np.isnan(self._values(resource, group_of, "high"))
            if self._by_device(resource):
                part = self._shared_gpus(snapshot, resource, group_of, wanted, matched)
                if isinstance(part, Problem):
                    return part
                parts.append(part)
                continue
            pressed = self._read_pressure(snapshot, resource, group_of, wanted)
            if isinstance(pressed, Problem):
                return pressed
            for reading in readings_of(resource):
                residual = RESIDUAL.get(resource, BASE_LOAD)
                load = read_load(snapshot, self._pair(reading), wanted, residual)
                if isinstance(load, Problem):
                    return load
                hidden = self._read_peaks(snapshot, reading, load, wanted)
                if isinstance(hidden, Problem):
                    return hidden
                high, low = self._band(resource, group_of, load, wanted)
                made = ResourceTarget(
                    resource,
                    load,
                    high,
                    low,
                    pressed,
                    floor=self._values(resource, group_of, "floor"),
                    hidden=hidden,
                    ceiling=self._values(resource, group_of, "high"),
                    elsewhere=self._limit_elsewhere(resource),
                    heat=self._heat(snapshot, resource, group_of, load, wanted),
                )
                resource_targets.append(made)
        if self.strategy == "Pack":
            return PackingTerm(snapshot, resource_targets, selected, matched, self.cold, self.span)
        if resource_targets:
            term = UtilizationTerm(snapshot, resource_targets, selected, matched, self.span)
            parts.insert(0, term)
        return parts[0] if len(parts) == 1 else CombinedTerm(parts)

    @property
    def frees_nodes(self) -> bool:
        """Whether cold nodes are emptied."""
        return self.strategy == "Pack"

    def _by_device(self, resource: str) -> bool:
        """Whether only the devices count that pods share, each for itself."""
        return resource in OF_GPUS and not self.frees_nodes and self.wholeDevices == "Ignore"

    def _shared_gpus(
        self,
        snapshot: Snapshot,
        resource: str,
        group_of: list[int],
        wanted: BoolArray,
        matched: BoolArray,
    ) -> DeviceTerm | Problem:
        (reading,) = READINGS[resource]
        gpus = read_shared_gpus(snapshot, self._pair(reading)[0], wanted)
        if isinstance(gpus, Problem):
            return gpus
        hidden: FloatArray | Problem = np.zeros(len(gpus.node))
        if self.headroom is not None:
            hidden = read_device_peaks(snapshot, self._peak(reading), gpus, wanted)
        if isinstance(hidden, Problem):
            return hidden
        target = DeviceTarget(
            resource,
            self._values(resource, group_of, "high"),
            self._values(resource, group_of, "bottom"),
            self._values(resource, group_of, "high"),
            self._limit_elsewhere(resource),
            hidden,
            None,
        )
        balance = (self.tolerance, self.minCoverage) if self.strategy == "Balance" else None
        target = bound_target(target, gpus, wanted, balance)
        return DeviceTerm(snapshot, gpus, target, wanted, matched, self.span)

    def _resources(self) -> list[str]:
        """The resources that some node has a target for."""
        named = {r for target in self._all_targets() for r, _ in target.by_resource()}
        built_in = [resource for resource in READINGS if resource in named]
        return [*built_in, *sorted(named - set(READINGS))]

    def _all_targets(self) -> list[Targets]:
        return [self.targets, *(group.targets for group in self.groups)]

    def _limit_elsewhere(self, resource: str) -> float:
        """Up to what share pods may fill nodes without a target: the lowest `high` of any node.

        With `Balance` not at all: the mean is that of the nodes with a target, and stays theirs.
        """
        if self.strategy == "Balance":
            return 0.0
        targets = [target.target_of(resource) for target in self._all_targets()]
        return min(target.high for target in targets if target is not None)

    def _has_pressure(self, resource: str) -> bool:
        targets = [target.target_of(resource) for target in self._all_targets()]
        return any(isinstance(t, PressedTarget) and t.pressure is not None for t in targets)

    def _values(self, resource: str, group_of: list[int], what: str) -> FloatArray:
        """(nodes,) that field of each node's target; NaN where it has none."""
        targets = [target.target_of(resource) for target in self._all_targets()]
        values = [_value(target, what) for target in targets]
        return np.array([values[group] for group in group_of], dtype=np.float64)

    def _band(
        self, resource: str, group_of: list[int], load: ResourceLoad, wanted: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """(nodes,) where a node is hot, and what it is then drained down to."""
        high = self._values(resource, group_of, "high")
        low = self._values(resource, group_of, "bottom")
        if self.strategy != "Balance":
            return high, low
        mean = mean_share(load.measured / load.capacity, load.capacity, wanted, 0.0)
        return np.minimum(high, mean + self.tolerance), np.minimum(low, mean)

    def _heat(
        self,
        snapshot: Snapshot,
        resource: str,
        group_of: list[int],
        load: ResourceLoad,
        wanted: BoolArray,
    ) -> BoolArray | None:
        """(instants, nodes) whether each node was hot in the past; None where that is not known."""
        if load.range_samples is None:
            return None
        high = np.broadcast_to(self._values(resource, group_of, "high"), load.range_samples.shape)
        if self.strategy == "Balance":
            shares, least = load.range_samples, self.minCoverage
            means = np.array([mean_share(share, load.capacity, wanted, least) for share in shares])
            high = np.minimum(high, means[:, None] + self.tolerance)
        hot = load.range_samples > high
        if self._has_pressure(resource):
            waits = snapshot.readings.find(self._pressure(resource))
            if waits is None or waits.range_samples is None:
                return np.asarray(hot)
            pressed = waits.range_samples > self._values(resource, group_of, "pressure")
            hot = hot | (pressed & (load.range_samples > self._values(resource, group_of, "floor")))
        return np.asarray(hot)

    def _read_pressure(
        self, snapshot: Snapshot, resource: str, group_of: list[int], wanted: BoolArray
    ) -> BoolArray | Problem:
        """(nodes,) whether tasks wait for the resource too long; where it is not known, not."""
        if not self._has_pressure(resource):
            return np.zeros(len(snapshot.nodes), dtype=np.bool_)
        limit = self._values(resource, group_of, "pressure")
        scope = wanted & ~np.isnan(limit)
        signal = read_signal(snapshot, self._pressure(resource), scope, highest=1.05)
        if isinstance(signal, Problem):
            return signal
        return np.asarray(scope & (np.nan_to_num(signal.values) > np.nan_to_num(limit, nan=2.0)))

    def _read_peaks(
        self, snapshot: Snapshot, reading: str, load: ResourceLoad, wanted: BoolArray
    ) -> FloatArray | Problem:
        """(nodes,) what each node's peaks take beyond its mean, as a share; NaN is not known."""
        if self.headroom is None:
            return np.zeros(len(snapshot.nodes))
        signal: Signal | Problem = read_signal(snapshot, self._peak(reading), wanted, highest=1.1)
        if isinstance(signal, Problem):
            return signal
        return np.maximum(signal.values - load.measured / load.capacity, 0.0)

    def _pair(self, reading: str) -> tuple[ReadingRequest, ReadingRequest]:
        node = self._request(f"node.{reading}", span=self.span)
        return node, self._request(f"pod.{reading}")

    def _pressure(self, resource: str) -> ReadingRequest:
        return self._request(f"node.{resource}.pressure", span=self.span)

    def _peak(self, reading: str) -> ReadingRequest:
        window = (self.headroom or Headroom()).window
        return self._request(f"node.{reading}.peak", window)

    def _request(
        self, name: str, window: timedelta | None = None, span: float = 0.0
    ) -> ReadingRequest:
        quality: dict[str, Any] = {
            "window": (window or self.window).total_seconds(),
            "max_age": self.maxAge.total_seconds(),
            "min_coverage": self.minCoverage,
            "span": span,
            "links": link_speeds(self.targets, self.groups) if "node.network." in name else (),
        }
        return ReadingRequest(name, **quality)


def _value(target: Target | None, what: str) -> float:
    value: float | None = getattr(target, what, None)
    return np.nan if value is None else value
