"""Plugin VolumeBinding: a pod goes where all its volumes can be reached."""

from typing import ClassVar

import msgspec
import numpy as np

from rescheduler.model.readings import BoolArray
from rescheduler.scheduler.claims import Claims
from rescheduler.scheduler.node_labels import NodeLabels
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement


class VolumeBinding(Plugin):
    """Bound volumes only; pods with unbound claims never come here (see Claims.problem)."""

    name: ClassVar[str] = "VolumeBinding"

    def __init__(self, labels: NodeLabels, claims: Claims) -> None:
        self._labels = labels
        self._claims = claims
        self._known: dict[bytes, BoolArray] = {}

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes that the required node affinity of every bound volume accepts."""
        required = [
            each.spec.nodeAffinity.required
            for each in self._claims.volumes(pod.namespace, pod.spec)
            if each.spec.nodeAffinity is not None and each.spec.nodeAffinity.required is not None
        ]
        if not required:
            return None
        key = msgspec.msgpack.encode(required)
        known = self._known.get(key)
        if known is None:
            known = np.ones(self._labels.count, dtype=np.bool_)
            for each in required:
                known &= self._labels.matching(each)
            self._known[key] = known
        passing = known
        return lambda: passing
