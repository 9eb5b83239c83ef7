"""Utilization: keep measured load of nodes below a target."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from rescheduler.model.readings import Problem, ReadingRequest
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import (
    Match,
    NodeMatch,
    Policy,
    PositiveDuration,
    Ratio,
    Strict,
)
from rescheduler.policies.load import read_load
from rescheduler.policies.matching import select_nodes, select_pods
from rescheduler.policies.relief import Gauge, UtilizationTerm

_READINGS = {
    "gpu": ("gpu",),
    "gpuMemory": ("gpu.memory",),
    "cpu": ("cpu",),
    "memory": ("memory",),
    "network": ("network.receive", "network.transmit"),
}
"""The catalogue's readings of each resource, without `node.` or `pod.`."""

_RESIDUAL = {"gpu": (-0.1, 0.1), "gpuMemory": (-0.1, 0.1)}
"""Devices are used by pods alone."""

_BASE_LOAD = (-0.1, 0.3)
"""The system itself uses CPU, memory and network; far more than this is not the system."""


class Target(Strict):
    """When a node is too full, and how far it is then drained."""

    high: Ratio = Field(description="A node above this is hot, and gives pods away.")
    low: Ratio | None = Field(
        None, description="A hot node is drained down to this. The same as `high`, unless given."
    )

    @model_validator(mode="after")
    def _band_is_upright(self) -> "Target":
        if self.low is not None and self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    @property
    def floor(self) -> float:
        """What a hot node is drained down to."""
        return self.high if self.low is None else self.low


class Targets(Strict):
    """The target of each resource; at least one."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {each: {"not": {"type": "null"}}}, "required": [each]}
                for each in _READINGS
            ]
        }
    )

    gpu: Target | None = Field(None, description="Busy share of the node's GPUs.")
    gpuMemory: Target | None = Field(None, description="Used share of the GPUs' memory.")
    cpu: Target | None = Field(None, description="Used share of the cores.")
    memory: Target | None = Field(None, description="Used share of the memory.")
    network: Target | None = Field(
        None, description="Used share of the interfaces' speed; the fuller direction counts."
    )

    @model_validator(mode="after")
    def _has_one(self) -> "Targets":
        if not dict(self.given()):
            raise ValueError(f"at least one of {', '.join(_READINGS)} is required")
        return self

    def given(self) -> Iterator[tuple[str, Target]]:
        """The resources that have a target."""
        for resource in _READINGS:
            target: Target | None = getattr(self, resource)
            if target is not None:
                yield resource, target


class Utilization(Policy):
    """Charge a node for the load above its target, in average pods of a hot node.

    A node above `high` is hot and is charged for all that is above `low`; the others for what is
    above `high`. The unit is what a pod uses on average on the hot nodes. A node whose load is not
    known, or not explained by its pods (within 10% of the node below, and 10% of GPUs or 30% of all
    else above), gives no pods away; what would land on a node of unknown load is charged in full.
    """

    summary: ClassVar[str] = (
        "Keep the measured load of GPUs, CPU, memory and network of each node below a target."
    )

    kind: Literal["Utilization"] = "Utilization"
    nodes: NodeMatch = Field(description="The nodes to look at.")
    match: Match = Field(description="The pods that may be moved. Every pod's load counts.")
    targets: Targets = Field(description="What is too full, by resource; at least one.")
    window: PositiveDuration = Field(
        timedelta(minutes=5), description="Over what time the load is averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of nodes and of pods that must have a value; with less, the policy "
        "has no say.",
    )

    def requests(self) -> list[ReadingRequest]:
        """The node's and the pods' readings of every resource with a target."""
        return [
            request
            for resource, _ in self.targets.given()
            for reading in _READINGS[resource]
            for request in self._pair(reading)
        ]

    def compile(self, snapshot: Snapshot) -> UtilizationTerm | Problem:
        """The term, or the problem of the first reading that is not fit to act on."""
        looked_at = select_nodes(self.nodes, snapshot)
        gauges = []
        for resource, target in self.targets.given():
            for reading in _READINGS[resource]:
                residual = _RESIDUAL.get(resource, _BASE_LOAD)
                load = read_load(snapshot, self._pair(reading), looked_at, residual)
                if isinstance(load, Problem):
                    return load
                gauges.append(Gauge(resource, load, target.high, target.floor))
        return UtilizationTerm(snapshot, gauges, looked_at, select_pods(self.match, snapshot))

    def _pair(self, reading: str) -> tuple[ReadingRequest, ReadingRequest]:
        quality: dict[str, Any] = {
            "window": self.window.total_seconds(),
            "max_age": self.maxAge.total_seconds(),
            "min_coverage": self.minCoverage,
        }
        return (
            ReadingRequest(f"node.{reading}", **quality),
            ReadingRequest(f"pod.{reading}", **quality),
        )
