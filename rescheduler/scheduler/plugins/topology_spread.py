"""Plugin PodTopologySpread: pods that belong together keep apart, by rule or by preference."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.nodes.node_labels import LabelColumn, NodeLabels
from rescheduler.kube.objects import LabelSelector, TopologySpreadConstraint
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.pods.node_selection import NodeSelection
from rescheduler.kube.pods.spread_selectors import selects_everybody, spread_selector
from rescheduler.kube.pods.tolerations import NodeTaints
from rescheduler.kube.selectors import matches
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import FeatureGate, Filter, Plugin, Replacement, Score, Steer
from rescheduler.scheduler.plugins.default_selector import DefaultSelectors
from rescheduler.scheduler.plugins.spread_score import BySpread, SpreadCount
from rescheduler.scheduler.profile import Profile

_HOSTNAME = "kubernetes.io/hostname"
_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(maxSkew=3, topologyKey=_HOSTNAME, whenUnsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(
        maxSkew=5, topologyKey="topology.kubernetes.io/zone", whenUnsatisfiable="ScheduleAnyway"
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """One constraint of a shape, bound to the snapshot.

    pods: those that the selector selects in the pod's namespace.
    eligible: (nodes,) whose pods count: they have all keys and pass the inclusion policies.
    self_match: 1 where the pod matches its own selector.
    minimum: whether there are enough domains for the least filled one to count; else it is 0.
    """

    column: LabelColumn
    max_skew: int
    pods: IntArray
    eligible: BoolArray
    self_match: int
    minimum: bool
    by_hostname: bool


@dataclass(frozen=True)
class SpreadContext:
    """What the constraints of a shape are compiled from."""

    labels: NodeLabels
    groups: LabelGroups
    occupancy: Occupancy
    selection: NodeSelection
    taints: NodeTaints
    selectors: DefaultSelectors
    profile: Profile


class TopologySpread(Plugin):
    """Counts the live pods of a domain from where they are now.

    Source: pkg/scheduler/framework/plugins/podtopologyspread.
    """

    name: ClassVar[str] = "PodTopologySpread"
    weight: ClassVar[int] = 2
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("MatchLabelKeysInPodTopologySpread", 0),
        FeatureGate("NodeInclusionPolicyInPodTopologySpread", 0),
    )

    def __init__(self, context: SpreadContext) -> None:
        self._context = context

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """With the nodes' labels and taints, whichever plugins filter by them."""
        return cls(
            SpreadContext(
                labels=handle.labels,
                groups=handle.groups,
                occupancy=handle.occupancy,
                selection=handle.selection,
                taints=handle.taints,
                selectors=handle.part(_selectors),
                profile=profile,
            )
        )

    def follows(self, steer: Steer) -> bool:
        """It counts in the nodes that a pod requires, by default."""
        return steer.only is not None

    def filter(self, pod: Replacement) -> Filter | None:
        """Nodes that exceed no DoNotSchedule constraint; one without its key never passes."""
        declared, selector = self._declared_constraints(pod)
        hard = _of_action(declared, "DoNotSchedule")
        if not hard:
            return None
        return partial(
            self._nodes_within_skew, self._compile(pod, hard, strict=True, selector=selector)
        )

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """A missing label, or too great a skew: of the constraints the first that fails."""
        declared, selector = self._declared_constraints(pod)
        hard = _of_action(declared, "DoNotSchedule")
        lacking = np.zeros(self._context.labels.count, dtype=np.bool_)
        skewed = lacking.copy()
        for constraint in self._compile(pod, hard, strict=True, selector=selector):
            passed = ~(lacking | skewed)
            lacking |= passed & ~constraint.column.present
            skewed |= passed & constraint.column.present & ~self._nodes_within_skew([constraint])
        words = "node(s) didn't match pod topology spread constraints"
        return {f"{words} (missing required label)": lacking, words: skewed}

    def score(self, pod: Replacement) -> Score | None:
        """Fewer matching pods in the node's domains are better."""
        declared, selector = self._declared_constraints(pod)
        soft = _of_action(declared, "ScheduleAnyway")
        if not soft:
            return None
        strict = declared is not _SYSTEM_DEFAULTS
        constraints = self._compile(pod, soft, strict=strict, selector=selector)
        return partial(self._score, constraints, strict=strict)

    def _declared_constraints(
        self, pod: Replacement
    ) -> tuple[Sequence[TopologySpreadConstraint], LabelSelector | None]:
        """The pod's own constraints, or the scheduler's with the selector that they all have."""
        if pod.spec.topologySpreadConstraints:
            return pod.spec.topologySpreadConstraints, None
        selector = self._context.selectors.selector_of(pod)
        if selector is None:
            return (), None
        defaults = self._context.profile.default_constraints
        return (_SYSTEM_DEFAULTS if defaults is None else defaults), selector

    def _compile(
        self,
        pod: Replacement,
        declared: Sequence[TopologySpreadConstraint],
        *,
        strict: bool,
        selector: LabelSelector | None = None,
    ) -> list[Constraint]:
        columns = [self._context.labels.column(constraint.topologyKey) for constraint in declared]
        complete = np.ones(self._context.labels.count, dtype=np.bool_)
        if strict:
            for column in columns:
                complete &= column.present
        return [
            self._bind(pod, constraint, column, complete, selector)
            for constraint, column in zip(declared, columns, strict=True)
        ]

    def _bind(
        self,
        pod: Replacement,
        declared: TopologySpreadConstraint,
        column: LabelColumn,
        complete: BoolArray,
        selector: LabelSelector | None,
    ) -> Constraint:
        chosen = spread_selector(declared, pod.labels) if selector is None else selector
        eligible = complete & self._included_nodes(pod, declared)
        domains = int(np.count_nonzero(np.bincount(column.codes[eligible & column.present])))
        counted = not selects_everybody(chosen) or self._context.profile.empty_spread_selector
        return Constraint(
            column=column,
            max_skew=declared.maxSkew,
            pods=self._context.groups.select(
                chosen if counted else None, frozenset({pod.namespace})
            ),
            eligible=eligible,
            self_match=int(matches(chosen, pod.labels)),
            minimum=domains > 0 and domains >= (declared.minDomains or 1),
            by_hostname=declared.topologyKey == _HOSTNAME,
        )

    def _included_nodes(self, pod: Replacement, declared: TopologySpreadConstraint) -> BoolArray:
        answer = np.ones(self._context.labels.count, dtype=np.bool_)
        if (declared.nodeAffinityPolicy or "Honor") == "Honor":
            matching = self._context.selection.required_nodes(pod.spec)
            if matching is not None:
                answer &= matching
            if pod.steer is not None and pod.steer.only is not None:
                answer &= pod.steer.only
        if (declared.nodeTaintsPolicy or "Ignore") == "Honor":
            answer &= self._context.taints.tolerated_nodes(pod.spec.tolerations)
        return answer

    def _counts(self, constraint: Constraint) -> IntArray:
        """(domains + 1,) live matching pods of each domain; the last entry, for no domain, is 0."""
        nodes = self._context.occupancy.live_nodes_of(constraint.pods)
        codes = constraint.column.codes[nodes[constraint.eligible[nodes]]]
        size = len(constraint.column.values) + 1
        return np.bincount(codes[codes >= 0], minlength=size).astype(np.int32)

    def _nodes_within_skew(self, constraints: list[Constraint]) -> BoolArray:
        answer = np.ones(self._context.labels.count, dtype=np.bool_)
        for constraint in constraints:
            codes = constraint.column.codes
            counts = self._counts(constraint)
            least = int(counts[codes[constraint.eligible]].min()) if constraint.minimum else 0
            answer &= constraint.column.present
            answer &= counts[codes] + constraint.self_match - least <= constraint.max_skew
        return answer

    def _score(self, constraints: list[Constraint], nodes: IntArray, *, strict: bool) -> BySpread:
        scored = np.ones(len(nodes), dtype=np.bool_)
        counted = []
        for constraint in constraints:
            codes = constraint.column.codes[nodes]
            if strict:
                scored &= codes >= 0
            if constraint.by_hostname:
                live = self._context.occupancy.live_nodes_of(constraint.pods)
                on_node = np.bincount(live, minlength=self._context.labels.count)
                counts = on_node.astype(np.int32)[nodes]
            else:
                counts = self._counts(constraint)[codes]
            counted.append(
                SpreadCount(
                    pods=np.where(codes >= 0, counts, np.int32(-1)),
                    domains=None if constraint.by_hostname else codes,
                    max_skew=constraint.max_skew,
                )
            )
        return BySpread(counted, scored)


def _of_action(
    constraints: Sequence[TopologySpreadConstraint] | None, action: str
) -> list[TopologySpreadConstraint]:
    return [
        constraint for constraint in constraints or () if constraint.whenUnsatisfiable == action
    ]


def _selectors(handle: Handle) -> DefaultSelectors:
    return DefaultSelectors(handle.snapshot.services, handle.snapshot.controllers)
