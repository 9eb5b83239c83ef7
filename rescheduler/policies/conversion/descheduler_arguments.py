"""The arguments of descheduler's plugins, and what becomes of each.

Source: sigs.k8s.io/descheduler v0.36, pkg/framework/plugins/*/types.go.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.documents.label_names import TaintPattern
from rescheduler.policies.conversion.foreign_fields import (
    Count,
    ForeignNamespaces,
    ForeignSelector,
    Thresholds,
    TypedArguments,
)
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Same

_Texts = list[Annotated[str, Field(min_length=1)]]
_RECEIVING = Lost(
    "descheduler evicts nothing while no node is below all of these thresholds. Here no threshold "
    "says which nodes take pods in: a pod is moved where kube-scheduler will put it, if that "
    "lowers the cost. Narrow `nodes` to keep pods off others, look at what the policy reports, and "
    "take `mode: Audit` away.",
    restricts=True,
)
_ENOUGH_NODES = Lost(
    "descheduler evicts nothing while at most this many nodes are below the thresholds. Here each "
    "move must gain by itself. Raise `margin` or lower `movesPerCycle` of the Limits to do less, "
    "and take `mode: Audit` away.",
    (0,),
    restricts=True,
)
_EPHEMERAL = Lost(
    "Ephemeral containers are for debugging and are not read: leave it out.", (False,)
)
_INIT = Becomes("`initContainers`")


class SelectingArguments(TypedArguments):
    """What most plugins have."""

    namespaces: ForeignNamespaces | None = None
    labelSelector: ForeignSelector | None = None


class RemoveDuplicatesArgs(TypedArguments):
    """Of RemoveDuplicates."""

    namespaces: ForeignNamespaces | None = None
    labelSelector: ForeignSelector | None = None
    excludeOwnerKinds: Annotated[_Texts | None, Becomes("`exclude: {ownerKinds}`")] = None


class PrometheusQuery(Strict):
    """How Prometheus is queried for the load of nodes."""

    query: Annotated[
        str | None,
        Lost(
            "PromQL is not converted: a target goes by a reading. cpu and memory are built in; for "
            "any other load define a reading by your query in a document of kind Readings, and "
            "name it in `targets.own`. Then take `mode: Audit` away.",
            ("instance:node_cpu:rate:sum",),
            restricts=True,
        ),
    ] = None


class MetricsUtilization(Strict):
    """Where LowNodeUtilization reads the load of nodes."""

    metricsServer: Annotated[bool | None, Becomes("Utilization, by Prometheus")] = None
    source: Annotated[
        Literal["KubernetesMetrics", "Prometheus"] | None, Becomes("Utilization, by Prometheus")
    ] = None
    prometheus: PrometheusQuery | None = None


class NodeEvictionLimit(Strict):
    """Of one plugin."""

    node: Annotated[Count | None, Becomes("`movesPerNode` of the Limits, for all policies")] = None


class LowNodeUtilizationArgs(TypedArguments):
    """Of LowNodeUtilization."""

    useDeviationThresholds: Annotated[bool | None, Becomes("`strategy: Balance`")] = None
    thresholds: Annotated[Thresholds | None, _RECEIVING] = None
    targetThresholds: Annotated[
        Thresholds,
        Becomes("the targets of `resources`; with useDeviationThresholds the `tolerance`"),
    ]
    numberOfNodes: Annotated[Count | None, _ENOUGH_NODES] = None
    metricsUtilization: MetricsUtilization | None = None
    evictableNamespaces: ForeignNamespaces | None = None
    evictionLimits: NodeEvictionLimit | None = None
    evictionModes: Annotated[
        list[Literal["OnlyThresholdingResources"]] | None, Becomes("`requests` of the `match`")
    ] = None


class HighNodeUtilizationArgs(TypedArguments):
    """Of HighNodeUtilization."""

    thresholds: Annotated[Thresholds, Becomes("`resources`, and `cold`: the lowest of them")]
    numberOfNodes: Annotated[Count | None, _ENOUGH_NODES] = None
    evictableNamespaces: ForeignNamespaces | None = None
    evictionModes: Annotated[
        list[Literal["OnlyThresholdingResources"]] | None, Becomes("`requests` of the `match`")
    ] = None


class TopologySpreadArgs(SelectingArguments):
    """Of RemovePodsViolatingTopologySpreadConstraint."""

    constraints: Annotated[
        list[Literal["DoNotSchedule", "ScheduleAnyway"]] | None,
        Becomes("`constraints: HardFromPods`; with ScheduleAnyway `FromPods`"),
    ] = None
    includeSoftConstraints: Annotated[bool | None, Becomes("`constraints: FromPods`")] = None
    topologyBalanceNodeFit: Annotated[
        bool | None, Same("a pod is moved only where kube-scheduler has a place for it")
    ] = None


class InterPodAntiAffinityArgs(SelectingArguments):
    """Of RemovePodsViolatingInterPodAntiAffinity."""


class ViolatingNodeAffinityArgs(SelectingArguments):
    """Of RemovePodsViolatingNodeAffinity."""

    nodeAffinityType: Annotated[
        list[
            Literal[
                "requiredDuringSchedulingIgnoredDuringExecution",
                "preferredDuringSchedulingIgnoredDuringExecution",
            ]
        ],
        Field(min_length=1),
        Becomes("`nodeAffinity: {required, preferred}`"),
    ]


class NodeTaintsArgs(SelectingArguments):
    """Of RemovePodsViolatingNodeTaints."""

    includePreferNoSchedule: Annotated[bool | None, Becomes("`effects: [PreferNoSchedule]`")] = None
    excludedTaints: Annotated[list[TaintPattern] | None, Becomes("`nodeTaints.ignore`")] = None
    includedTaints: Annotated[list[TaintPattern] | None, Becomes("`nodeTaints.only`")] = None


class TooManyRestartsArgs(SelectingArguments):
    """Of RemovePodsHavingTooManyRestarts."""

    podRestartThreshold: Annotated[int, Field(ge=1), Becomes("`restarts.atLeast`")]
    includingInitContainers: Annotated[bool | None, _INIT] = None
    states: Annotated[_Texts | None, Becomes("`restarts.states`")] = None


class OwnerKindNames(Strict):
    """Kinds of owners to include, or to exclude."""

    include: Annotated[_Texts | None, Becomes("`ownerKinds` of the `match`")] = None
    exclude: Annotated[_Texts | None, Becomes("`exclude: {ownerKinds}`")] = None


class PodLifeTimeArgs(SelectingArguments):
    """Of PodLifeTime."""

    maxPodLifeTimeSeconds: Annotated[Count | None, Becomes("`lifetime.above`")] = None
    states: Annotated[_Texts | None, Becomes("`lifetime.states`; of failed pods `failed`")] = None
    podStatusPhases: Annotated[_Texts | None, Becomes("`lifetime.states`")] = None
    conditions: Annotated[
        list[dict[str, Any]] | None,
        Lost(
            "Pods are not selected by their conditions. Select them by labels in the `match`, and "
            "take `mode: Audit` away.",
            ([],),
            restricts=True,
        ),
    ] = None
    exitCodes: Annotated[
        list[int] | None,
        Lost(
            "Pods that run are not selected by exit codes; failed ones are, by `failed.exitCodes`.",
            ([],),
            restricts=True,
        ),
    ] = None
    ownerKinds: OwnerKindNames | None = None
    includingInitContainers: Annotated[bool | None, _INIT] = None
    includingEphemeralContainers: Annotated[bool | None, _EPHEMERAL] = None

    @model_validator(mode="after")
    def _says_when(self) -> "PodLifeTimeArgs":
        rules = (self.maxPodLifeTimeSeconds, self.states, self.podStatusPhases)
        if not any(rules) and not self.conditions and not self.exitCodes:
            raise FieldError("neither an age nor a state is given, so it is about no pods")
        return self


class RemoveFailedPodsArgs(SelectingArguments):
    """Of RemoveFailedPods."""

    excludeOwnerKinds: Annotated[_Texts | None, Becomes("`exclude: {ownerKinds}`")] = None
    minPodLifetimeSeconds: Annotated[Count | None, Becomes("`failed.above`")] = None
    reasons: Annotated[_Texts | None, Becomes("`failed.reasons`")] = None
    exitCodes: Annotated[list[int] | None, Becomes("`failed.exitCodes`")] = None
    includingInitContainers: Annotated[bool | None, _INIT] = None
