"""Plugin NodeUnschedulable: no pod goes to a cordoned node unless it tolerates that."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.objects import Node
from rescheduler.kube.pods.tolerations import CORDON, is_tolerated
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.profile import Profile


class NodeUnschedulable(Plugin):
    """Rejects nodes with `spec.unschedulable`. The set of them never changes in a snapshot."""

    name: ClassVar[str] = "NodeUnschedulable"
    rejection: ClassVar[str] = "node(s) were unschedulable"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True
    needs_pre_filter: ClassVar[bool] = False

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._open = np.array([not node.spec.unschedulable for node in nodes], dtype=np.bool_)

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """Of the cluster's nodes, for every profile alike."""
        return cls(handle.snapshot.nodes)

    def filter(self, pod: Replacement) -> Filter | None:
        """The open nodes; None where all are, or where the pod tolerates a cordon."""
        if self._open.all() or is_tolerated(CORDON, pod.spec.tolerations):
            return None
        return lambda: self._open
