"""Which nodes can give a pod its unbound claims: volumes that lie ready, or new ones.

Source: pkg/scheduler/framework/plugins/volumebinding/binder.go and component-helpers
storage/volume/pv_helpers.go.
"""

from collections.abc import Iterable

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import LabelSelector, LabelSelectorRequirement
from rescheduler.kube.pods.node_selection import NodeSelection
from rescheduler.kube.quantity import nanos
from rescheduler.kube.selectors import matches
from rescheduler.kube.storage import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.plugins.volumes.claims import Claims, class_of, selected_node

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_FILESYSTEM = "Filesystem"


class VolumeOffer:
    """What the nodes have for all the unbound claims of a pod, one answer per node.

    passing: (nodes,) the nodes that have a volume, or can make one, for every claim. static:
    (nodes,) those that take a volume that lies ready for at least one claim. ready, made: class to
    (nodes,) bytes requested and bytes there, of volumes that lie ready and of new ones; new ones
    count only where the driver reports its capacity.
    """

    def __init__(self, count: int) -> None:
        self.passing: BoolArray = np.ones(count, dtype=np.bool_)
        self.static: BoolArray = np.zeros(count, dtype=np.bool_)
        self.ready: dict[str, tuple[Int64Array, Int64Array]] = {}
        self.made: dict[str, tuple[Int64Array, Int64Array]] = {}


class ClaimOffers:
    """Volumes by class, drivers and capacities; answers for all nodes at once."""

    def __init__(
        self, snapshot: Snapshot, labels: NodeLabels, selection: NodeSelection, claims: Claims
    ) -> None:
        self.count = labels.count
        self._labels = labels
        self._selection = selection
        self._claims = claims
        self._volumes: dict[str, list[PersistentVolume]] = {}
        for volume in snapshot.volumes:
            self._volumes.setdefault(class_of(volume), []).append(volume)
        for volumes in self._volumes.values():
            volumes.sort(key=_size)
        self._drivers = {driver.metadata.name: driver.spec for driver in snapshot.csi_drivers}
        self._capacities: dict[str, list[CSIStorageCapacity]] = {}
        for capacity in snapshot.storage_capacities:
            self._capacities.setdefault(capacity.storageClassName, []).append(capacity)

    def reachable(self, volume: PersistentVolume) -> BoolArray | None:
        """(nodes,) the nodes that the volume's node affinity accepts; None: all."""
        affinity = volume.spec.nodeAffinity
        return self._selection.selected_nodes(affinity.required if affinity else None)

    def offer(self, waiting: Iterable[PersistentVolumeClaim]) -> VolumeOffer:
        """What each node has for these claims; smaller claims choose first."""
        answer = VolumeOffer(self._labels.count)
        taken: dict[str, BoolArray] = {}
        for claim in sorted(waiting, key=requested_storage):
            node = selected_node(claim)
            if node:
                chosen = np.zeros(self._labels.count, dtype=np.bool_)
                if node in self._labels.index:
                    chosen[self._labels.index[node]] = True
                answer.passing &= chosen
                served = np.zeros(self._labels.count, dtype=np.bool_)
            else:
                served = self._ready(claim, taken, answer)
            answer.passing &= served | self._provisioning_nodes(claim, answer)
        return answer

    def _ready(
        self, claim: PersistentVolumeClaim, taken: dict[str, BoolArray], answer: VolumeOffer
    ) -> BoolArray:
        """The nodes with a volume for the claim; the smallest that fits is taken, per node."""
        count = self._labels.count
        served = np.zeros(count, dtype=np.bool_)
        closed = np.zeros(count, dtype=np.bool_)
        name = class_of(claim)
        volumes = self._volumes.get(name, ())
        # A volume that is reserved for the claim is taken before any other.
        for volume in sorted(volumes, key=lambda volume: volume.spec.claimRef is None):
            reserved = volume.spec.claimRef is not None
            if not _suits(volume, claim, reserved=reserved):
                continue
            within = self.reachable(volume)
            open_to = ~(served | closed)
            if within is not None:
                open_to &= within
            if reserved and within is not None:
                closed |= ~within
            others = taken.get(volume.metadata.name)
            if others is not None:
                open_to &= ~others
            if not open_to.any():
                continue
            taken[volume.metadata.name] = open_to if others is None else open_to | others
            served |= open_to
            answer.static |= open_to
            needed, room = answer.ready.setdefault(name, _zero_amounts(count))
            needed[open_to] += requested_storage(claim)
            room[open_to] += _size(volume)
        return served

    def _provisioning_nodes(self, claim: PersistentVolumeClaim, answer: VolumeOffer) -> BoolArray:
        """The nodes for which a new volume can be made."""
        nowhere = np.zeros(self._labels.count, dtype=np.bool_)
        storage_class = self._claims.storage_class(claim)
        if storage_class is None or storage_class.provisioner in ("", _NO_PROVISIONER):
            return nowhere
        allowed = self._allowed_nodes(storage_class)
        driver = self._drivers.get(storage_class.provisioner)
        size = requested_storage(claim)
        if driver is None or not driver.storageCapacity or not size:
            return allowed
        name = storage_class.metadata.name
        needed, room = answer.made.setdefault(name, _zero_amounts(self._labels.count))
        enough = nowhere
        for capacity in self._capacities.get(name, ()):
            limit = (
                capacity.capacity
                if capacity.maximumVolumeSize is None
                else capacity.maximumVolumeSize
            )
            if limit is None or capacity.nodeTopology is None or _bytes(limit) < size:
                continue
            reached = self.nodes_of_selector(capacity.nodeTopology) & ~enough
            room[reached] = _bytes(capacity.capacity or 0)
            enough |= reached
        needed[enough] += size
        return allowed & enough

    def _allowed_nodes(self, chosen: StorageClass) -> BoolArray:
        """The nodes of the class's allowedTopologies; an empty term allows none."""
        if not chosen.allowedTopologies:
            return np.ones(self._labels.count, dtype=np.bool_)
        answer = np.zeros(self._labels.count, dtype=np.bool_)
        for term in chosen.allowedTopologies:
            if not term.matchLabelExpressions:
                continue
            within = np.ones(self._labels.count, dtype=np.bool_)
            for expression in term.matchLabelExpressions:
                within &= self._labels.satisfying_label(
                    LabelSelectorRequirement(
                        key=expression.key, operator="In", values=expression.values
                    )
                )
            answer |= within
        return answer

    def nodes_of_selector(self, selector: LabelSelector) -> BoolArray:
        """(nodes,) the nodes that a label selector selects; an empty one selects all."""
        answer = self._labels.nodes_with_labels(selector.matchLabels or {})
        for expression in selector.matchExpressions or ():
            answer &= self._labels.satisfying_label(expression)
        return answer


def requested_storage(claim: PersistentVolumeClaim) -> int:
    """Bytes of storage that a claim asks for."""
    requests = claim.spec.resources.requests if claim.spec.resources else None
    return _bytes((requests or {}).get("storage", 0))


def _size(volume: PersistentVolume) -> int:
    return _bytes((volume.spec.capacity or {}).get("storage", 0))


def _bytes(quantity: str | float) -> int:
    return -(-nanos(quantity) // 1_000_000_000)


def _zero_amounts(count: int) -> tuple[Int64Array, Int64Array]:
    return np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim, *, reserved: bool) -> bool:
    """Whether the volume, where it can be reached, could be bound to the claim."""
    spec, wanted = volume.spec, claim.spec
    if (
        _size(volume) < requested_storage(claim)
        or (spec.volumeMode or _FILESYSTEM) != (wanted.volumeMode or _FILESYSTEM)
        or (spec.volumeAttributesClassName or "") != (wanted.volumeAttributesClassName or "")
        or volume.metadata.deletionTimestamp is not None
    ):
        return False
    if reserved:
        return _reserved_for(volume, claim)
    return (
        volume.status.phase == "Available"
        and (wanted.selector is None or matches(wanted.selector, volume.metadata.labels))
        and set(wanted.accessModes or ()) <= set(spec.accessModes or ())
    )


def _reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claimRef
    return (
        reference is not None
        and bool(claim.status.phase)
        and (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name)
        and reference.uid in ("", claim.metadata.uid)
    )
