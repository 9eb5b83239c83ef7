"""Numa: keep a pod's devices, CPUs and memory in one NUMA zone."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rescheduler.documents.fields import PositiveDuration, Ratio
from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.model.cluster.readings import BoolArray, FloatArray, ReadingRequest, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.numa.device_zones import NUMA_ATTRIBUTES, DeviceZones
from rescheduler.policies.numa.term import NumaTerm
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.policies.shared.node_signal import read_signal

READING = "node.numa.memory"
"""How full the fullest zone of a node is."""
ATTRIBUTE = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z_][A-Za-z0-9_]*$"
"""An attribute's full name: its domain and its own."""


class Numa(Policy):
    """Charge a pod for the NUMA zones it lies in beyond the fewest that could hold it.

    A pod is charged (zones it lies in - fewest) / (zones of its node - fewest), so 1.0 is a pod
    spread over all of its node. Devices (GPUs, NICs) count for every pod, CPUs, memory and huge
    pages for Guaranteed pods, as kubelet aligns them. The zones of a pod come from the annotation
    `kai.scheduler/numa-placement-observed`, or follow for certain from what the zones have given
    away; else the pod counts as well placed. A move gains only where NodeResourceTopology proves
    that the kubelet there (`single-numa-node`, `restricted` or `best-effort`, scope `container` or
    `pod`) has zones that hold the pod; a node without one, or whose object disagrees with its pods,
    is neither left nor counted on. Whatever the policies are, no pod that requests something of a
    zone is moved to where these objects show that its kubelet would refuse it, nor to a
    `single-numa-node` or `restricted` one whose object cannot be relied on (FEA007). Devices of
    resource claims (dynamic resource allocation) are charged alike and besides, for the NUMA nodes
    that they lie on, by `attributes` in ResourceSlices, or by the PCIe root that they share with a
    device whose NUMA node is known. kube-scheduler does not consider NUMA nodes when it allocates:
    where the pod would go it counts with the first free devices of the slice, which is what it
    gets, or, where that is not certain (several slices; other pods with claims that come, go or
    wait), with the widest choice that there is; a `matchAttribute` constraint on such an attribute
    makes one NUMA node certain. Nothing is gained where the NUMA node of a device is not known, or
    where a request is not modeled. With `crowded`, a pod is also charged for lying on a node whose
    fullest zone is above that: (load - crowded) / (1 - crowded), times what the pod's memory is of
    a zone. What a move has brought is measured where it is known how the pod lies after it; else it
    counts neither for nor against the policy. Sources: kubelet's topology manager and
    `topology.node.k8s.io/v1alpha2`.
    """

    summary: ClassVar[str] = "Keep the GPUs, CPUs, memory and NICs of a pod in one NUMA zone."
    codes: ClassVar[tuple[str, ...]] = ("NUM", "FEA007")
    finding_nouns: ClassVar[Mapping[str, tuple[str, str]]] = {
        "NUM001": ("pod split over NUMA zones", "pods split over NUMA zones")
    }

    keeps_charges: ClassVar[bool] = True
    each_alone: ClassVar[bool] = True

    kind: Literal["Numa"] = "Numa"
    nodes: NodeMatch = Field(description="The nodes to evaluate.")
    match: Match = Field(description="The pods to evaluate.")
    attributes: list[Annotated[str, Field(pattern=ATTRIBUTE)]] = Field(
        list(NUMA_ATTRIBUTES),
        description="Attributes of devices in ResourceSlices with their NUMA node; the first "
        "that a device has counts. An empty list reads none of them.",
    )
    crowded: Ratio | None = Field(
        None,
        description="A node is crowded if the memory of a zone of it is fuller than this. Needs "
        "node_exporter's collector meminfo_numa.",
    )
    window: PositiveDuration = Field(
        timedelta(minutes=5), description="Over what time the zones' memory is averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of nodes that must have a value; with less, the policy is not "
        "evaluated.",
    )

    def requests(self) -> list[ReadingRequest]:
        """The zones' memory, where `crowded` is evaluated."""
        return [] if self.crowded is None else [self._request]

    def unreachable(self) -> Iterator[str]:
        """A zone can be no more crowded than full."""
        if self.crowded is not None and self.crowded >= 1:
            yield "crowded: no zone is above 100%, so none is ever crowded"

    def without_effect(self) -> Iterator[str]:
        """Also the quality of a reading that is not requested."""
        yield from super().without_effect()
        if self.crowded is None:
            for field in sorted(self.model_fields_set & {"window", "maxAge", "minCoverage"}):
                yield f"crowded is not given, so {field} has no effect"

    def compile(self, snapshot: Snapshot) -> NumaTerm | Problem:
        """The term, or the problem that no object reports zones."""
        devices = self._devices(snapshot)
        if not snapshot.topologies and not devices.has_zones.any():
            served = snapshot.served.get("NodeResourceTopology")
            lack = (
                f"NodeResourceTopology is not read, as {served}"
                if served
                else ("no NodeResourceTopology is in the cluster")
            )
            return Problem(
                "NUM004",
                f"{lack}, and no ResourceSlice has the NUMA "
                "node of a device: in which NUMA zones pods lie is not known",
            )
        selected = select_nodes(self.nodes, snapshot)
        excess = self._excess(snapshot, selected)
        if isinstance(excess, Problem):
            return excess
        matched = select_pods(self.match, snapshot)
        since = self._crowded_for(snapshot)
        return NumaTerm(snapshot, selected, matched, excess, devices, since)

    def _devices(self, snapshot: Snapshot) -> DeviceZones:
        inventory = DeviceInventory(
            snapshot.resource_slices, snapshot.node_index, snapshot.device_taint_rules
        )
        return DeviceZones(inventory, tuple(self.attributes), len(snapshot.nodes))

    @property
    def _request(self) -> ReadingRequest:
        return ReadingRequest(
            READING,
            window=self.window.total_seconds(),
            max_age=self.maxAge.total_seconds(),
            min_coverage=self.minCoverage,
            span=self.span,
        )

    def _crowded_for(self, snapshot: Snapshot) -> FloatArray | None:
        """(nodes,) seconds for which each has been crowded; None where the past is not known."""
        reading = snapshot.readings.find(self._request)
        if self.crowded is None or reading is None or reading.range_samples is None:
            return None
        return seconds_held(reading.range_samples > self.crowded, self.span)

    def _excess(self, snapshot: Snapshot, selected: BoolArray) -> FloatArray | Problem:
        """(nodes,) how far the fullest zone is beyond the limit, 0 to 1; NaN is not known."""
        if self.crowded is None:
            return np.zeros(len(snapshot.nodes))
        signal = read_signal(snapshot, self._request, selected, highest=1.05)
        if isinstance(signal, Problem):
            return signal
        loads = np.where(signal.unknown, np.nan, np.nan_to_num(signal.values))
        return np.clip((loads - self.crowded) / max(1.0 - self.crowded, 1e-9), 0.0, 1.0)
