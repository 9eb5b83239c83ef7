"""The arguments of kube-scheduler's plugins that decide a placement, as its configuration has them.

Names, defaults and bounds are those of kubescheduler.config.k8s.io/v1.
Source: kube-scheduler/config/v1/types_pluginargs.go and apis/config/validation.
"""

from itertools import pairwise
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict


class WeightedResource(Strict):
    """A resource that counts in a score."""

    name: str = Field(min_length=1, description="Such as `cpu`, `memory` or `nvidia.com/gpu`.")
    weight: int = Field(1, ge=0, le=100, description="What it counts; 0 is 1, as in Kubernetes.")


class BalancedResource(Strict):
    """A resource whose use should be in balance with the others'."""

    name: str = Field(min_length=1, description="Such as `cpu`, `memory` or `nvidia.com/gpu`.")
    weight: int = Field(1, ge=0, le=1, description="Kubernetes accepts no other than 1.")


class ShapePoint(Strict):
    """One point of a line from utilization to score."""

    utilization: int = Field(ge=0, le=100, description="Percent of the node that is requested.")
    score: int = Field(0, ge=0, le=10, description="Score there; 10 is best.")


class CapacityRatio(Strict):
    """The line by which RequestedToCapacityRatio scores."""

    shape: list[ShapePoint] = Field(
        min_length=1, description="Points with increasing utilization; level before and after."
    )

    @model_validator(mode="after")
    def _rises(self) -> "CapacityRatio":
        if any(a.utilization >= b.utilization for a, b in pairwise(self.shape)):
            raise FieldError("must have increasing utilization", ("shape",))
        return self


class Scoring(Strict):
    """How NodeResourcesFit scores a node by how full it would be."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = Field(
        "LeastAllocated", description="The emptier, the fuller, or by a line of your own."
    )
    resources: list[WeightedResource] | None = Field(
        None, description="What counts; cpu and memory alike where nothing is said."
    )
    requestedToCapacityRatio: CapacityRatio | None = Field(
        None, description="For RequestedToCapacityRatio, and needed there."
    )

    @model_validator(mode="after")
    def _has_its_line(self) -> "Scoring":
        if self.type == "RequestedToCapacityRatio" and self.requestedToCapacityRatio is None:
            message = "is required for type RequestedToCapacityRatio"
            raise FieldError(message, ("requestedToCapacityRatio",), hint="give its `shape`")
        if self.type != "RequestedToCapacityRatio" and self.requestedToCapacityRatio is not None:
            message = "is given for type RequestedToCapacityRatio alone"
            raise FieldError(message, ("requestedToCapacityRatio",), hint="drop it")
        return self


class NodeResourcesFitArgs(Strict):
    """Arguments of NodeResourcesFit."""

    ignoredResources: list[str] | None = Field(
        None, description="Extended resources that the filter ignores."
    )
    ignoredResourceGroups: list[Annotated[str, Field(pattern=r"^[^/]+$")]] | None = Field(
        None, description="Prefixes of extended resources that the filter ignores."
    )
    scoringStrategy: Scoring | None = Field(None, description="How a node is scored.")


class NodeResourcesBalancedAllocationArgs(Strict):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: list[BalancedResource] | None = Field(
        None, description="What should fill up alike; cpu and memory where nothing is said."
    )

    @field_validator("resources")
    @classmethod
    def _once_each(cls, value: list[BalancedResource] | None) -> list[BalancedResource] | None:
        names = [resource.name for resource in value or ()]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise FieldError(f"`{name}` is given twice", (number, "name"), hint="drop one")
        return value


class DefaultConstraint(Strict):
    """A spread constraint for pods that have none; the selector comes from Services and owners."""

    maxSkew: int = Field(ge=1, description="As in a pod's spec.")
    topologyKey: str = Field(min_length=1, description="As in a pod's spec.")
    whenUnsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="As in a pod's spec."
    )
    minDomains: int | None = Field(None, ge=1, description="As in a pod's spec.")
    nodeAffinityPolicy: Literal["Honor", "Ignore"] | None = Field(
        None, description="As in a pod's spec."
    )
    nodeTaintsPolicy: Literal["Honor", "Ignore"] | None = Field(
        None, description="As in a pod's spec."
    )
    matchLabelKeys: list[str] | None = Field(None, description="Has no effect here.")


class PodTopologySpreadArgs(Strict):
    """Arguments of PodTopologySpread."""

    defaultConstraints: list[DefaultConstraint] | None = Field(
        None, description="For pods that have none of their own."
    )
    defaultingType: Literal["System", "List"] = Field(
        "System", description="System: Kubernetes' own defaults. List: `defaultConstraints`."
    )

    @model_validator(mode="after")
    def _list_is_said(self) -> "PodTopologySpreadArgs":
        if self.defaultConstraints and self.defaultingType != "List":
            message = "must be List where there are `defaultConstraints`"
            raise FieldError(message, ("defaultingType",), hint="add `defaultingType: List`")
        keys = {
            (constraint.topologyKey, constraint.whenUnsatisfiable)
            for constraint in self.constraints
        }
        if len(keys) < len(self.constraints):
            message = "must not repeat a topologyKey with the same whenUnsatisfiable"
            raise FieldError(message, ("defaultConstraints",))
        return self

    @property
    def constraints(self) -> list[DefaultConstraint]:
        """The constraints of the list, none where none are said."""
        return self.defaultConstraints or []


class InterPodAffinityArgs(Strict):
    """Arguments of InterPodAffinity."""

    hardPodAffinityWeight: int = Field(
        1, ge=0, le=100, description="What the required affinity of pods that run adds to a score."
    )
    ignorePreferredTermsOfExistingPods: bool = Field(
        False, description="Consider what running pods prefer only for pods with preferences."
    )


class NodeRequirement(Strict):
    """One requirement on a node's label or field."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
                    "then": {"properties": {"values": {"minItems": 1}}, "required": ["values"]},
                },
                {
                    "if": {"properties": {"operator": {"enum": ["Exists", "DoesNotExist"]}}},
                    "then": {"properties": {"values": {"maxItems": 0}}},
                },
                {
                    "if": {"properties": {"operator": {"enum": ["Gt", "Lt"]}}},
                    "then": {
                        "properties": {"values": {"minItems": 1, "maxItems": 1}},
                        "required": ["values"],
                    },
                },
            ]
        }
    )

    key: str = Field(min_length=1, description="The label's key; `metadata.name` for a field.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        description="How the label and the values must agree."
    )
    values: list[str] = Field(default_factory=list, description="What the operator compares with.")

    @model_validator(mode="after")
    def _values_fit(self) -> "NodeRequirement":
        if bool(self.values) == (self.operator in ("Exists", "DoesNotExist")):
            message = "Exists and DoesNotExist take no values, the others need them"
            raise FieldError(message, ("values",))
        if self.operator in ("Gt", "Lt") and len(self.values) != 1:
            raise FieldError("Gt and Lt need exactly one value", ("values",))
        return self


class NodeTerm(Strict):
    """Requirements that must all hold; without any it matches nothing."""

    matchExpressions: list[NodeRequirement] | None = Field(None, description="On labels.")
    matchFields: list[NodeRequirement] | None = Field(None, description="On `metadata.name`.")


class RequiredNodes(Strict):
    """Terms; one of them must hold."""

    nodeSelectorTerms: list[NodeTerm] = Field(min_length=1, description="Any of them.")


class PreferredNodes(Strict):
    """A term that is preferred."""

    weight: int = Field(ge=1, le=100, description="What it adds to the raw score.")
    preference: NodeTerm = Field(description="What is preferred.")


class AddedAffinity(Strict):
    """A node affinity that the scheduler adds to every pod's."""

    requiredDuringSchedulingIgnoredDuringExecution: RequiredNodes | None = Field(
        None, description="Nodes must satisfy it."
    )
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredNodes] | None = Field(
        None, description="Nodes that satisfy it are liked."
    )


class NodeAffinityArgs(Strict):
    """Arguments of NodeAffinity."""

    addedAffinity: AddedAffinity | None = Field(None, description="Added to every pod's own.")


class Arguments(Strict):
    """The arguments of the plugins that decide a placement, by plugin."""

    NodeResourcesFit: NodeResourcesFitArgs | None = Field(None, description="How full nodes get.")
    NodeResourcesBalancedAllocation: NodeResourcesBalancedAllocationArgs | None = Field(
        None, description="Which resources should fill up alike."
    )
    PodTopologySpread: PodTopologySpreadArgs | None = Field(
        None, description="Constraints for pods that have none."
    )
    InterPodAffinity: InterPodAffinityArgs | None = Field(
        None, description="What running pods' terms count."
    )
    NodeAffinity: NodeAffinityArgs | None = Field(
        None, description="An affinity that every pod has."
    )


def arguments_of(plugin: str) -> type[Strict]:
    """The model of the arguments of a plugin that has some."""
    model: type[Strict] = get_args(Arguments.model_fields[plugin].annotation)[0]
    return model


Version = Annotated[
    str,
    Field(pattern=r"^v?1\.[0-9]{1,3}(\.[0-9]{1,4})?([-+][0-9A-Za-z.+-]{1,60})?$"),
]
"""A version of Kubernetes: `1.36`, `v1.36.3`, `1.35.1-gke.5`."""
Minor = Annotated[str, Field(pattern=r"^1\.[0-9]{1,3}$")]
"""A minor version of Kubernetes: `1.36`."""
