"""Pods that a preemption has nominated for a node, where the scheduler keeps room for them."""

import numpy as np

from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.shape import Shape


class Nominated:
    """The unbound pods that expect to be put on a node, by that node."""

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy) -> None:
        """occupancy: of the working copy."""
        self._snapshot = snapshot
        self._occupancy = occupancy
        pods_by_node: dict[int, list[int]] = {}
        index = snapshot.node_index
        for number, pod in enumerate(snapshot.pods):
            nominated = pod.status.nominatedNodeName
            if nominated and not pod.node and nominated in index:
                pods_by_node.setdefault(index[nominated], []).append(number)
        self._pods: dict[int, IntArray] = {
            node: np.array(pods, dtype=np.int32) for node, pods in pods_by_node.items()
        }

    def reject(
        self, pod: int, shape: Shape, passing: BoolArray, rejections: dict[str, int]
    ) -> None:
        """Reject nodes that fit only without the pods that are nominated for them.

        Those of the same or a higher priority count, each on its own node.
        """
        mine = pod_priority(self._snapshot.pods[pod].spec)
        for node, nominated in self._pods.items():
            ahead = [
                rival
                for rival in nominated.tolist()
                if rival != pod
                and self._occupancy.where[rival] < 0
                and pod_priority(self._snapshot.pods[rival].spec) >= mine
            ]
            if not passing[node] or not ahead:
                continue
            with self._occupancy.place_pods(np.array(ahead, dtype=np.int32), node):
                for name, passes in shape.filter_results(len(passing)):
                    if not passes[node]:
                        passing[node] = False
                        rejections[name] = rejections.get(name, 0) + 1
                        break
