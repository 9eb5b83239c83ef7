"""Plugin NodeUnschedulable: no pod goes to a cordoned node unless it tolerates that."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rescheduler.kube.objects import Node, Taint
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.plugins.taint_toleration import tolerates

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(Plugin):
    """Rejects nodes with `spec.unschedulable`. The set of them never changes in a snapshot."""

    name: ClassVar[str] = "NodeUnschedulable"

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._open = np.array([not node.spec.unschedulable for node in nodes], dtype=np.bool_)

    def filter(self, pod: Replacement) -> Filter | None:
        """The open nodes; None where all are, or where the pod tolerates a cordon."""
        if self._open.all() or any(tolerates(each, _CORDON) for each in pod.spec.tolerations or ()):
            return None
        return lambda: self._open
