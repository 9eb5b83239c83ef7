"""Spread: keep pods evenly over the domains of a topology."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from rescheduler.documents.field_problems import FieldError, FieldPath
from rescheduler.documents.fields import Strict
from rescheduler.documents.label_names import LabelKey
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import absent_in_pods, absent_labels
from rescheduler.policies.shared.matching import select_pods
from rescheduler.policies.spread.spread_counts import GroupBy, declared_counts, from_pods
from rescheduler.policies.spread.spread_examples import EXAMPLES
from rescheduler.policies.spread.term import SpreadTerm

ZONE = "topology.kubernetes.io/zone"

_SHORT = {"topologyKey": ZONE, "maxSkew": 1}
"""The short form's fields, and what they are unless given."""


class SpreadConstraint(Strict):
    """One tier of a Spread: its fields mean what they mean in a pod's topology spread constraint.

    `within`, `maxPerDomain` and `follow` are our own.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "properties": {"maxPerDomain": {"not": {"type": "null"}}},
                "required": ["maxPerDomain"],
                "anyOf": [
                    {"properties": {field: {"not": {"type": "null"}}}, "required": [field]}
                    for field in ("minDomains", "follow")
                ],
            },
            "if": {
                "properties": {"minDomains": {"not": {"type": "null"}}},
                "required": ["minDomains"],
            },
            "then": {"properties": {"whenUnsatisfiable": {"const": "DoNotSchedule"}}},
        }
    )

    topologyKey: LabelKey = Field(description="The node label whose values are the domains.")
    maxSkew: int = Field(
        1,
        ge=1,
        le=10_000,
        description="How many more pods than the emptiest domain a domain may hold; with `follow`, "
        "1 is the fair share rounded up or down, and each more widens that by one pod.",
    )
    minDomains: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="With fewer domains than this the emptiest counts as holding no pod.",
    )
    maxPerDomain: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Instead of any skew: how many pods a domain may hold, or its fair share "
        "rounded up where that is more. 1 over hostnames finds duplicates.",
    )
    whenUnsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        "DoNotSchedule", description="A pod too many costs 1.0, or half of that."
    )
    matchLabelKeys: list[LabelKey] = Field(
        default_factory=list, description="Pods that differ in one of these labels are apart."
    )
    nodeAffinityPolicy: Literal["Honor", "Ignore"] = Field(
        "Honor",
        description="Honor: only nodes that the pods' nodeSelector and required node affinity "
        "accept count. Ignore: all nodes.",
    )
    nodeTaintsPolicy: Literal["Honor", "Ignore"] = Field(
        "Ignore",
        description="Ignore, as in Kubernetes: nodes count whatever their taints, also when they "
        "are cordoned or not Ready. Honor: only nodes whose taints the pods tolerate; a cordon is "
        "a taint too, and so is not being Ready: pods there are not counted meanwhile.",
    )
    within: LabelKey | None = Field(
        None,
        description="A wider topology's key: domains are compared only within one of its domains.",
    )
    follow: Match | None = Field(
        None,
        description="Instead of even shares: as many pods in each domain as its share of these.",
    )

    @model_validator(mode="after")
    def _has_one_measure(self) -> "SpreadConstraint":
        if self.maxPerDomain is not None and (self.minDomains is not None or self.follow):
            raise ValueError("maxPerDomain excludes minDomains and follow")
        return self

    @model_validator(mode="after")
    def _needs_a_hard_constraint(self) -> "SpreadConstraint":
        """Source: validateMinDomains, kubernetes v1.36, pkg/apis/core/validation/validation.go."""
        if self.minDomains is not None and self.whenUnsatisfiable != "DoNotSchedule":
            message = "only with `whenUnsatisfiable: DoNotSchedule`, as in a pod's constraint"
            raise FieldError(message, ("minDomains",))
        return self


def _form(value: Any) -> str:
    """So that problems are reported for the form that was meant; brackets keep it out of paths."""
    return "[word]" if isinstance(value, str) else "[list]"


Tiers = Annotated[list[SpreadConstraint], Field(min_length=1), Tag("[list]")]
Words = Annotated[Literal["FromPods", "HardFromPods"], Tag("[word]")]
Constraints = Annotated[Tiers | Words, Discriminator(_form)]


class Spread(Policy):
    """Charge 1.0 for every pod that must move before its group is even over the domains.

    The skew is the highest count of a domain less the lowest, as in the topology spread API; the
    cost is the fewest single moves that bring it down to `maxSkew`. Nodes and pods count as for
    kube-scheduler: a node counts if it carries the keys of all constraints with the same
    `whenUnsatisfiable`, and passes `nodeAffinityPolicy` (Honor unless given: the group's own
    nodeSelector and required node affinity accept it) and `nodeTaintsPolicy` (Ignore unless given,
    as in Kubernetes: pods on nodes that are cordoned or not Ready still count). Where all nodes of
    a domain are tainted for others, it then counts as empty, which no move can repair (SPR004): set
    Honor, or narrow `nodes`. With ScheduleAnyway a domain counts only if one of the pods could be
    placed in it. Pods that are being deleted, DaemonSets and pods without an owner are not counted;
    nor are pods on nodes that do not count, but moving a pod out there is charged 1.0.

    Several constraints are evaluated jointly, and each counts twice as much as the next: the order
    in which they are written, or from few domains to many where they are taken from the pods. A pod
    that all of them want elsewhere costs 1.0 together; a soft constraint weighs half.

    `constraints: FromPods` takes each pod's own constraints, over all pods that their selectors
    select, no matter who owns them; `HardFromPods` only those that are DoNotSchedule. Constraints
    that do not select the pod itself are left alone.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "if": {
                "properties": {"constraints": {"not": {"type": "null"}}},
                "required": ["constraints"],
            },
            "then": {"properties": {field: {"type": "null"} for field in _SHORT}},
        }
    )

    summary: ClassVar[str] = "Keep the pods of each workload evenly over zones, racks or nodes."
    examples: ClassVar = EXAMPLES
    codes: ClassVar[tuple[str, ...]] = ("SPR",)

    kind: Literal["Spread"] = "Spread"
    match: Match = Field(description="The pods to evaluate.")
    groupBy: GroupBy = Field(
        "Workload",
        description="Whose pods are counted together: those of a workload, of a gang (a job group; "
        "pods in none by their workload), or all that match. Not for FromPods. Gangs are moved "
        "only where the Limits have `gangs: Surplus` or `gangs: Whole`.",
    )
    topologyKey: LabelKey | None = Field(
        None,
        description="Short for one constraint: the node label whose values are the domains. "
        f"`{ZONE}`, unless given.",
    )
    maxSkew: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Short for one constraint: how many more pods than the emptiest domain a "
        "domain may hold. 1, unless given.",
    )
    constraints: Constraints | None = Field(
        None,
        description="Instead of the two before: the tiers, first things first, or the pods' own "
        "constraints, or of these the ones that are DoNotSchedule.",
    )
    nodes: NodeMatch = Field(
        default_factory=lambda: NodeMatch(all=True),
        description="The nodes whose domains count. All, unless narrowed.",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_the_short_form(cls, data: Any) -> Any:
        """A default that is written out and one that is not are the same policy."""
        if not isinstance(data, dict) or data.get("constraints") is not None:
            return data
        return data | {key: default for key, default in _SHORT.items() if data.get(key) is None}

    @model_validator(mode="after")
    def _says_it_once(self) -> "Spread":
        if self.constraints is not None and (self.topologyKey, self.maxSkew) != (None, None):
            raise ValueError("constraints exclude topologyKey and maxSkew")
        return self

    def tiers(self) -> list[SpreadConstraint]:
        """The constraints that the policy declares; none where they are taken from the pods."""
        if self.constraints is None:
            short = {key: getattr(self, key) for key in _SHORT}
            return [SpreadConstraint.model_validate(short)]
        return [] if isinstance(self.constraints, str) else list(self.constraints)

    def grouped_by_gang(self) -> Iterator[FieldPath]:
        """`groupBy: Gang`."""
        if self.groupBy == "Gang":
            yield ("groupBy",)

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """Topology keys that no node has, constraints that no pod has, and skews above all pods."""
        if isinstance(self.constraints, str):
            what = "topologySpreadConstraints"
            yield from absent_in_pods(
                "constraints", what, self.match, snapshot, lambda spec: bool(getattr(spec, what))
            )
        most = self._most_pods(snapshot)
        for number, tier in enumerate(self.tiers()):
            at = "" if self.constraints is None else f"constraints.{number}."
            name, bound = "maxSkew", tier.maxSkew
            if tier.maxPerDomain is not None:
                name, bound = "maxPerDomain", tier.maxPerDomain
            if tier.follow is None and 0 < most <= bound:
                yield (
                    f"{at}{name}: it is {bound}, and the largest workload that it selects has "
                    f"{count_text(most, 'pod')}, so no domain ever holds too many"
                )
        if self.topologyKey is not None:
            yield from absent_labels("topologyKey", [self.topologyKey], snapshot)
        tiers = self.constraints if isinstance(self.constraints, list) else ()
        for number, constraint in enumerate(tiers):
            at = f"constraints.{number}"
            yield from absent_labels(f"{at}.topologyKey", [constraint.topologyKey], snapshot)
            if constraint.within is not None:
                yield from absent_labels(f"{at}.within", [constraint.within], snapshot)

    def _most_pods(self, snapshot: Snapshot) -> int:
        """The pods of the largest group that the match selects; 0 where groups are no workloads."""
        if self.groupBy != "Workload":
            return 0
        workloads = snapshot.pod_workload[select_pods(self.match, snapshot)]
        counts = np.bincount(workloads[workloads >= 0])
        return int(counts.max()) if len(counts) else 0

    def compile(self, snapshot: Snapshot) -> SpreadTerm:
        """The term for this snapshot; spreading needs no readings, so it is always evaluated."""
        if isinstance(self.constraints, str):
            hard = self.constraints == "HardFromPods"
            made = from_pods(self.match, self.nodes, snapshot, hard=hard)
        else:
            made = declared_counts(self.match, self.nodes, self.groupBy, self.tiers(), snapshot)
        return SpreadTerm(made, snapshot)
