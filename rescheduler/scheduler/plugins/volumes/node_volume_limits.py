"""Plugin NodeVolumeLimits: a CSI driver attaches only so many volumes to a node."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.arrays import Int64Array
from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.kube.storage import PersistentVolumeClaim
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import FeatureGate, Filter, Plugin, Replacement
from rescheduler.scheduler.plugins.volumes.claims import Claims
from rescheduler.scheduler.profile import Profile

_UNLIMITED = np.iinfo(np.int64).max

VolumeId = tuple[str, str]
"""A driver, and its handle of a volume (or the claim that will get one)."""


class AttachedVolumes:
    """The volumes in use on each node, counted by driver as pods come and go.

    limits: driver to (nodes,) how many volumes it can attach.
    counts: driver to (nodes,) how many are: those of the node's pods, and attachments of no pod.
    """

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy, claims: Claims) -> None:
        self._claims = claims
        self.count = len(snapshot.nodes)
        self.limits = self._read_limits(snapshot)
        self.drivers: dict[str, BoolArray] = self._read_required(snapshot)
        self.counts = {driver: np.zeros(self.count, dtype=np.int64) for driver in self.limits}
        self._users: dict[tuple[int, VolumeId], int] = {}
        self._attached = self._read_attachments(snapshot)
        for node, (driver, _) in self._attached:
            self.counts[driver][node] += 1
        self._of_pod = self._read_pods(snapshot.pods)
        for pod in self._of_pod:
            self._change(pod, int(occupancy.where[pod]), 1)
        if self._of_pod:
            occupancy.watchers.append(self._change)

    @classmethod
    def new(cls, handle: Handle) -> Self:
        """Of all pods, on the working copy."""
        return cls(handle.snapshot, handle.occupancy, handle.part(Claims.new))

    def csi_volumes(self, namespace: str, spec: PodSpec, name: str = "") -> Iterator[VolumeId]:
        """The CSI volumes of a pod, each once; of its replacement where it has no name."""
        seen = set()
        for volume in spec.volumes or ():
            if volume.persistentVolumeClaim is not None:
                claim = self._claims.claim(namespace, volume.persistentVolumeClaim.claimName)
            elif volume.ephemeral is not None:
                claim = (
                    self._claims.claim(namespace, f"{name}-{volume.name}")
                    if name
                    else self._claims.ephemeral_claim(namespace, volume.name, volume.ephemeral)
                )
            else:
                continue
            volume_id = None if claim is None else self._identify(claim)
            if volume_id is not None and volume_id not in seen:
                seen.add(volume_id)
                yield volume_id

    def used_by_pods(self, volume: VolumeId) -> list[int]:
        """The nodes where a pod uses the volume."""
        driver = volume[0]
        held = self._holders.get(volume, ()) if driver in self.limits else ()
        return [node for node in held if self._users.get((node, volume), 0) > 0]

    def _identify(self, claim: PersistentVolumeClaim) -> VolumeId | None:
        volume = self._claims.volume(claim)
        if volume is not None:
            source = volume.spec.csi
            return (source.driver, source.volumeHandle) if source is not None else None
        storage_class = self._claims.storage_class(claim)
        if storage_class is None:
            return None
        return storage_class.provisioner, f"{claim.metadata.namespace}/{claim.metadata.name}"

    def _read_pods(self, pods: Sequence[Pod]) -> dict[int, list[VolumeId]]:
        self._holders: dict[VolumeId, set[int]] = {}
        if not self.limits:
            return {}
        answer = {}
        for number, pod in enumerate(pods):
            if pod.spec.volumes:
                mine = [
                    volume_id
                    for volume_id in self.csi_volumes(
                        pod.metadata.namespace, pod.spec, pod.metadata.name
                    )
                    if volume_id[0] in self.limits
                ]
                if mine:
                    answer[number] = mine
        return answer

    def _change(self, pod: int, node: int, sign: int) -> None:
        """A pod has come to (1) or gone from (-1) a node."""
        if node < 0:
            return
        for volume in self._of_pod.get(pod, ()):
            key = (node, volume)
            before = self._users.get(key, 0)
            self._users[key] = before + sign
            self._holders.setdefault(volume, set()).add(node)
            if (before == 0 or before + sign == 0) and key not in self._attached:
                self.counts[volume[0]][node] += sign

    def _read_limits(self, snapshot: Snapshot) -> dict[str, Int64Array]:
        limits: dict[str, Int64Array] = {}
        index = snapshot.node_index
        for csi_node in snapshot.csi_nodes:
            node = index.get(csi_node.metadata.name)
            if node is None:
                continue
            for driver in csi_node.spec.drivers or ():
                if driver.allocatable is not None and driver.allocatable.count is not None:
                    if driver.name not in limits:
                        limits[driver.name] = np.full(self.count, _UNLIMITED, dtype=np.int64)
                    limits[driver.name][node] = driver.allocatable.count
        return limits

    def _read_required(self, snapshot: Snapshot) -> dict[str, BoolArray]:
        """Driver to (nodes,) the nodes that have it, of drivers that insist on it."""
        answer = {
            driver.metadata.name: np.zeros(self.count, dtype=np.bool_)
            for driver in snapshot.csi_drivers
            if driver.spec.preventPodSchedulingIfMissing
        }
        for csi_node in snapshot.csi_nodes:
            node = snapshot.node_index.get(csi_node.metadata.name)
            for driver in csi_node.spec.drivers or ():
                if node is not None and driver.name in answer:
                    answer[driver.name][node] = True
        return answer

    def _read_attachments(self, snapshot: Snapshot) -> set[tuple[int, VolumeId]]:
        volumes = snapshot.volume_index
        answer = set()
        for attachment in snapshot.attachments:
            volume = volumes.get(attachment.spec.source.persistentVolumeName or "")
            node = snapshot.node_index.get(attachment.spec.nodeName)
            if volume is None or volume.spec.csi is None or node is None:
                continue
            if attachment.spec.attacher in self.limits:
                answer.add((node, (attachment.spec.attacher, volume.spec.csi.volumeHandle)))
        return answer


class NodeVolumeLimits(Plugin):
    """Volumes that a pod of the node uses already cost nothing.

    Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
    """

    name: ClassVar[str] = "NodeVolumeLimits"
    gates: ClassVar[tuple[FeatureGate, ...]] = (
        FeatureGate("VolumeLimitScaling", 37, "drivers_required"),
    )
    rejection: ClassVar[str] = "node(s) exceed max volume count"

    def __init__(self, attached: AttachedVolumes, profile: Profile) -> None:
        self._attached = attached
        self._profile = profile

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """Its counts are one for all profiles."""
        return cls(handle.part(AttachedVolumes.new), profile)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose drivers can attach all the pod's volumes."""
        wanted: dict[str, list[VolumeId]] = {}
        required = []
        for volume in self._attached.csi_volumes(pod.namespace, pod.spec):
            if volume[0] in self._attached.limits:
                wanted.setdefault(volume[0], []).append(volume)
            if self._profile.drivers_required and volume[0] in self._attached.drivers:
                required.append(self._attached.drivers[volume[0]])
        if not wanted and not required:
            return None
        return partial(self._room, wanted, required)

    def _room(self, wanted: dict[str, list[VolumeId]], required: list[BoolArray]) -> BoolArray:
        state = self._attached
        answer = np.ones(state.count, dtype=np.bool_)
        for driver, volumes in wanted.items():
            fresh = np.full(state.count, len(volumes), dtype=np.int64)
            for volume in volumes:
                fresh[state.used_by_pods(volume)] -= 1
            limits = state.limits[driver]
            answer &= (fresh == 0) | (fresh <= limits - state.counts[driver])
        for array in required:
            answer &= array
        return answer
