"""Whether a pod that fits nowhere could take the place of pods of a lower priority."""

from collections.abc import Sequence

import numpy as np

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.requests import Requests


class Preemption:
    """The pods by priority, on the working copy."""

    def __init__(self, pods: Sequence[Pod], occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._priorities = np.array([pod_priority(pod.spec) for pod in pods], dtype=np.int64)
        self._lowest = int(self._priorities.min(initial=0))

    def possible(self, pod: Pod, requests: Requests, open_nodes: BoolArray) -> BoolArray:
        """(nodes,) which might have room, if all their pods of a lower priority went.

        open_nodes: (nodes,) those that no unresolvable filter rejects. Other filters than
        resources are taken to pass: this errs towards yes.
        Source: pkg/scheduler/framework/plugins/defaultpreemption.
        """
        mine = pod_priority(pod.spec)
        nowhere = np.zeros(len(open_nodes), dtype=np.bool_)
        if mine <= self._lowest or pod.spec.preemptionPolicy == "Never" or not open_nodes.any():
            return nowhere
        state = self._occupancy
        victims = np.flatnonzero((self._priorities < mine) & (state.where >= 0)).astype(np.int32)
        nodes = state.where[victims]
        holding = np.bincount(nodes, minlength=len(open_nodes))
        roomy: BoolArray = open_nodes & (holding > 0)
        for name, amount in requests.plain.items():
            row = state.index.get(name)
            if row is None:
                return nowhere
            freed = np.zeros(len(open_nodes), dtype=np.int64)
            np.add.at(freed, nodes, state.amounts_of(victims, row))
            roomy &= state.allocatable[row] - state.requested[row] + freed >= amount
        return roomy
