"""Which nodes count for a topology spread constraint, and so which domains."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec
import numpy as np

from rescheduler.kube.objects import PodSpec, TopologySpreadConstraint
from rescheduler.kube.pods.tolerations import CORDON, is_tolerated
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.shared.acceptance import Acceptance
from rescheduler.policies.shared.matching import select_nodes
from rescheduler.policies.spread.domain_counts import EligibleDomains, eligible_domains

HARD = "DoNotSchedule"

Keys = Mapping[str, tuple[str, ...]]
"""Of the constraints that one pod has, the topology keys by `whenUnsatisfiable`."""


class Tier(Protocol):
    """A constraint as a policy declares it, or as a pod has it."""

    @property
    def topologyKey(self) -> str: ...  # noqa: D102, N802
    @property
    def maxSkew(self) -> int: ...  # noqa: D102, N802
    @property
    def minDomains(self) -> int | None: ...  # noqa: D102, N802
    @property
    def whenUnsatisfiable(self) -> str: ...  # noqa: D102, N802
    @property
    def nodeAffinityPolicy(self) -> str | None: ...  # noqa: D102, N802
    @property
    def nodeTaintsPolicy(self) -> str | None: ...  # noqa: D102, N802


class NodeInclusion:
    """Finds the domains that count for pods of some specs, as the scheduler's plugin does.

    For DoNotSchedule these are the domains of all nodes that carry every key of such constraints
    and pass matchNodeInclusionPolicies: a cordon or a node that is not Ready is known by its taints
    alone. For ScheduleAnyway the keys are those of such constraints, and a domain counts only if
    one of its nodes passes the filters of nodes alone; free capacity does not count here.
    Source: pkg/scheduler/framework/plugins/podtopologyspread, common.go, calPreFilterState of
    filtering.go, initPreScoreState and PreScore of scoring.go.
    Equal answers are shared.
    """

    def __init__(self, nodes: NodeMatch, snapshot: Snapshot) -> None:
        self._acceptance = Acceptance(snapshot)
        self.labels = self._acceptance.labels
        self._selected = select_nodes(nodes, snapshot)
        self._cordoned: BoolArray = np.fromiter(
            (node.spec.unschedulable for node in snapshot.nodes), dtype=np.bool_
        )
        self._known: dict[tuple[str, str | None, bytes], EligibleDomains] = {}
        self._eligible: dict[tuple[object, ...], BoolArray] = {}
        self._open: dict[frozenset[bytes], BoolArray] = {}

    def find_domains(
        self, specs: Iterable[PodSpec], tier: Tier, keys: Keys, within: str | None = None
    ) -> EligibleDomains:
        """The eligible domains. keys: of all constraints beside this one, itself included."""
        shapes = {self._acceptance.shape(spec): spec for spec in specs}
        policies = (tier.nodeAffinityPolicy or "Honor", tier.nodeTaintsPolicy or "Ignore")
        soft = tier.whenUnsatisfiable != HARD
        own = keys[tier.whenUnsatisfiable]
        hard = keys.get(HARD, ()) if soft else ()
        question = (frozenset(shapes), policies, own, hard, tier.topologyKey if soft else "")
        eligible = self._eligible.get(question)
        if eligible is None:
            eligible = np.zeros(self.labels.count, dtype=np.bool_)
            for spec in shapes.values():
                eligible |= self._included_nodes(spec, *policies)
            eligible &= self._has_labels(own)
            if soft:
                codes = self.labels.column(tier.topologyKey).codes
                candidates = eligible & self._has_labels(hard) & self._passing_nodes(shapes)
                eligible &= np.isin(codes, codes[candidates])
            self._eligible[question] = eligible
        answer = (tier.topologyKey, within, eligible.tobytes())
        if answer not in self._known:
            wider = None if within is None else self.labels.column(within)
            column = self.labels.column(tier.topologyKey)
            self._known[answer] = eligible_domains(tier.topologyKey, column, eligible, wider)
        return self._known[answer]

    def closed_domains(self, specs: Iterable[PodSpec], there: EligibleDomains) -> IntArray:
        """The domains that count and have no node on which one of these pods could be placed."""
        shapes = {self._acceptance.shape(spec): spec for spec in specs}
        passing = self._passing_nodes(shapes) & self._selected
        reached = np.zeros(len(there.names) + 1, dtype=np.bool_)
        reached[there.codes[:-1][passing]] = True  # the last stands for all that is outside
        return np.flatnonzero(~reached[:-1]).astype(np.int32)

    def identity(self, constraint: TopologySpreadConstraint, specs: Iterable[PodSpec]) -> str:
        """The constraint, and which nodes these pods accept, as text."""
        shapes = sorted({self._acceptance.shape(spec) for spec in specs})
        return b"".join([msgspec.json.encode(constraint), *shapes]).decode()

    def _has_labels(self, keys: Iterable[str]) -> BoolArray:
        """(nodes,) those that carry all these labels."""
        answer = np.ones(self.labels.count, dtype=np.bool_)
        for key in keys:
            answer &= self.labels.column(key).present
        return answer

    def _included_nodes(self, spec: PodSpec, affinity: str, taints: str) -> BoolArray:
        answer = self._selected
        if affinity == "Honor":
            answer = answer & self._acceptance.selected_nodes(spec)
        if taints == "Honor":
            answer = answer & self._acceptance.tolerated_nodes(spec)
        return answer

    def _passing_nodes(self, shapes: Mapping[bytes, PodSpec]) -> BoolArray:
        """(nodes,) those that NodeUnschedulable, NodeAffinity and TaintToleration let pass."""
        question = frozenset(shapes)
        answer = self._open.get(question)
        if answer is None:
            answer = np.zeros(self.labels.count, dtype=np.bool_)
            for spec in shapes.values():
                own = self._acceptance.selected_nodes(spec) & self._acceptance.tolerated_nodes(spec)
                answer |= own if is_tolerated(CORDON, spec.tolerations) else own & ~self._cordoned
            self._open[question] = answer
        return answer
