"""One reading as a document defines it: its queries, its labels, and what its values may be."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict, Yes, exactly_one_of
from rescheduler.documents.label_names import LabelKey
from rescheduler.documents.promql import OwnQuery, PrometheusLabel, selectors
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match

Maker = Literal["nvidia", "amd", "intel", "gaudi"]
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

NODE_LABELS = ("Hostname", "hostname", "node", "kubernetes_node", "nodename")
"""Labels that may have the name or an address of a node, in the order in which they count."""
OWNER_LABELS = ("exported_namespace", "exported_pod", "pod_namespace", "pod_name")
"""Labels that may name the pod that a series is about where `namespace` and `pod` are the
exporter's; the last two are those of dcgm-exporter's `--use-old-namespace`."""
LINKS = "(en[abcdopsuvxP]|eth|em[0-9]|p[0-9]+p[0-9]|ib|bond|team|hsn|net[0-9]|rdma|gpu[0-9]+rdma).*"
"""The node's own links, as systemd.net-naming-scheme(7), the kernel, biosdevname or the makers of
fabrics name them; never those of pods, such as the `eni...` of Amazon's CNI."""

_NAME = r"(node|pod)(\.[a-zA-Z][a-zA-Z0-9]*)+"
_MOVES_LABELS = re.compile(r"\blabel_(replace|join)\s*\(")
_QUANTILE = re.compile(r"quantile_over_time\s*\([^(]*\{")
_AT_MOST_ONE = ("device", "zone", "link")
_CAPACITIES = ("fixed", "query", "allocatable", "node")


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

    node: PrometheusLabel | None = Field(
        None,
        description="The label with the name or an address of the node. Unless given, the first "
        f"that names one of {', '.join(f'`{label}`' for label in NODE_LABELS)}; else the node "
        "of the "
        "exporter's pod (`namespace` and `pod`); else the host of `instance`: an address of a node "
        "or of a pod (the node is that of the pod; of an address that two nodes have, none), or "
        "the name of a node. Short and full host names match. `by ($node)` keeps all of these "
        "labels, `by ($node,$pod)` also those that name the pod.",
    )
    namespace: PrometheusLabel | None = Field(
        None, description="The label with the pod's namespace; `pod` must be given too."
    )
    pod: PrometheusLabel | None = Field(
        None,
        description="The label with the pod's name. Unless given, `exported_namespace` and "
        "`exported_pod` where they are there, else `namespace` and `pod`. With a `device` of a "
        "node: the pod that has the device; only then must it be named.",
    )
    device: PrometheusLabel | None = Field(
        None, description="The label that tells the devices of one node or pod apart."
    )
    zone: PrometheusLabel | None = Field(None, description="The same for its NUMA zones.")
    link: PrometheusLabel | None = Field(None, description="The same for its links.")

    @model_validator(mode="after")
    def _has_one_part(self) -> "ReadingLabels":
        if len([label for label in _AT_MOST_ONE if getattr(self, label) is not None]) > 1:
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
        return next((label for label in _AT_MOST_ONE if getattr(self, label) is not None), "part")


class Capacity(Strict):
    """How much 100% of a node is, in the unit of the reading; exactly one."""

    model_config = ConfigDict(json_schema_extra=exactly_one_of(*_CAPACITIES))

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
        None, description="What the node has to allocate of `resources` or `devices` in all."
    )
    node: LabelKey | None = Field(
        None, description="What the node has of this resource, such as cpu: its status.capacity."
    )

    @model_validator(mode="after")
    def _is_one(self) -> "Capacity":
        if len([capacity for capacity in _CAPACITIES if getattr(self, capacity) is not None]) != 1:
            raise ValueError(f"exactly one of {', '.join(_CAPACITIES)} is required")
        return self


class Series(Strict):
    """Queries for one value of each node, pod or device, and for how old it is."""

    value: OwnQuery = Field(
        description="PromQL for the value. `$window` is the policy's window; `$match` stands for "
        "the matchers of --prometheus-selector and must be in every selector: "
        '`queue_length{$match}`, `queue_length{$match job="inference"}`.'
    )
    count: OwnQuery | None = Field(
        None,
        description="PromQL for the number of samples, where `value` is their sum. A device whose "
        "pod changes has two series in one window, and so gets its average over time.",
    )
    fresh: OwnQuery | None = Field(
        None,
        description="PromQL for the time of the newest sample, with the same labels: "
        "`max by (node) (timestamp(queue_length{$match}))`. Of pods one series a node will do. "
        "Unless given, the time of the selector in `value`, which then must have one only.",
    )
    scale: float = Field(1.0, gt=0, description="What each value is multiplied with.")
    unit: Unit | None = Field(None, description="Unless given, as of the reading.")

    @model_validator(mode="after")
    def _can_be_dated(self) -> Self:
        if self.fresh is None:
            several = len(set(selectors(self.value))) > 1
            if several or _MOVES_LABELS.search(self.value):
                why = "has several selectors" if several else "changes labels"
                raise FieldError(f"`value` {why}, so `fresh` is required", ("value",))
        return self

    @property
    def quantile(self) -> bool:
        """Whether it is a quantile of the samples of one series."""
        return _QUANTILE.search(self.value) is not None

    @property
    def dated(self) -> str:
        """The query for the time of the newest sample."""
        return self.fresh or f"timestamp({selectors(self.value)[0]})"


class WholeOnly(Strict):
    """A node has no value if a series of its GPUs has this label with another value."""

    label: PrometheusLabel = Field(description="A label that the queries keep.")
    value: str = Field(description="Its value for a GPU that is not in partitions.")


class RejectRule(Strict):
    """A sign that a value is wrong, so that it does not count."""

    query: OwnQuery = Field(
        description="PromQL, with the same labels as `value`, that answers for those nodes, pods "
        "or devices whose value is wrong, and for nobody else."
    )
    reason: str = Field(description="What is wrong then, for people.")


class OwnReading(Series):
    """A reading of nodes or pods.

    Each series must be of one node or pod, or of one device, zone or link of it. What is not a
    number, below 0, above the highest legal value, older than the policy's `maxAge`, or given twice
    and differently, counts as absent, and absent is never 0.
    """

    unit: Unit = Field(description="Of the values of `value`.")
    needs: str = Field("", description="Which exporter it needs, with which settings: for people.")
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
    alternatives: list[Series] = Field(
        default_factory=list,
        description="Other sources of the same value, in order: each completes what is missing in "
        "those before it. What two of them measure differently, by more than 30 points of a ratio "
        "or 30% of the larger value, has no value, unless samples (`count`) may be so far off by "
        "chance. What may differ by more, such as a rate over another time, is joined with `or` "
        "in one query instead.",
    )
    rejectWhen: list[RejectRule] = Field(
        default_factory=list,
        description="Who has no value although there is one: a counter that stands still, a value "
        "that is frozen.",
    )
    free: Series | None = Field(
        None, description="Of `devices`: what they have besides, so that the value is a share."
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
    devices: Maker | None = Field(
        None,
        description="The value is of each GPU of this maker, known by its UUID or the like, and of "
        "the pods that have it: partitions and GPUs that pods share are understood.",
    )
    wholeOnly: WholeOnly | None = Field(
        None, description="Of `devices`: what tells that a GPU is not in partitions."
    )
    podsNotReported: Yes | None = Field(
        None,
        description="Of `devices`: the exporter may not tell which pod has a GPU. Unless a series "
        "does, no such pod ought to have a value.",
    )
    holders: OwnQuery | None = Field(
        None, description="Of `devices`: PromQL for the newest sample by device and pod."
    )
    resourceWords: list[str] = Field(
        default_factory=list,
        description="As `resources`, for all extended resources whose names hold one of these.",
    )
    reported: Yes | None = Field(
        None, description="For `node.` readings: other nodes that report it count as well."
    )
    ownNetwork: Yes | None = Field(
        None, description="For `pod.` readings: pods in the host's network have no value."
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
    def _has_what_it_needs(self) -> Self:
        allocatable = self.capacity is not None and self.capacity.allocatable
        if allocatable and not (self.resources or self.devices):
            raise FieldError("`allocatable` needs `resources`", ("capacity", "allocatable"))
        for name in ("free", "holders", "wholeOnly"):
            if getattr(self, name) is not None and self.devices is None:
                raise FieldError(f"`{name}` needs `devices`", (name,))
        return self

    @property
    def sources(self) -> tuple[Series, ...]:
        """All ways to the value, in order of preference."""
        return (self, *self.alternatives)

    @property
    def relative(self) -> bool:
        """Whether a node's value is a share of what it can be."""
        return self.unit == "ratio" or self.capacity is not None or self.free is not None

    @property
    def queries(self) -> tuple[str, ...]:
        """All that is queried for it."""
        ways = (*self.sources, *([self.free] if self.free else ()))
        more = [self.capacity.query if self.capacity else None, self.holders]
        more += [rule.query for rule in self.rejectWhen]
        series_queries = (query for way in ways for query in (way.value, way.count, way.dated))
        return tuple(dict.fromkeys(query for query in (*series_queries, *more) if query))

    @property
    def most(self) -> float:
        """The largest legal value of one series."""
        return HIGHEST[self.unit] if self.highest is None else self.highest

    @property
    def rate(self) -> bool:
        """Whether pods younger than the window would read too low."""
        return re.search(r"\b(rate|increase|deriv|delta)\s*\(", self.value) is not None
