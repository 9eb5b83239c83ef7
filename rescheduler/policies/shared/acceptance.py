"""Which nodes would accept a pod, and what they would have against it.

This is not the scheduler model. Policies need to know which nodes a pod selects and tolerates;
whether there is room is checked where a landing is predicted.
"""

from collections.abc import Callable

import msgspec
import numpy as np

from rescheduler.kube.arrays import BoolArray, FloatArray, IntArray
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import PodSpec, Taint
from rescheduler.kube.pods.node_selection import NodeSelection, node_affinity
from rescheduler.kube.pods.tolerations import NodeTaints
from rescheduler.model.cluster.snapshot import Snapshot

_encode = msgspec.json.Encoder(order="deterministic").encode


class Acceptance:
    """Answers, per shape of pod, which nodes of a snapshot accept it; each shape is evaluated once.

    Answers are shared: do not write into them.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.labels = NodeLabels(snapshot.nodes)
        self.usable: BoolArray = np.fromiter(
            (node.ready and not node.spec.unschedulable for node in snapshot.nodes),
            dtype=np.bool_,
            count=len(snapshot.nodes),
        )
        """(nodes,) Ready and not cordoned."""
        self._taints = NodeTaints(snapshot.nodes)
        self._selection = NodeSelection(self.labels)
        self._everywhere: BoolArray = np.ones(len(snapshot.nodes), dtype=np.bool_)
        self._shape_of_spec: dict[int, bytes] = {}
        self._nodes: dict[bytes, BoolArray] = {}

    def shape(self, spec: PodSpec) -> bytes:
        """What two specs have in common when they accept the same nodes."""
        # The snapshot keeps every spec alive, so an id means one spec.
        shape = self._shape_of_spec.get(id(spec))
        if shape is None:
            required = node_affinity(spec).requiredDuringSchedulingIgnoredDuringExecution
            shape = _encode((spec.nodeSelector, required, spec.tolerations))
            self._shape_of_spec[id(spec)] = shape
        return shape

    def nodes(self, spec: PodSpec) -> BoolArray:
        """(nodes,) Ready, not cordoned, selected by the pod, and without a taint it must shun."""
        shape = self.shape(spec)
        if shape not in self._nodes:
            self._nodes[shape] = (
                self.usable & self.selected_nodes(spec) & self.tolerated_nodes(spec)
            )
        return self._nodes[shape]

    def selected_nodes(self, spec: PodSpec) -> BoolArray:
        """(nodes,) the nodes that the nodeSelector and the required node affinity accept."""
        selected = self._selection.required_nodes(spec)
        return self._everywhere if selected is None else selected

    def tolerated_nodes(self, spec: PodSpec) -> BoolArray:
        """(nodes,) the nodes without a NoSchedule or NoExecute taint that the pod must shun."""
        return self._taints.tolerated_nodes(spec.tolerations)

    def count_untolerated(self, spec: PodSpec, counted: Callable[[Taint], bool]) -> IntArray:
        """(nodes,) how many of the counted taints of each node the pod does not tolerate."""
        return self._taints.count_untolerated(spec.tolerations, counted)

    def preferred_weights(self, spec: PodSpec) -> FloatArray | None:
        """(nodes,) the weight of the preferred node affinity that each meets; None without one.

        Source: pkg/scheduler/framework/plugins/nodeaffinity, Score.
        """
        terms = node_affinity(spec).preferredDuringSchedulingIgnoredDuringExecution
        return self._selection.preference_weights(terms).astype(np.float64) if terms else None
