"""Conformity: pods keep the rules by which they were placed, and do not wear out."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.fields import Strict
from rescheduler.kube.objects import PodSpec
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.conformity.failed_pods import Failed
from rescheduler.policies.conformity.node_rules import NodeRules
from rescheduler.policies.conformity.required_pod_affinity import Kind
from rescheduler.policies.conformity.rules import (
    ConformityRules,
    Lifetime,
    NodeAffinityRule,
    NodeTaintsRule,
    Restarts,
)
from rescheduler.policies.conformity.states import never_failed, never_in
from rescheduler.policies.conformity.term import ConformityTerm
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import absent_in_pods

_CRASHING = frozenset({"CrashLoopBackOff", "RunContainerError"})
"""What containers wait for that have run before; their pods are not Ready."""


def _required_property(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {key: schema}, "required": [key]}


class Conformity(Policy):
    """Charge 1.0 for every pod that breaks a rule where it is, and less for a preference.

    kube-scheduler checks these rules once, when it places a pod. A pod costs as much as the worst
    of the rules that it breaks: 1.0 for a requirement, and for a preference (PreferNoSchedule,
    preferred node affinity) up to 0.5: half of the part of what could be had, and is not, on the
    nodes that accept the pod. For anti-affinity the pod that has it is charged, and a move of
    either side repairs it. Restarts and age are charged where the pod is; a replacement begins
    again, but one that would come back to its node gains nothing, as everywhere.

    Pods that are being deleted and pods of DaemonSets are not evaluated. Pods whose phase is
    Failed are reported by `failed`, cost nothing and stay: there is nothing to place better. Pods
    that fail while they run are found by `restarts` and `states`; one that is not Ready at the time
    is shown, and stays (ELG006), unless it crash-loops and the Limits have `crashLooping: Allow`.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                *(
                    _required_property(key, {"not": {"type": "null"}})
                    for key in ("nodeTaints", "nodeAffinity", "restarts", "lifetime", "failed")
                ),
                *(
                    _required_property(key, {"const": True})
                    for key in ("podAntiAffinity", "podAffinity")
                ),
            ]
        }
    )

    summary: ClassVar[str] = "Keep taints, affinity and anti-affinity true after placement."
    codes: ClassVar[tuple[str, ...]] = ("CNF",)

    each_alone: ClassVar[bool] = True

    kind: Literal["Conformity"] = "Conformity"
    match: Match = Field(description="The pods to evaluate.")
    nodes: NodeMatch | None = Field(
        None, description="Only pods on these nodes are evaluated. All nodes unless given."
    )
    nodeTaints: NodeTaintsRule | None = Field(
        None, description="Evaluate taints. Off unless given."
    )
    nodeAffinity: NodeAffinityRule | None = Field(
        None, description="Evaluate node affinity. Off unless given."
    )
    podAntiAffinity: bool = Field(
        False,
        description="Evaluate required pod anti-affinity. Pods of another namespace stay for it.",
    )
    podAffinity: bool = Field(False, description="Evaluate required pod affinity.")
    restarts: Restarts | None = Field(None, description="Evaluate restarts. Off unless given.")
    lifetime: Lifetime | None = Field(None, description="Evaluate age. Off unless given.")

    failed: Failed | None = Field(None, description="Report failed pods. Off unless given.")

    @model_validator(mode="after")
    def _has_a_rule(self) -> "Conformity":
        rules = (self.nodeTaints, self.nodeAffinity, self.restarts, self.lifetime, self.failed)
        if all(rule is None for rule in rules) and not (self.podAntiAffinity or self.podAffinity):
            raise ValueError("at least one rule must be given")
        return self

    def unreachable(self) -> Iterator[str]:
        """States in which no pod that is evaluated can be, and taints that are all ignored."""
        for name, rule in (("restarts", self.restarts), ("lifetime", self.lifetime)):
            for number, state in enumerate((rule.states if rule is not None else None) or ()):
                why = never_in(state)
                if why:
                    yield f"{name}.states.{number}: {why}"
        for number, reason in enumerate((self.failed.reasons if self.failed else None) or ()):
            why = never_failed(reason)
            if why:
                yield f"failed.reasons.{number}: {why}"
        taints = self.nodeTaints
        if taints is not None and taints.only and all(map(taints.ignores, taints.only)):
            yield "nodeTaints.only: every taint that it names is ignored, so none counts"

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """Required inter-pod terms that no pod has, where there is no other rule."""
        rules = (self.nodeTaints, self.nodeAffinity, self.restarts, self.lifetime, self.failed)
        if any(rule is not None for rule in rules):
            return
        kinds = [name for name in ("podAntiAffinity", "podAffinity") if getattr(self, name)]

        def has(spec: PodSpec) -> bool:
            terms = [getattr(spec.affinity, kind) for kind in kinds] if spec.affinity else []
            return any(
                term and term.requiredDuringSchedulingIgnoredDuringExecution for term in terms
            )

        what = f"required {' or '.join(kinds)}"
        yield from absent_in_pods(kinds[0], what, self.match, snapshot, has)

    def conflicts(self, other: Strict) -> Iterator[str]:
        """Also rules whose pods all crash-loop, if the limits let such pods stay."""
        yield from super().conflicts(other)
        if not isinstance(other, Limits) or other.crashLooping != "Refuse":
            return
        for name, rule in (("restarts", self.restarts), ("lifetime", self.lifetime)):
            if rule is not None and rule.states and set(rule.states) <= _CRASHING:
                yield (
                    f"{name}.states is {', '.join(rule.states)}, and the Limits refuse pods that "
                    "crash-loop, so they are shown and stay; `crashLooping: Allow` lets them move"
                )

    def compile(self, snapshot: Snapshot) -> "ConformityTerm":
        """The term for this snapshot; the rules need no readings, so it is always evaluated."""
        return ConformityTerm(self._rules(), snapshot)

    def _rules(self) -> ConformityRules:
        taints, affinity = self.nodeTaints, self.nodeAffinity
        nodes = NodeRules(
            effects=frozenset(taints.effects if taints else ()),
            only=(taints.only or ()) if taints else (),
            ignored=taints.ignore if taints else (),
            required=affinity is not None and affinity.required,
            preferred=affinity is not None and affinity.preferred,
        )
        evaluated: list[tuple[Kind, bool]] = [
            ("apart", self.podAntiAffinity),
            ("near", self.podAffinity),
        ]
        pods = tuple(kind for kind, wanted in evaluated if wanted)
        return ConformityRules(
            self.match, nodes, pods, self.restarts, self.lifetime, self.failed, self.nodes
        )
