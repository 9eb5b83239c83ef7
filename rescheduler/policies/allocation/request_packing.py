"""The term of an Allocation that empties nodes with few requests."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.problem import Problem
from rescheduler.policies.allocation.hinge_amounts import (
    annotated_targets,
    next_requested,
    requests_and_room,
    unreadable,
)
from rescheduler.policies.shared.loads.load import ResourceLoad, sum_by_node
from rescheduler.policies.shared.loads.packing import PackingTerm
from rescheduler.policies.shared.loads.resource_target import ResourceTarget


class RequestPackingTerm(PackingTerm):
    """Packing, where the load of a node is what its pods request of it.

    Nothing of it is measured, so no past of it is known, and no node counts as hot.
    """

    cold_code = "ALC004"
    cold_text = "little of it is requested"

    def __init__(
        self,
        snapshot: Snapshot,
        targets: Sequence[tuple[str, float]],
        selected: BoolArray,
        movable: BoolArray,
        cold: float,
    ) -> None:
        """targets: resources and shares of what is allocatable."""
        readable, _ = annotated_targets(snapshot.nodes)
        self._unreadable = unreadable(snapshot, selected & ~readable)
        selected = selected & readable
        loads = requested_loads(snapshot, targets, selected)
        super().__init__(snapshot, loads, selected, movable, cold)

    def warnings(self) -> tuple[Problem, ...]:
        """The nodes whose annotation cannot be read."""
        return (*super().warnings(), *self._unreadable)

    def findings(self) -> Iterator[Finding]:
        """Those of packing, with the codes of Allocation."""
        for finding in super().findings():
            yield finding if finding.code == self.cold_code else replace(finding, code="ALC001")

    def measured_codes(self) -> frozenset[str]:  # type: ignore[override] # of Lasting
        """No finding comes from readings: the history of findings keeps them all."""
        return frozenset()

    def finding_ages(self) -> FloatArray:
        """(pods,) not known."""
        return np.full(len(self._home), np.nan)


def requested_loads(
    snapshot: Snapshot, targets: Sequence[tuple[str, float]], selected: BoolArray
) -> list[ResourceTarget]:
    """What pods request as loads with targets (resource and share of what is allocatable).

    selected: (nodes,) which have them; a target in the annotation of one wins.
    """
    nodes = len(snapshot.nodes)
    _, annotated = annotated_targets(snapshot.nodes)
    names = [name for name, _ in targets]
    requests, room = requests_and_room(snapshot, names)
    then = next_requested(snapshot, names)
    loads = []
    for name, share in targets:
        offered, used = room[name] > 0, requests[name]
        capacity = np.where(offered, room[name], np.nan)
        sums = sum_by_node(used, snapshot.pod_node, nodes)
        coming = then[name]
        load = ResourceLoad(
            name=f"node.requests.{name}",
            pod_name=f"pod.requests.{name}",
            measured=np.where(offered, sums, np.nan),
            capacity=capacity,
            expected=offered,
            used=coming,
            freed=used,
            usage_known=np.ones(len(used), dtype=np.bool_),
            missing=np.zeros(len(used), dtype=np.bool_),
            trusted=np.ones(nodes, dtype=np.bool_),
            shadow=np.zeros(nodes),
        )
        own = (
            np.array([annotation.get(name, np.nan) for annotation in annotated], dtype=np.float64)
            / capacity
        )
        high = np.where(selected & offered, np.where(np.isnan(own), share, own), np.nan)
        loads.append(
            ResourceTarget(
                resource=name,
                load=load,
                high=high,
                low=high,
                pressed=np.zeros(nodes, dtype=np.bool_),
                floor=np.full(nodes, np.nan),
                hidden=np.zeros(nodes),
                ceiling=np.full(nodes, np.inf),
                elsewhere=share,
            )
        )
    return loads
