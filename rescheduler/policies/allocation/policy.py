"""Allocation: keep what pods request below targets, and free resources in balance."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.field_problems import FieldError, FieldPath
from rescheduler.documents.fields import Ratio, Strict
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.allocation.allocation_examples import EXAMPLES
from rescheduler.policies.allocation.hinge_amounts import build_amounts
from rescheduler.policies.allocation.request_packing import RequestPackingTerm
from rescheduler.policies.allocation.term import AllocationTerm
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import absent_resource
from rescheduler.policies.shared.matching import select_nodes, select_pods

_Resource = Field(
    min_length=1,
    max_length=316,
    description="A resource that pods request, as nodes name it; `pods` is the pods themselves.",
)
_Weight = Field(1.0, gt=0, le=1e6, description="What one average pod too many counts.")


class RequestTarget(Strict):
    """How much of a resource pods may request of a node before it costs."""

    resource: str = _Resource
    target: Ratio = Field(
        1.0,
        description="Of what is allocatable. A node's annotation `rescheduler.io/request-targets`, "
        'as JSON of quantities such as `{"cpu": "12", "memory": "100Gi"}`, wins over it.',
    )
    weight: float = _Weight


class Balance(Strict):
    """Two resources that pods need together, so that one is worth nothing without the other."""

    resource: str = _Resource
    needs: str = _Resource
    ratio: float = Field(
        gt=0,
        le=1e15,
        description="How much of `needs` shall be free for each unit of `resource` that is: cores "
        "of cpu, bytes of memory, and pieces of all else.",
    )
    weight: float = _Weight


class Allocation(Policy):
    """Charge a node for what its pods request above its targets, in average pods.

    It goes by requests alone, so it needs no readings, and works for every resource that pods
    request: that is what is reserved for peaks, for a failover, or for the devices of one job. An
    average pod is what those request on average that request any. With `strategy: Balance` a target
    is at most the mean of the selected nodes, each weighed by its size, plus `tolerance`. Besides,
    a node is charged for what it has free of one resource that cannot be used for want of another
    (`balances`):

        weight * max(0, ratio * free of `resource` - free of `needs`) / average request of `needs`

    `strategy: Pack` also charges 1.0 for each pod on a node that shall become empty, and for each
    pod that would land on an empty node. A node is a candidate if less than `cold` is requested of
    every resource with a target. Which candidates are chosen, and what the scheduler must do for
    it, is the same as with `Pack` of [Utilization](#utilization).

    Pods that are bound count, with what the scheduler counts for them. A node whose annotation
    cannot be read is left out, and the report warns of it (ALC003). Sources: descheduler's
    LowNodeUtilization, useDeviationThresholds and HighNodeUtilization.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {field: {"minItems": 1}}, "required": [field]}
                for field in ("resources", "balances")
            ]
        }
    )

    summary: ClassVar[str] = (
        "Keep what pods request below targets of their nodes, and free resources in balance."
    )
    codes: ClassVar[tuple[str, ...]] = ("ALC",)
    subject: ClassVar[Subject] = "nodes"
    examples: ClassVar = EXAMPLES

    kind: Literal["Allocation"] = "Allocation"
    match: Match = Field(description="The pods that may be moved. Every pod counts.")
    nodes: NodeMatch = Field(description="The nodes that have targets.")
    resources: list[RequestTarget] = Field(default_factory=list, description="The targets.")
    strategy: Literal["Relieve", "Balance", "Pack"] = Field(
        "Relieve",
        description="Relieve: nodes above a target give pods away. Balance: so do nodes far above "
        "the mean. Pack: so do nodes with few requests, until they are empty.",
    )
    tolerance: Ratio = Field(
        0.1, description="With `Balance`: how far a node may be above the mean."
    )
    cold: Ratio = Field(
        0.3,
        description="With `Pack`: a node is cold if less than this is requested of each resource.",
    )
    balances: list[Balance] = Field(
        default_factory=list, description="What shall be free together."
    )

    @model_validator(mode="after")
    def _wants_something(self) -> "Allocation":
        if not self.resources and not self.balances:
            raise ValueError("at least one of resources, balances is required")
        if self.strategy == "Pack" and (self.balances or not self.resources):
            what = "has no `balances`" if self.balances else "needs `resources`"
            at: FieldPath = ("balances",) if self.balances else ()
            raise FieldError(f"strategy Pack {what}", at, others=[("strategy",)])
        names = [resource.resource for resource in self.resources]
        for number, name in enumerate(names):
            if (first := names.index(name)) < number:
                place, other = ("resources", number, "resource"), ("resources", first, "resource")
                raise FieldError(f"another target is of {name} too", place, others=[other])
        for number, balance in enumerate(self.balances):
            if balance.resource == balance.needs:
                said = f"{balance.resource} cannot be in balance with itself"
                own: FieldPath = ("balances", number)
                raise FieldError(said, (*own, "needs"), others=[(*own, "resource")])
        return self

    def without_effect(self) -> Iterator[str]:
        """Besides, a target that nothing is above, and fields of other strategies."""
        yield from super().without_effect()
        for field, strategy in (("tolerance", "Balance"), ("cold", "Pack")):
            if field in self.model_fields_set and self.strategy != strategy:
                yield f"strategy is {self.strategy}, so {field} has no effect"
        for number, target in enumerate(self.resources) if self.strategy == "Pack" else ():
            if "weight" in target.model_fields_set:
                yield f"strategy is Pack, so resources.{number}.weight has no effect"
        for resource in self.resources if self.strategy == "Relieve" else ():
            if resource.target == 1.0:
                yield (
                    f"the target of {resource.resource} is 100%, which requests are never "
                    "above, so it "
                    "counts only on nodes that are annotated"
                )

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """What has a target or a balance and is on no node, or requested by no pod."""
        for number, target in enumerate(self.resources):
            yield from absent_resource(f"resources.{number}.resource", target.resource, snapshot)
        for number, balance in enumerate(self.balances):
            at = f"balances.{number}"
            yield from absent_resource(f"{at}.resource", balance.resource, snapshot)
            yield from absent_resource(f"{at}.needs", balance.needs, snapshot)

    def unreachable(self) -> Iterator[str]:
        """Thresholds that no node is ever above, or below."""
        if self.strategy == "Balance" and self.tolerance >= 1:
            yield "tolerance: no node is more than 100% above the mean"
        if self.strategy == "Pack" and self.cold <= 0:
            yield "cold: no node has less than 0% requested, so none is ever freed"

    @property
    def frees_nodes(self) -> bool:
        """Whether nodes with few requests are emptied."""
        return self.strategy == "Pack"

    def compile(self, snapshot: Snapshot) -> AllocationTerm | RequestPackingTerm | Problem:
        """The term; readings are not needed."""
        selected, movable = select_nodes(self.nodes, snapshot), select_pods(self.match, snapshot)
        if self.strategy == "Pack":
            targets = [(resource.resource, resource.target) for resource in self.resources]
            return RequestPackingTerm(snapshot, targets, selected, movable, self.cold)
        return AllocationTerm(
            snapshot,
            build_amounts(
                snapshot,
                [
                    (resource.resource, resource.target, resource.weight)
                    for resource in self.resources
                ],
                [
                    (balance.resource, balance.needs, balance.ratio, balance.weight)
                    for balance in self.balances
                ],
                (selected, self.tolerance) if self.strategy == "Balance" else None,
            ),
            selected,
            movable,
        )
