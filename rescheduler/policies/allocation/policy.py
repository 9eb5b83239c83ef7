"""Allocation: keep what pods request below targets, and free resources in balance."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.field_problems import FieldError, FieldPath
from rescheduler.documents.fields import Ratio, Strict
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.allocation.amounts import made
from rescheduler.policies.allocation.term import AllocationTerm
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent import absent_resource
from rescheduler.policies.shared.matching import select_nodes, select_pods

_Resource = Field(
    min_length=1,
    max_length=316,
    description="A resource that pods request, as nodes name it; `pods` is the pods themselves.",
)
_Weight = Field(1.0, gt=0, le=1e6, description="What one average pod too many counts.")


class ResourceTarget(Strict):
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
    average pod is what those request on average that request any. Besides, a node is charged for
    what it has free of one resource that cannot be used for want of another (`balances`):

        weight * max(0, ratio * free of `resource` - free of `needs`) / average request of `needs`

    Pods that are bound count, with what the scheduler counts for them. A node whose annotation
    cannot be read is left out, and the report warns of it (ALC003).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {each: {"minItems": 1}}, "required": [each]}
                for each in ("resources", "balances")
            ]
        }
    )

    summary: ClassVar[str] = (
        "Keep what pods request below targets of their nodes, and free resources in balance."
    )
    codes: ClassVar[tuple[str, ...]] = ("ALC",)
    subject: ClassVar[Subject] = "nodes"

    kind: Literal["Allocation"] = "Allocation"
    match: Match = Field(description="The pods that may be moved. Every pod counts.")
    nodes: NodeMatch = Field(description="The nodes that have targets.")
    resources: list[ResourceTarget] = Field(default_factory=list, description="The targets.")
    balances: list[Balance] = Field(
        default_factory=list, description="What shall be free together."
    )

    @model_validator(mode="after")
    def _wants_something(self) -> "Allocation":
        if not self.resources and not self.balances:
            raise ValueError("at least one of resources, balances is required")
        names = [each.resource for each in self.resources]
        for number, name in enumerate(names):
            if (first := names.index(name)) < number:
                at, other = ("resources", number, "resource"), ("resources", first, "resource")
                raise FieldError(f"another target is of {name} too", at, others=[other])
        for number, each in enumerate(self.balances):
            if each.resource == each.needs:
                said = f"{each.resource} cannot be in balance with itself"
                own: FieldPath = ("balances", number)
                raise FieldError(said, (*own, "needs"), others=[(*own, "resource")])
        return self

    def without_effect(self) -> Iterator[str]:
        """Besides, a target that no pod is above, as none may be."""
        yield from super().without_effect()
        for each in self.resources:
            if each.target == 1.0:
                yield (
                    f"the target of {each.resource} is 100%, which requests are never above, so it "
                    "counts only on nodes that are annotated"
                )

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """What has a target or a balance and is on no node, or asked for by no pod."""
        for number, target in enumerate(self.resources):
            yield from absent_resource(f"resources.{number}.resource", target.resource, snapshot)
        for number, balance in enumerate(self.balances):
            at = f"balances.{number}"
            yield from absent_resource(f"{at}.resource", balance.resource, snapshot)
            yield from absent_resource(f"{at}.needs", balance.needs, snapshot)

    def compile(self, snapshot: Snapshot) -> AllocationTerm | Problem:
        """The term; readings are not needed."""
        return AllocationTerm(
            snapshot,
            made(
                snapshot,
                [(each.resource, each.target, each.weight) for each in self.resources],
                [(each.resource, each.needs, each.ratio, each.weight) for each in self.balances],
            ),
            select_nodes(self.nodes, snapshot),
            select_pods(self.match, snapshot),
        )
