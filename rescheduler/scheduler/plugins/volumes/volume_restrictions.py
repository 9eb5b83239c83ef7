"""Plugin VolumeRestrictions: some volumes cannot be used by two pods, or not on one node."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from rescheduler.kube.objects import Pod, PodSpec, Volume
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Filter, Plugin, Replacement
from rescheduler.scheduler.plugins.volumes.claims import Claims, names
from rescheduler.scheduler.profile import Profile


class VolumeRestrictions(Plugin):
    """ReadWriteOncePod claims, and in-line disks that may be mounted once on a node.

    Source: pkg/scheduler/framework/plugins/volumerestrictions.
    """

    name: ClassVar[str] = "VolumeRestrictions"

    def __init__(self, pods: Sequence[Pod], occupancy: Occupancy, claims: Claims) -> None:
        self._occupancy = occupancy
        self._claims = claims
        self._users: dict[tuple[str, str], list[int]] = {}
        self._disks: list[tuple[Volume, int]] = []
        for number, pod in enumerate(pods):
            if not pod.spec.volumes:
                continue
            for name in names(pod.spec):
                self._users.setdefault((pod.metadata.namespace, name), []).append(number)
            self._disks.extend((disk, number) for disk in _disks(pod.spec))

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """One for all profiles."""
        return handle.part(cls._from_handle)

    @classmethod
    def _from_handle(cls, handle: Handle) -> Self:
        return cls(handle.snapshot.pods, handle.occupancy, handle.part(Claims.new))

    def filter(self, pod: Replacement) -> Filter | None:
        """No node while another pod uses a claim of its own; else the nodes without its disks."""
        users = [
            number
            for name in self._claims.pod_claims(pod.namespace, pod.spec).exclusive
            for number in self._users.get((pod.namespace, name), ())
        ]
        wanted = list(_disks(pod.spec))
        holders = [
            number
            for disk, number in self._disks
            if any(_conflict(disk, volume) for volume in wanted)
        ]
        if not users and not holders:
            return None
        return partial(
            self._free, np.array(users, dtype=np.int32), np.array(holders, dtype=np.int32)
        )

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:
        """A claim that one pod alone may use, or a disk that is mounted already."""
        exclusive = self._claims.pod_claims(pod.namespace, pod.spec).exclusive
        users = [n for name in exclusive for n in self._users.get((pod.namespace, name), ())]
        used = len(self._occupancy.nodes_of(np.array(users, dtype=np.int32))) > 0
        everywhere = np.full(len(self._occupancy.slots), used, dtype=np.bool_)
        return {
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
            "already in-use by another pod": everywhere,
            "node(s) had no available disk": ~everywhere,
        }

    def _free(self, users: IntArray, holders: IntArray) -> BoolArray:
        count = len(self._occupancy.slots)
        if len(self._occupancy.nodes_of(users)):
            return np.zeros(count, dtype=np.bool_)
        return ~self._occupancy.nodes_with_pods(holders, count)


def _disks(spec: PodSpec) -> Iterator[Volume]:
    for volume in spec.volumes or ():
        if volume.gcePersistentDisk or volume.awsElasticBlockStore or volume.iscsi or volume.rbd:
            yield volume


def _conflict(one: Volume, other: Volume) -> bool:
    return (
        _is_same_disk(one.gcePersistentDisk, other.gcePersistentDisk, "pdName")
        or _is_same_disk(
            one.awsElasticBlockStore, other.awsElasticBlockStore, "volumeID", shared=False
        )
        or _is_same_disk(one.iscsi, other.iscsi, "iqn")
        or (
            _is_same_disk(one.rbd, other.rbd, "image")
            and _pool(one.rbd) == _pool(other.rbd)
            and bool(_monitors(one.rbd) & _monitors(other.rbd))
        )
    )


def _is_same_disk(
    one: dict[str, Any] | None, other: dict[str, Any] | None, key: str, *, shared: bool = True
) -> bool:
    """Whether both are one disk, and cannot be shared by both mounting it read-only."""
    if not one or not other or one.get(key) != other.get(key):
        return False
    return not (shared and one.get("readOnly") and other.get("readOnly"))


def _pool(rbd: dict[str, Any] | None) -> str:
    return str((rbd or {}).get("pool", "rbd"))


def _monitors(rbd: dict[str, Any] | None) -> set[str]:
    return set((rbd or {}).get("monitors") or ())
