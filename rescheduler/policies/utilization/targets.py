"""How full nodes may be: what operators write about each resource, and for which nodes."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from rescheduler.documents.field_problems import FieldError, FieldPath, FieldWarning
from rescheduler.documents.fields import NO_OTHERS, LinkSpeedText, PositiveDuration, Ratio, Strict
from rescheduler.documents.label_selector import Selector
from rescheduler.kube.quantity import units
from rescheduler.model.cluster.readings import LinkSpeed

READINGS = {
    "gpu": ("gpu",),
    "gpuMemory": ("gpu.memory",),
    "cpu": ("cpu",),
    "memory": ("memory",),
    "network": ("network.receive", "network.transmit"),
    "rdma": ("rdma.receive", "rdma.transmit"),
}
"""The catalogue's readings of each resource, without `node.` or `pod.`."""

_OWN = r"[a-zA-Z][a-zA-Z0-9]*(\.[a-zA-Z][a-zA-Z0-9]*)*"

FINDING_NOUNS = {"UTL001": ("hot node", "hot nodes"), "UTL003": ("hot GPU", "hot GPUs")}
"""What a finding counts, if the load is above `high`: the node, or the GPU, once each."""


def readings_of(resource: str) -> tuple[str, ...]:
    """The readings of a resource, without `node.` or `pod.`; one of an operator is its own name."""
    return READINGS.get(resource, (resource,))


def _own_name(value: str) -> str:
    built_in = {name: field for field, names in READINGS.items() for name in names}
    field = value if value in READINGS else built_in.get(value)
    if field is not None:
        raise FieldError(f"`{value}` is built in", hint=f"`{field}` beside `own`")
    if not re.fullmatch(_OWN, value):
        raise FieldError("must be the name of a reading without `node.`, such as queue")
    return value


OwnResource = Annotated[
    str, AfterValidator(_own_name), WithJsonSchema({"type": "string", "pattern": f"^{_OWN}$"})
]

OF_GPUS = frozenset({"gpu", "gpuMemory"})
"""The resources that a node has by the device."""


class Target(Strict):
    """When a node is too full, and how far it is then drained."""

    high: Ratio = Field(description="A node above this is hot, and gives pods away.")
    low: Ratio | None = Field(
        None,
        description="A hot node is drained down to this, where others have room below it, over as "
        "many cycles as that takes, for up to 6 hours after a move that found it above `high`. The "
        "same as `high`, unless given.",
    )

    @model_validator(mode="after")
    def _band_is_upright(self) -> "Target":
        if self.low is not None and self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    @property
    def bottom(self) -> float:
        """What a hot node is drained down to."""
        return self.high if self.low is None else self.low


class PressedTarget(Target):
    """A target of a resource for which tasks wait when it is short (pressure stall information)."""

    pressure: Ratio | None = Field(
        None,
        description="A node where tasks wait for the resource for a greater share of the time is "
        "hot too, and drained down to `floor`.",
    )
    floor: Ratio = Field(
        0.5, description="Pressure counts only while more than this of the resource is in use."
    )


class LinkTarget(Target):
    """A target of the node's links, with the speed of those that do not report it."""

    linkSpeed: LinkSpeedText | None = Field(
        None,
        description="What each link carries in one direction where it reports no speed itself, as "
        "on most virtual machines: bits a second, such as `10G`. Without it such a node has no "
        "reading.",
    )

    @property
    def speed(self) -> float:
        """Bytes a second; 0 is not known."""
        return 0.0 if self.linkSpeed is None else units(self.linkSpeed) / 8


class Targets(Strict):
    """The target of each resource; at least one."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {reading: {"not": {"type": "null"}}}, "required": [reading]}
                for reading in (*READINGS, "own")
            ]
        }
    )

    gpu: Target | None = Field(None, description="Busy share of each GPU that pods share.")
    gpuMemory: Target | None = Field(
        None, description="Used share of the memory of each GPU that pods share."
    )
    cpu: PressedTarget | None = Field(None, description="Used share of the cores.")
    memory: PressedTarget | None = Field(None, description="Used share of the memory.")
    network: LinkTarget | None = Field(
        None, description="Used share of the interfaces' speed; the fuller direction counts."
    )
    rdma: Target | None = Field(
        None,
        description="Used share of the RDMA ports' speed; the fuller direction counts. Pods are "
        "distinguished by their SR-IOV functions only.",
    )
    own: (
        Annotated[dict[OwnResource, Target], Field(min_length=1, json_schema_extra=NO_OTHERS)]
        | None
    ) = Field(
        None,
        description="Targets of readings that a document of kind Readings defines, by their name: "
        "`queue` is the share that `node.queue` has of its `capacity`, and `pod.queue` what each "
        "pod adds to it, in the same unit. `headroom` needs `node.queue.peak` besides.",
    )

    @model_validator(mode="after")
    def _has_one(self) -> "Targets":
        if not dict(self.by_resource()):
            raise ValueError(f"at least one of {', '.join(READINGS)}, own is required")
        return self

    def by_resource(self) -> Iterator[tuple[str, Target]]:
        """The resources that have a target."""
        for resource in READINGS:
            target: Target | None = getattr(self, resource)
            if target is not None:
                yield resource, target
        yield from (self.own or {}).items()

    def unreachable(self, at: str) -> Iterator[str]:
        """The targets that no load can be above. at: the field that has them."""
        for resource, target in self.by_resource():
            if target.high >= 1:
                yield f"{at}.{resource}.high: no load is above 100%, so no node is ever hot by it"

    def pressed_in_vain(self, at: str) -> Iterator[str]:
        """The pressures that make no node hot. at: the field that has the targets."""
        for resource, target in self.by_resource():
            if not isinstance(target, PressedTarget) or target.pressure is None:
                continue
            place = f"{at}.{resource}"
            if target.pressure >= 1:
                yield f"{place}.pressure: tasks never wait for more than 100% of the time"
            elif target.floor >= target.high:
                yield (
                    f"{place}.pressure: it counts only above `floor` of {target.floor:.0%}, where "
                    f"`high` of {target.high:.0%} makes the node hot already"
                )

    def colder_than_hot(self, at: FieldPath, cold: float, *, said: bool) -> Iterator[FieldWarning]:
        """That a node may be cold and hot. at: the field that has them. said: whether cold is."""
        for resource, target in self.by_resource():
            if cold <= target.high:
                continue
            place, hot = (*at, resource, "high"), "so a node between is hot and cold"
            low, high = (f"{100 * share:.10g}%" for share in (cold, target.high))
            if said:
                name = ".".join(map(str, place))
                yield FieldWarning(("cold",), f"{low} is above {name} of {high}, {hot}")
            else:
                message = f"{high} is below `cold`, which is {low} unless given, {hot}"
                yield FieldWarning(place, message)

    def target_of(self, resource: str) -> Target | None:
        """The resource's target, if it has one."""
        if resource not in READINGS:
            return (self.own or {}).get(resource)
        target: Target | None = getattr(self, resource)
        return target


class NodeGroup(Strict):
    """Nodes with targets of their own."""

    nodes: Selector = Field(description="Labels of the nodes.")
    targets: Targets = Field(description="They replace all targets for these nodes.")


def link_speeds(targets: Targets, groups: Sequence[NodeGroup]) -> tuple[LinkSpeed, ...]:
    """What was declared for links that report no speed, the groups' first; () where nothing was."""
    speeds = [
        LinkSpeed(group.nodes.requirements, 0.0 if network is None else network.speed)
        for group in groups
        for network in (group.targets.network,)
    ]
    speeds.append(LinkSpeed((), 0.0 if targets.network is None else targets.network.speed))
    return tuple(speeds) if any(speed.speed > 0 for speed in speeds) else ()


class Headroom(Strict):
    """What must stay free where pods go: room for the node's own peaks."""

    window: PositiveDuration = Field(
        timedelta(minutes=30),
        description="Room on a node is what the 95th percentile over this time leaves.",
    )
