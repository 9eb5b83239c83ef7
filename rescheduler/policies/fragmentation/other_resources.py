"""What pending pods ask for besides CPU, memory and GPUs, and for how many of them it is free.

Only what is free now counts: nothing is moved to free it.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from rescheduler.kube.nodes.resource_names import is_counted
from rescheduler.kube.objects import PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests, scheduler_units
from rescheduler.kube.quantity import scheduler_amount
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.fragmentation.free_capacity import Amounts

ResourceRequests = tuple[tuple[str, int], ...]
"""Resource name and amount as kube-scheduler counts it; every pod asks for one of `pods`."""


class OtherResources:
    """On one snapshot. without: the resources that are counted elsewhere."""

    def __init__(self, snapshot: Snapshot, without: Iterable[str]) -> None:
        self._snapshot = snapshot
        self._without = frozenset(without)
        self._left: dict[str, Amounts] = {}

    def spec_requests(self, spec: PodSpec) -> ResourceRequests:
        """What such a pod asks for of them."""
        amounts = {
            name: scheduler_units(name, amount)
            for name, amount in pod_requests(spec).items()
            if amount > 0 and is_counted(name) and name not in self._without
        }
        return tuple(sorted({**amounts, "pods": 1}.items()))

    def places(self, spec: PodSpec) -> Amounts:
        """(nodes,) for how many such pods there is enough; none for one with ResourceClaims.

        The devices of claims are not counted here, and kube-scheduler may find none.
        """
        if spec.resourceClaims:
            return np.zeros(len(self._snapshot.nodes), dtype=np.int64)
        free = [self._free(name) // amount for name, amount in self.spec_requests(spec)]
        answer: Amounts = np.maximum(np.min(free, axis=0), 0)
        return answer

    @cached_property
    def _requests(self) -> list[dict[str, int]]:
        return [dict(self.spec_requests(pod_spec)) for pod_spec in self._snapshot.pod_asking[0]]

    def _free(self, name: str) -> Amounts:
        """(nodes,) what is left of the resource."""
        if name not in self._left:
            snapshot = self._snapshot
            allocatable = (node.status.allocatable or {} for node in snapshot.nodes)
            free = np.array(
                [scheduler_amount(name, room.get(name, 0)) for room in allocatable], dtype=np.int64
            )
            amounts = np.array([request.get(name, 0) for request in self._requests], dtype=np.int64)
            bound = np.flatnonzero(snapshot.pod_node >= 0)
            taken = amounts[snapshot.pod_asking[1][bound]]
            np.subtract.at(free, snapshot.pod_node[bound], taken)
            self._left[name] = free
        return self._left[name]
