"""The rules of Conformity that operators write, one model each."""

from typing import Literal, NamedTuple

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.fields import PositiveDuration, Strict
from rescheduler.documents.label_names import TaintPattern
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.conformity.failed_pods import Failed
from rescheduler.policies.conformity.node_rules import NodeRules
from rescheduler.policies.conformity.required_pod_affinity import Kind
from rescheduler.policies.match import Match

Effect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule"]


class NodeTaintsRule(Strict):
    """Taints that pods must tolerate where they are, not only when they are placed.

    Entries of `only` and `ignore` are `key`, `key=value`, or a prefix that ends in a slash.
    """

    effects: list[Effect] = Field(
        default=["NoSchedule"],
        min_length=1,
        description="NoExecute is carried out by Kubernetes itself; PreferNoSchedule only prefers.",
    )
    only: list[TaintPattern] | None = Field(
        None,
        min_length=1,
        description="No other taints count. Those that Kubernetes sets itself, for a cordon or a "
        "node's condition (`node.kubernetes.io/`), count only if they are named here.",
    )
    ignore: list[TaintPattern] = Field(
        default_factory=list,
        description="These taints do not count, either. It adds to those that Kubernetes sets "
        "itself, and goes before `only`.",
    )

    def ignores(self, taint: str) -> bool:
        """Whether this entry of `only` is within what is ignored."""
        return any(
            taint == pattern
            or taint.partition("=")[0] == pattern
            or (pattern.endswith("/") and taint.startswith(pattern))
            for pattern in self.ignore
        )


class NodeAffinityRule(Strict):
    """Node affinity that must hold where pods are, not only when they are placed."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "properties": {"required": {"const": False}, "preferred": {"const": False}},
                "required": ["required"],
            }
        }
    )

    required: bool = Field(True, description="nodeSelector and required node affinity.")
    preferred: bool = Field(False, description="Preferred node affinity, which is a preference.")

    @model_validator(mode="after")
    def _has_one_kind(self) -> "NodeAffinityRule":
        if not self.required and not self.preferred:
            raise ValueError("either required or preferred must be true")
        return self


_STATES = Field(
    None,
    min_length=1,
    description="Only pods in one of these: a phase, a pod's or a waiting container's reason.",
)


class Restarts(Strict):
    """How often the containers of a pod may be restarted, all together."""

    atLeast: int = Field(ge=1, description="With this many restarts a pod has had too many.")
    initContainers: bool = Field(
        False, description="Whether init containers count too, and what they wait for."
    )
    states: list[str] | None = _STATES


class Lifetime(Strict):
    """How old a pod may become."""

    above: PositiveDuration = Field(description="An older pod is too old.")
    initContainers: bool = Field(
        False, description="Whether what an init container waits for is a state too."
    )
    states: list[str] | None = _STATES


class ConformityRules(NamedTuple):
    """What a policy evaluates. pods: the kinds of inter-pod terms. None is off.

    where: the nodes whose pods are evaluated; None is all.
    """

    match: Match
    nodes: NodeRules
    pods: tuple[Kind, ...]
    restarts: Restarts | None
    lifetime: Lifetime | None
    failed: Failed | None
    where: NodeMatch | None = None
