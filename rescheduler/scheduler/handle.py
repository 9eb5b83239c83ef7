"""What all plugins of one cluster share: the snapshot, the occupancy, and parts computed once."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.pods.label_groups import LabelGroups
from rescheduler.kube.pods.node_selection import NodeSelection
from rescheduler.kube.pods.tolerations import NodeTaints
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.occupancy import Occupancy

Part = TypeVar("Part")


class Handle:
    """The snapshot, the working copy, and the parts that several plugins or profiles share.

    It is to a plugin of this model what framework.Handle is to one of kube-scheduler.
    """

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy) -> None:
        self.snapshot = snapshot
        self.occupancy = occupancy
        self._parts: dict[Callable[[Handle], Any], Any] = {}

    def part(self, make: Callable[["Handle"], Part]) -> Part:
        """What this function makes of the handle; made once, and shared by all who ask."""
        if make not in self._parts:
            self._parts[make] = make(self)
        made: Part = self._parts[make]
        return made

    @cached_property
    def labels(self) -> NodeLabels:
        """The labels of the nodes."""
        return NodeLabels(self.snapshot.nodes)

    @cached_property
    def selection(self) -> NodeSelection:
        """Which nodes selectors and affinities accept."""
        return NodeSelection(self.labels)

    @cached_property
    def taints(self) -> NodeTaints:
        """The nodes by their taints."""
        return NodeTaints(self.snapshot.nodes)

    @cached_property
    def groups(self) -> LabelGroups:
        """All pods, by namespace and labels."""
        pods = self.snapshot.pods
        return LabelGroups(pods, np.arange(len(pods), dtype=np.int32))
