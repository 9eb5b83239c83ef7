"""Plugin VolumeZone: the zone and region labels of a bound volume must be the node's."""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.storage import PersistentVolume
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.plugins.volumes.claims import Claims
from rescheduler.scheduler.profile import Profile

_LABELS = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Each topology label of a volume, and the node's label that stands in where it lacks that one."""


class VolumeZone(Plugin):
    """A volume's label may list several zones, joined by `__`; nodes without any label pass."""

    name: ClassVar[str] = "VolumeZone"
    rejection: ClassVar[str] = "node(s) had no available volume zone"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True

    def __init__(self, labels: NodeLabels, claims: Claims) -> None:
        self._labels = labels
        self._claims = claims

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """Of the cluster's nodes and claims, for every profile alike."""
        return cls(handle.labels, handle.part(Claims.new))

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes in the zones and regions of all the pod's volumes."""
        wanted = [
            pair
            for volume in self._claims.pod_claims(pod.namespace, pod.spec).bound
            for pair in _topology(volume)
        ]
        if not wanted:
            return None
        passing = np.ones(self._labels.count, dtype=np.bool_)
        for key, values in wanted:
            passing &= self._nodes_in_zones(key, values)
        placeless = np.ones(self._labels.count, dtype=np.bool_)
        for key in _LABELS:
            placeless &= ~self._labels.column(key).present
        passing |= placeless
        return lambda: passing

    def _nodes_in_zones(self, key: str, values: set[str]) -> BoolArray:
        own, fallback = self._labels.column(key), self._labels.column(_LABELS[key])
        answer = np.isin(own.codes, [own.values[value] for value in values if value in own.values])
        chosen = [fallback.values[value] for value in values if value in fallback.values]
        return answer | (~own.present & np.isin(fallback.codes, chosen))


def _topology(volume: PersistentVolume) -> Iterator[tuple[str, set[str]]]:
    labels = volume.metadata.labels or {}
    for key in _LABELS:
        if key in labels:
            yield key, set(labels[key].split("__"))
