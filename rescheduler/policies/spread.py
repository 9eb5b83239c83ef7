"""Spread: keep the pods of one workload evenly over the domains of a topology."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from rescheduler.model.finding import Finding
from rescheduler.model.move import Shift
from rescheduler.model.objects import PodSpec
from rescheduler.model.readings import BoolArray, FloatArray, IntArray, Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.workload import Workload
from rescheduler.policies import skew
from rescheduler.policies.acceptance import Acceptance
from rescheduler.policies.base import Match, NodeMatch, Policy
from rescheduler.policies.matching import select_nodes, select_pods

OUTSIDE = -1
"""The place of a pod that is in no domain that counts for its workload."""

_BOUND_TO_NODES = frozenset({"DaemonSet", "Node"})
"""Owners whose pods belong to their node: spreading them has no meaning."""


class Spread(Policy):
    """Charge a workload 1.0 for every pod that must move before its skew is `maxSkew` or less.

    The skew is the highest count of a domain less the lowest, as in the topology spread API; the
    cost is the fewest single moves that bring it down. A domain counts, with 0 pods if it is empty,
    when one of its nodes is Ready, not cordoned, and accepted by the workload's own nodeSelector,
    required node affinity and tolerations. Pods that are being deleted, DaemonSets and pods without
    an owner are not counted; nor are pods on nodes outside of every such domain, but moving a pod
    out there is charged 1.0.
    """

    summary: ClassVar[str] = "Keep the pods of each workload evenly over zones, racks or nodes."

    kind: Literal["Spread"] = "Spread"
    match: Match = Field(description="The pods to look at; each workload is judged by itself.")
    topologyKey: str = Field(
        "topology.kubernetes.io/zone",
        min_length=1,
        description="The node label whose values are the domains.",
    )
    maxSkew: int = Field(
        1,
        ge=1,
        le=10_000,
        description="How many more pods than the emptiest domain a domain may hold.",
    )
    nodes: NodeMatch = Field(
        default_factory=lambda: NodeMatch(all=True),
        description="The nodes whose domains count. All, unless narrowed.",
    )

    def compile(self, snapshot: Snapshot) -> "SpreadTerm":
        """The term for this snapshot; spreading needs no readings, so it always has a say."""
        return SpreadTerm(self, snapshot)


@dataclass(slots=True)
class _Group:
    """The matched pods of one workload.

    places: pods by domain, OUTSIDE included.
    counted: (domains + 1,) which domains it may use; the last stands for OUTSIDE and is False.
    outside: how many of its pods were outside in the snapshot, which is nobody's fault.
    changes, cost, candidates: what was worked out since the last move of one of the pods.
    """

    workload: Workload
    pods: IntArray
    counted: BoolArray
    places: Counter[int]
    outside: int = 0
    changes: dict[int | None, dict[int, int]] = field(default_factory=dict)
    cost: int | None = None
    candidates: IntArray | None = None


class SpreadTerm:
    """Spread on one snapshot.

    A domain counts for a workload if at least one of its nodes is Ready, not cordoned, looked at by
    the policy, and accepted by the pods' nodeSelector, required node affinity and tolerations. An
    empty zone that came back counts at once, with 0 pods; a zone that is down does not.

    Pods on nodes in no such domain are not counted. But a move that takes a pod out of the domains
    is charged 1.0, so that no gain can come from hiding pods there.
    """

    def __init__(self, policy: Spread, snapshot: Snapshot) -> None:
        self._allowed = policy.maxSkew
        self._key = policy.topologyKey
        self._snapshot = snapshot
        self._node = snapshot.pod_node.copy()
        labels = [node.metadata.labels or {} for node in snapshot.nodes]
        self._domains = sorted({each[self._key] for each in labels if self._key in each})
        index = {name: number for number, name in enumerate(self._domains)}
        self._domain = np.array(
            [*(index.get(each.get(self._key, ""), OUTSIDE) for each in labels), OUTSIDE],
            dtype=np.int32,
        )
        self._group = np.full(len(snapshot.pods), -1, dtype=np.int32)
        self._groups: list[_Group] = []
        self._gather(select_pods(policy.match, snapshot), select_nodes(policy.nodes, snapshot))

    def cost(self) -> float:
        """Pods that must move, over all workloads."""
        return float(sum(self._cost(group) for group in self._groups))

    def worst(self) -> float:
        """The cost if every workload sat in one domain."""
        total = 0
        for group in self._groups:
            counts = np.zeros(int(group.counted.sum()), dtype=np.int64)
            counts[:1] = len(group.pods)
            total += skew.moves_needed(counts, self._allowed)
        return float(total)

    def scope(self) -> int:
        """How many pods are looked at."""
        return sum(len(group.pods) for group in self._groups)

    def candidates(self) -> IntArray:
        """The pods whose best move lowers the cost."""
        found = [self._candidates(group) for group in self._groups if self._cost(group)]
        if not found:
            return np.empty(0, dtype=np.int32)
        return np.sort(np.concatenate(found))

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes: -1, 0 or 1."""
        if self._group[pod] < 0:
            return np.zeros(len(nodes))
        group = self._groups[self._group[pod]]
        source = self._place(group, int(self._node[pod]))
        change = self._changes(group, source)
        counts = np.full(len(self._domains) + 1, OUTSIDE, dtype=np.int64)
        counts[group.counted] = self._counts(group)
        table = np.zeros(int(counts.max()) + 2)  # its last entry is for OUTSIDE
        for count, value in change.items():
            table[count] = value
        places = self._places(group, nodes)
        return np.where(places == source, 0.0, table[counts[places]])

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        if self._group[shift.pod] < 0:
            return
        group = self._groups[self._group[shift.pod]]
        group.places[self._place(group, shift.source)] -= 1
        group.places[self._place(group, shift.destination)] += 1
        group.changes.clear()
        group.cost = group.candidates = None

    def findings(self) -> Iterator[Finding]:
        """One finding per workload and domain that must give pods away."""
        for group in self._groups:
            if not self._cost(group):
                continue
            counts = self._counts(group)
            numbers = np.flatnonzero(group.counted)
            gives = skew.surplus(counts, self._allowed)
            places = self._places(group, self._node[group.pods])
            for slot in np.flatnonzero(gives):
                domain = self._domains[numbers[slot]]
                yield Finding(
                    code="SPR001",
                    subject=f"{_named(group.workload)} in {self._key}={domain}",
                    cost=float(gives[slot]),
                    message=(
                        f"holds {counts[slot]} of {counts.sum()} pods; the {len(counts)} domains "
                        f"hold {counts.min()} to {counts.max()} and maxSkew is {self._allowed}, "
                        f"so {gives[slot]} must leave"
                    ),
                    pods=tuple(int(pod) for pod in group.pods[places == numbers[slot]]),
                )
            if departed := self._departed(group):
                yield Finding(
                    code="SPR002",
                    subject=_named(group.workload),
                    cost=float(departed),
                    message=f"{departed} more pods than before are outside of the domains",
                    pods=tuple(int(pod) for pod in group.pods[places == OUTSIDE]),
                )

    def remarks(self) -> tuple[Problem, ...]:
        """How many pods of how many workloads are on nodes that are in no domain that counts."""
        outside = [group for group in self._groups if group.outside]
        if not outside:
            return ()
        pods = sum(group.outside for group in outside)
        first = _named(outside[0].workload)
        message = (
            f"{pods} pods of {len(outside)} workloads ({first} first) run on nodes that are in no "
            f"domain of {self._key} that their workload could use; they are not counted"
        )
        return (Problem("SPR002", message),)

    def _gather(self, matched: BoolArray, looked_at: BoolArray) -> None:
        members: dict[int, list[int]] = {}
        for pod in np.flatnonzero(matched & (self._node >= 0) & (self._snapshot.pod_workload >= 0)):
            workload = int(self._snapshot.pod_workload[pod])
            leaving = self._snapshot.pods[pod].metadata.deletionTimestamp is not None
            if not leaving and self._snapshot.workloads[workload].kind not in _BOUND_TO_NODES:
                members.setdefault(workload, []).append(int(pod))
        acceptance = Acceptance(self._snapshot)
        by_shapes: dict[frozenset[bytes], BoolArray] = {}
        for workload, pods in members.items():
            specs = {acceptance.shape(spec): spec for spec in self._specs(pods)}
            shapes = frozenset(specs)
            if shapes not in by_shapes:
                counted = np.zeros(len(self._domains) + 1, dtype=np.bool_)
                for spec in specs.values():
                    usable = acceptance.nodes(spec) & looked_at
                    counted[self._domain[:-1][usable]] = True
                counted[OUTSIDE] = False
                by_shapes[shapes] = counted
            group = _Group(
                self._snapshot.workloads[workload],
                np.array(pods, dtype=np.int32),
                by_shapes[shapes],
                Counter(),
            )
            group.places.update(self._places(group, self._node[group.pods]).tolist())
            group.outside = group.places[OUTSIDE]
            self._group[group.pods] = len(self._groups)
            self._groups.append(group)

    def _specs(self, pods: list[int]) -> Iterator[PodSpec]:
        return (self._snapshot.pods[pod].spec for pod in pods)

    def _places(self, group: _Group, nodes: IntArray) -> IntArray:
        """(k,) the domain of each node, OUTSIDE where it is in none that counts."""
        domains = self._domain[nodes]
        return np.where(group.counted[domains], domains, OUTSIDE)

    def _place(self, group: _Group, node: int) -> int:
        return int(self._places(group, np.array([node], dtype=np.int32))[0])

    def _counts(self, group: _Group) -> skew.Counts:
        """(counted domains,) the pods in each domain that counts, in order of the domains."""
        counts = np.zeros(len(self._domains), dtype=np.int64)
        for place, pods in group.places.items():
            if place != OUTSIDE:
                counts[place] = pods
        return counts[group.counted[:-1]]

    def _departed(self, group: _Group) -> int:
        return max(0, group.places[OUTSIDE] - group.outside)

    def _cost(self, group: _Group) -> int:
        if group.cost is None:
            needed = skew.moves_needed(self._counts(group), self._allowed)
            group.cost = needed + self._departed(group)
        return group.cost

    def _candidates(self, group: _Group) -> IntArray:
        if group.candidates is None:
            places = self._places(group, self._node[group.pods])
            helps = [
                place
                for place in group.places
                if group.places[place] and min(self._changes(group, place).values()) < 0
            ]
            group.candidates = group.pods[np.isin(places, helps)]
        return group.candidates

    def _changes(self, group: _Group, source: int) -> dict[int, int]:
        """`skew.changes` for a pod that leaves this place, with the charge for leaving."""
        held = None if source == OUTSIDE else group.places[source]
        if held not in group.changes:
            change = skew.changes(self._counts(group), self._allowed, held)
            outside = group.places[OUTSIDE] - group.outside
            if held is None:
                relief = 1 if outside > 0 else 0
                change = {count: value - relief for count, value in change.items()}
                change[OUTSIDE] = 0
            else:
                change[OUTSIDE] += 1 if outside >= 0 else 0
            group.changes[held] = change
        return group.changes[held]


def _named(workload: Workload) -> str:
    return f"{workload.kind} {workload.namespace}/{workload.name}"
