"""Whose pods are counted together, and over which domains: the domain counts of a Spread."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec
import numpy as np

from rescheduler.kube.objects import (
    LabelSelector,
    Pod,
    PodSpec,
    TopologySpreadConstraint,
)
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.pods.spread_selectors import selects_everybody, spread_selector
from rescheduler.kube.selectors import matches
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_pods
from rescheduler.policies.spread.domain_counts import DomainCounts, EligibleDomains
from rescheduler.policies.spread.follower_counts import Following
from rescheduler.policies.spread.node_inclusion import HARD, Keys, NodeInclusion, Tier
from rescheduler.policies.spread.skew import SkewBounds

GroupBy = Literal["Workload", "Gang", "Match"]

SOFT = 0.5
"""What a pod too many costs where the constraint is ScheduleAnyway."""

_BOUND_TO_NODES = frozenset({"DaemonSet", "Node"})
"""Owners whose pods belong to their node: spreading them has no meaning."""

_Key = tuple[str, ...]
_Values = tuple[str | None, ...]


class DeclaredTier(Tier, Protocol):
    """What only a policy can declare."""

    @property
    def maxPerDomain(self) -> int | None: ...  # noqa: D102, N802
    @property
    def matchLabelKeys(self) -> list[str]: ...  # noqa: D102, N802
    @property
    def within(self) -> str | None: ...  # noqa: D102
    @property
    def follow(self) -> Match | None: ...  # noqa: D102


@dataclass(slots=True)
class SpreadCounts:
    """All domain counts, and the pods whose moves change each of them.

    of_pod: pod to the numbers of its domain counts. led_by: leader to the domain counts that follow
    it.
    """

    spread_counts: list[DomainCounts] = field(default_factory=list)
    of_pod: dict[int, tuple[int, ...]] = field(default_factory=dict)
    led_by: dict[int, tuple[Following, ...]] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()

    def add(self, domain_counts: DomainCounts, at: IntArray) -> None:
        """Count one more; at: (pods of the snapshot,) their nodes."""
        domain_counts.start(at[domain_counts.pods])
        number = (len(self.spread_counts),)
        if isinstance(domain_counts, Following):
            domain_counts.number = len(self.spread_counts)
        self.spread_counts.append(domain_counts)
        numbers: dict[tuple[int, ...], tuple[int, ...]] = {}
        for pod in domain_counts.pods.tolist():
            before = self.of_pod.get(pod, ())
            self.of_pod[pod] = numbers.setdefault(before, before + number)


def _keys(tiers: Iterable[Tier]) -> Keys:
    """Of constraints of one action the keys, by action: a node counts where it has them all."""
    keys_by_action: dict[str, set[str]] = {}
    for tier in tiers:
        keys_by_action.setdefault(tier.whenUnsatisfiable, set()).add(tier.topologyKey)
    return {action: tuple(sorted(keys)) for action, keys in keys_by_action.items()}


def declared_counts(
    match: Match,
    nodes: NodeMatch,
    group_by: GroupBy,
    tiers: Sequence[DeclaredTier],
    snapshot: Snapshot,
) -> SpreadCounts:
    """The domain counts of the constraints that a policy declares."""
    made = SpreadCounts()
    inclusion = NodeInclusion(nodes, snapshot)
    keys = _keys(tiers)
    leaders = [_leaders(tier.follow, snapshot) for tier in tiers]
    led_by: dict[int, list[Following]] = {}
    for (name, *_), pods in _groups(match, group_by, snapshot).items():
        each_tier = zip(tiers, weights(len(tiers)), leaders, strict=True)
        for number, (tier, weight, leading) in enumerate(each_tier):
            for values, part in _parts(pods, tier.matchLabelKeys, snapshot):
                specs = {id(spec): spec for spec in (snapshot.pods[pod].spec for pod in part)}
                there = inclusion.find_domains(specs.values(), tier, keys, tier.within)
                domain_counts = _domain_counts(name, there, tier, part, weight, tier.maxPerDomain)
                domain_counts.aspect = " ".join([f"tier {number}", *map(str, values)])
                domain_counts.closed = inclusion.closed_domains(specs.values(), there)
                if leading is not None:
                    ahead = leading[~np.isin(leading, domain_counts.pods)]
                    domain_counts = _make_following(domain_counts, ahead, snapshot)
                    for pod in ahead.tolist():
                        led_by.setdefault(pod, []).append(domain_counts)
                made.add(domain_counts, snapshot.pod_node)
    made.led_by = {pod: tuple(led) for pod, led in led_by.items()}
    return made


def weights(tiers: int) -> list[float]:
    """Of each tier, twice that of the next; they sum to 1."""
    return [2.0 ** (tiers - 1 - tier) / (2**tiers - 1) for tier in range(tiers)]


def _domain_counts(
    name: str,
    there: EligibleDomains,
    tier: Tier,
    pods: Sequence[int],
    weight: float,
    cap: int | None = None,
) -> DomainCounts:
    few = tier.minDomains is not None and len(there.names) < tier.minDomains
    hard = tier.whenUnsatisfiable == HARD
    return DomainCounts(
        name,
        there,
        SkewBounds(tier.maxSkew, floored=few and cap is None, cap=cap),
        np.array(pods, dtype=np.int32),
        weight if hard else weight * SOFT,
    )


def _make_following(
    domain_counts: DomainCounts, leaders: IntArray, snapshot: Snapshot
) -> Following:
    made = Following(
        domain_counts.name,
        domain_counts.eligible_domains,
        domain_counts.rule,
        domain_counts.pods,
        domain_counts.weight,
        domain_counts.aspect,
        domain_counts.closed,
    )
    made.leaders.update(domain_counts.eligible_domains.codes[snapshot.pod_node[leaders]].tolist())
    return made


def _leaders(follow: Match | None, snapshot: Snapshot) -> IntArray | None:
    if follow is None:
        return None
    return _staying_pods(select_pods(follow, snapshot), snapshot)


def _staying_pods(chosen: BoolArray, snapshot: Snapshot) -> IntArray:
    """The chosen pods that are on a node and not being deleted."""
    return np.flatnonzero(chosen & (snapshot.pod_node >= 0) & ~snapshot.leaving).astype(np.int32)


def _groups(match: Match, group_by: GroupBy, snapshot: Snapshot) -> dict[_Key, list[int]]:
    """Pods by their group: its name as people write it, and what distinguishes it from others."""
    groups: dict[_Key, list[int]] = {}
    named: dict[int, _Key] = {}
    owners = snapshot.pod_workload.tolist()
    for pod in _staying_pods(select_pods(match, snapshot), snapshot).tolist():
        workload = owners[pod]
        gang = snapshot.gangs.gang_of(pod) if group_by == "Gang" else None
        if gang is None and workload < 0:
            continue
        if workload >= 0 and snapshot.workloads[workload].kind in _BOUND_TO_NODES:
            continue
        key = (f"gang {gang.name}", gang.mark) if gang else named.get(workload)
        if key is None:
            workload_object = snapshot.workloads[workload]
            key = (
                f"{workload_object.kind} {workload_object.namespace}/{workload_object.name}",
                workload_object.uid,
                workload_object.controller_kind,
            )
            named[workload] = key
        groups.setdefault(("all matching pods",) if group_by == "Match" else key, []).append(pod)
    return groups


def _parts(
    pods: list[int], keys: Sequence[str], snapshot: Snapshot
) -> Iterable[tuple[_Values, list[int]]]:
    """The pods of a group that agree in the values of these labels."""
    if not keys:
        return [((), pods)]
    parts: dict[_Values, list[int]] = {}
    for pod in pods:
        labels = snapshot.pods[pod].metadata.labels or {}
        parts.setdefault(tuple(labels.get(key) for key in keys), []).append(pod)
    return parts.items()


@dataclass(slots=True)
class _Shared:
    """A constraint that pods of one namespace have in common.

    specs: of those that have it, with how many pods, by the domains that count for them.
    """

    namespace: str
    constraint: TopologySpreadConstraint
    selector: LabelSelector
    specs: dict[EligibleDomains, dict[int, tuple[PodSpec, int]]] = field(default_factory=dict)
    weight: float = 0.0

    def add(self, there: EligibleDomains, spec: PodSpec, pods: int) -> None:
        """Note that so many more pods of that spec have it."""
        specs = self.specs.setdefault(there, {})
        specs[id(spec)] = (spec, pods + specs.get(id(spec), (spec, 0))[1])

    def parts(self) -> Iterator[tuple[EligibleDomains, list[PodSpec], float]]:
        """Pods with other domains are evaluated apart; they share the weight by their number."""
        pods = {there: sum(count for _, count in of.values()) for there, of in self.specs.items()}
        for there, of in self.specs.items():
            share = pods[there] / sum(pods.values())
            yield there, [spec for spec, _ in of.values()], self.weight * share


def from_pods(
    match: Match, nodes: NodeMatch, snapshot: Snapshot, *, hard: bool = False
) -> SpreadCounts:
    """The domain counts of the matched pods' constraints; hard: without the soft ones."""
    everyone = _staying_pods(np.ones(len(snapshot.pods), dtype=np.bool_), snapshot)
    chosen = select_pods(match, snapshot)
    groups = LabelGroups(snapshot.pods, everyone)
    inclusion = NodeInclusion(nodes, snapshot)
    shared_constraints: dict[bytes, _Shared] = {}
    others = 0
    for pod, count in _distinct(everyone[chosen[everyone]], snapshot.pods):
        ranked = _rank_constraints(pod.spec.topologySpreadConstraints or [], inclusion)
        if hard:
            ranked = [
                topology_spread_constraint
                for topology_spread_constraint in ranked
                if topology_spread_constraint.whenUnsatisfiable == HARD
            ]
        keys = _keys(ranked)
        for topology_spread_constraint, weight in zip(ranked, weights(len(ranked)), strict=True):
            selector = _selector(topology_spread_constraint, pod.metadata.labels or {})
            if selector is None or not matches(selector, pod.metadata.labels):
                others += 1
                continue
            key = msgspec.msgpack.encode(
                (pod.metadata.namespace, selector, topology_spread_constraint)
            )
            shared = shared_constraints.setdefault(
                key, _Shared(pod.metadata.namespace, topology_spread_constraint, selector)
            )
            shared.add(
                inclusion.find_domains([pod.spec], topology_spread_constraint, keys),
                pod.spec,
                count,
            )
            shared.weight = max(shared.weight, weight)
    made = SpreadCounts()
    for shared in shared_constraints.values():
        pods = np.sort(groups.select(shared.selector, frozenset({shared.namespace}))).tolist()
        for there, specs, weight in shared.parts():
            domain_counts = _domain_counts(
                _name(pods[0], snapshot), there, shared.constraint, pods, weight
            )
            # With the values of `matchLabelKeys`, which the constraint does not have.
            constraint = msgspec.structs.replace(shared.constraint, labelSelector=shared.selector)
            domain_counts.aspect = inclusion.identity(constraint, specs)
            domain_counts.closed = inclusion.closed_domains(specs, there)
            domain_counts.departures = len(shared.specs) == 1
            made.add(domain_counts, snapshot.pod_node)
    if others:
        message = f"{others} constraints do not select the pods that have them; they are left alone"
        made.warnings = (Problem("SPR003", message),)
    return made


def _name(pod: int, snapshot: Snapshot) -> str:
    workload = int(snapshot.pod_workload[pod])
    if workload < 0:
        return f"Pod {snapshot.pods[pod].key}"
    workload_object = snapshot.workloads[workload]
    return f"{workload_object.kind} {workload_object.namespace}/{workload_object.name}"


def _distinct(chosen: IntArray, pods: Sequence[Pod]) -> Iterable[tuple[Pod, int]]:
    """One pod of each spec and labels, of those with constraints, and how many there are of it."""
    counts: Counter[tuple[int, int, str]] = Counter()
    first: dict[tuple[int, int, str], Pod] = {}
    for number in chosen.tolist():
        pod = pods[number]
        if pod.spec.topologySpreadConstraints:
            metadata = pod.metadata
            identity = (id(pod.spec), id(metadata.labels), metadata.namespace)
            counts[identity] += 1
            first.setdefault(identity, pod)
    return [(pod, counts[identity]) for identity, pod in first.items()]


def _rank_constraints(
    constraints: Sequence[TopologySpreadConstraint], inclusion: NodeInclusion
) -> list[TopologySpreadConstraint]:
    """From few domains to many; of equals, hard before soft, then in their order."""
    return sorted(
        constraints,
        key=lambda constraint: (
            len(inclusion.labels.column(constraint.topologyKey).values),
            constraint.whenUnsatisfiable != HARD,
        ),
    )


def _selector(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> LabelSelector | None:
    """The selector with the pod's own values of `matchLabelKeys`; None selects nobody.

    An empty one selects nobody, as countPodsMatchSelector of the scheduler's plugin has it.
    """
    selector = spread_selector(constraint, labels)
    return None if selects_everybody(selector) else selector
