"""One reading as an operator defines it: its queries, its labels, and what its values may be."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict, Yes
from rescheduler.documents.label_names import LabelKey
from rescheduler.documents.promql import QUERY_PATTERN, Query, selectors, unmatched
from rescheduler.policies.base import Match, NodeMatch

Unit = Literal["ratio", "cores", "bytes", "bytes/s", "count", "GPUs", "watts", "celsius"]

HIGHEST: dict[str, float] = {
    "ratio": 1.0,
    "cores": 1e5,
    "bytes": 1e15,
    "bytes/s": 1e13,
    "count": 1e12,
    "GPUs": 1e3,
    "watts": 1e5,
    "celsius": 150.0,
}
"""The largest legal value of one series, unless the definition has another."""

_NAME = r"(node|pod)(\.[a-zA-Z][a-zA-Z0-9]*)+"
_MOVES_LABELS = re.compile(r"\blabel_(replace|join)\s*\(")
_LABEL = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
_AT_MOST_ONE = ("device", "zone", "link")
_CAPACITIES = ("fixed", "query", "allocatable")


def _narrowed(query: str) -> str:
    """A query of which each selector can be narrowed to one cluster."""
    found = selectors(query)
    if not found:
        raise FieldError("selects no series")
    wide = unmatched(query)
    if wide:
        name, brace, rest = wide.partition("{")
        hint = f"`{name.strip()}{{$match {rest.lstrip()}`" if brace else f"`{name}{{$match}}`"
        raise FieldError(
            f"`{wide}` has no $match, so it would read every cluster of the metric source",
            hint=hint,
        )
    return query


OwnQuery = Annotated[
    Query,
    AfterValidator(_narrowed),
    WithJsonSchema(
        {"type": "string", "allOf": [{"pattern": QUERY_PATTERN}, {"pattern": r"\$match"}]}
    ),
]
"""PromQL in which every selector has `$match`."""


def _name(value: str) -> str:
    if not re.fullmatch(_NAME, value):
        raise FieldError(
            "must be `node.` or `pod.` and a name, such as node.queue or pod.rdma.receive"
        )
    return value


ReadingName = Annotated[
    str,
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"}),
]


class ReadingLabels(Strict):
    """The labels of a reading's series that say what each is about."""

    node: _LABEL | None = Field(
        None,
        description="The label with the name or an address of the node. Unless given: `Hostname`, "
        "`hostname`, `node`, `kubernetes_node` or `nodename`, else the node of the exporter's pod "
        "(`namespace` and `pod`), else the host of `instance`.",
    )
    namespace: _LABEL | None = Field(
        None, description="The label with the pod's namespace; `pod` must be given too."
    )
    pod: _LABEL | None = Field(
        None,
        description="The label with the pod's name. Unless given, `exported_namespace` and "
        "`exported_pod` where they are there, else `namespace` and `pod`. With a `device` of a "
        "node: the pod that has the device, which is asked for here alone.",
    )
    device: _LABEL | None = Field(
        None, description="The label that tells the devices of one node or pod apart."
    )
    zone: _LABEL | None = Field(None, description="The same for its NUMA zones.")
    link: _LABEL | None = Field(None, description="The same for its links.")

    @model_validator(mode="after")
    def _has_one_part(self) -> "ReadingLabels":
        if len([each for each in _AT_MOST_ONE if getattr(self, each) is not None]) > 1:
            raise ValueError(f"at most one of {', '.join(_AT_MOST_ONE)} may be given")
        if (self.namespace is None) != (self.pod is None):
            raise ValueError("namespace and pod are given together")
        return self

    @property
    def part(self) -> str:
        """The label that tells the parts of one node or pod apart, or ""."""
        return self.device or self.zone or self.link or ""

    @property
    def kind(self) -> str:
        """What the parts are, in words."""
        return next((each for each in _AT_MOST_ONE if getattr(self, each) is not None), "part")


class Capacity(Strict):
    """How much 100% of a node is, in the unit of the reading; exactly one."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"properties": {each: {"not": {"type": "null"}}}, "required": [each]}
                for each in _CAPACITIES
            ]
        }
    )

    fixed: float | None = Field(
        None,
        gt=0,
        description="The same for every node, or for each of its devices, zones or links. As it is "
        "declared and not measured, values may be above it.",
    )
    query: OwnQuery | None = Field(
        None, description="Measured: PromQL with the same labels as `value`."
    )
    allocatable: Yes | None = Field(
        None, description="What the node has to allocate of `resources` in all."
    )

    @model_validator(mode="after")
    def _is_one(self) -> "Capacity":
        if len([each for each in _CAPACITIES if getattr(self, each) is not None]) != 1:
            raise ValueError(f"exactly one of {', '.join(_CAPACITIES)} is required")
        return self


class OwnReading(Strict):
    """A reading of nodes or pods.

    Each series must be of one node or pod, or of one device, zone or link of it. What is not a
    number, below 0, above the highest legal value, older than the policy's `maxAge`, or told twice
    and differently, counts as absent, and absent is never 0.
    """

    value: OwnQuery = Field(
        description="PromQL for the value. `$window` is the policy's window; `$match` stands for "
        "the matchers of --prometheus-selector and must be in every selector: "
        '`queue_length{$match}`, `queue_length{$match job="inference"}`.'
    )
    fresh: OwnQuery | None = Field(
        None,
        description="PromQL for the time of the newest sample, with the same labels: "
        "`max by (node) (timestamp(queue_length{$match}))`. Of pods one series a node will do. "
        "Unless given, the time of the selector in `value`, which then must have one only.",
    )
    unit: Unit = Field(description="Of the values of `value`.")
    highest: float | None = Field(
        None,
        gt=0,
        description="The largest legal value of one series. Unless given: 1 for ratio, 1e5 for "
        "cores, 1e15 for bytes, 1e13 for bytes/s, 1e12 for count, 1e3 for GPUs, 1e5 for watts, 150 "
        "for celsius.",
    )
    capacity: Capacity | None = Field(
        None,
        description="For nodes: what the value is divided by, so that it is a share. With a "
        "`ratio` the value is a share already, and only what pods use is compared with it. Targets "
        "of Utilization need it.",
    )
    labels: ReadingLabels = Field(
        default_factory=ReadingLabels, description="The labels that say what a series is about."
    )
    combine: Literal["Largest", "Total"] = Field(
        "Largest",
        description="Of several devices, zones or links of a node. Largest: the fullest counts. "
        "Total: their sum over all that they can have (of ratios without capacity: the mean). Of "
        "pods it is always the sum.",
    )
    resources: list[LabelKey] = Field(
        default_factory=list,
        description="Extended resources, such as amd.com/gpu: only nodes that offer one of them "
        "and pods that ask for one ought to have a value, and a `device` for each.",
    )
    nodes: NodeMatch | None = Field(
        None,
        description="For `node.` readings: the nodes that ought to have a value. Unless "
        "given, all that are Ready.",
    )
    pods: Match | None = Field(
        None,
        description="For `pod.` readings: the pods that ought to have a value; all others "
        "use nothing of it. Unless given, all that run.",
    )

    @model_validator(mode="after")
    def _can_be_dated(self) -> "OwnReading":
        if self.fresh is None:
            several = len(set(selectors(self.value))) > 1
            if several or _MOVES_LABELS.search(self.value):
                why = "has several selectors" if several else "changes labels"
                raise FieldError(f"`value` {why}, so `fresh` is required", ("value",))
        if self.capacity is not None and self.capacity.allocatable and not self.resources:
            raise FieldError("`allocatable` needs `resources`", ("capacity", "allocatable"))
        return self

    @property
    def dated(self) -> str:
        """The query for the time of the newest sample."""
        return self.fresh or f"timestamp({selectors(self.value)[0]})"

    @property
    def most(self) -> float:
        """The largest legal value of one series."""
        return HIGHEST[self.unit] if self.highest is None else self.highest

    @property
    def rate(self) -> bool:
        """Whether pods younger than the window would read too low."""
        return re.search(r"\b(rate|increase|deriv|delta)\s*\(", self.value) is not None
