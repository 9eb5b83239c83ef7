"""Recorded snapshots: one file that stands in for the cluster and for Prometheus.

The file is gzip'd MessagePack: a head with format and version, then the snapshot. What pods of one
template share is written once, so the file is small and loads fast. Nothing can be in it that the
structs of the model do not name: no environment, no secret, no annotation that is not read.
"""

import gzip
import io
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from rescheduler.kube import controllers as kinds
from rescheduler.kube import extensions, storage
from rescheduler.kube.dra import devices
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.kube.objects import (
    Labels,
    Node,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    PodStatus,
)
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Cluster, Snapshot, Undecodable
from rescheduler.model.dependencies import Dependencies
from rescheduler.model.errors import SnapshotUnreadable
from rescheduler.sources.kubernetes.page_decoding import collector_off
from rescheduler.sources.output_file import write_output
from rescheduler.sources.recorded_readings import RecordedReading, pack_reading, unpack_reading
from rescheduler.sources.shared_parts import RecordedNode, RecordedPodStatus, SharedParts

FORMAT = "rescheduler snapshot"
VERSION = 1
MAX_SIZE = 4 * 2**30
"""Bytes of a recording, inflated. One of 150,000 pods is about 60 MiB."""


class _Head(msgspec.Struct):
    format: str
    version: int
    tool: str = ""


class _Template(msgspec.Struct, array_like=True):
    """What pods share."""

    spec: PodSpec
    labels: Labels | None
    annotations: Labels | None
    owners: list[OwnerReference] | None


class _Pod(msgspec.Struct, array_like=True, gc=False):
    """What a pod has for itself. template: index of what it shares with others."""

    template: int
    namespace: int
    node: int
    name: str
    uid: str
    resourceVersion: str
    generation: int
    created: datetime | None
    deleted: datetime | None
    status: PodStatus


class _Body(msgspec.Struct):
    taken: datetime
    cluster: Cluster
    texts: list[str]
    templates: list[_Template]
    pods: list[_Pod]
    nodes: list[Node]
    controllers: list[kinds.Controller]
    budgets: list[kinds.PodDisruptionBudget]
    services: list[kinds.Service]
    namespaces: list[kinds.Namespace]
    claims: list[storage.PersistentVolumeClaim]
    volumes: list[storage.PersistentVolume]
    priority_classes: list[kinds.PriorityClass]
    autoscalers: list[kinds.HorizontalPodAutoscaler]
    quotas: list[kinds.ResourceQuota]
    undecodable: list[Undecodable] = msgspec.field(name="quarantined")
    unread: list[str]
    readings: list[RecordedReading]
    clock_skew: float | None = None
    scheduler: ObservedScheduler | None = None
    storage_classes: list[storage.StorageClass] | None = None
    csi_drivers: list[storage.CSIDriver] | None = None
    csi_nodes: list[storage.CSINode] | None = None
    storage_capacities: list[storage.CSIStorageCapacity] | None = None
    attachments: list[storage.VolumeAttachment] | None = None
    device_classes: list[devices.DeviceClass] | None = None
    resource_slices: list[devices.ResourceSlice] | None = None
    device_taint_rules: list[devices.DeviceTaintRule] | None = None
    resource_claims: list[devices.ResourceClaim] | None = None
    claim_templates: list[devices.ResourceClaimTemplate] | None = None
    topologies: list[NodeResourceTopology] | None = None
    gang_objects: list[GangObject] | None = None
    cluster_queues: list[ClusterQueue] | None = None
    local_queues: list[LocalQueue] | None = None
    failed: list[Pod] | None = None
    validating_webhooks: list[extensions.WebhookConfiguration] = []
    mutating_webhooks: list[extensions.WebhookConfiguration] = []
    api_services: list[extensions.APIService] = []
    dependencies: Dependencies = Dependencies()
    owners: list[kinds.Owner] = []
    served: dict[str, str] = {}
    limit_ranges: list[LimitRange] | None = None


class _RecordedPod(_Pod):
    """A pod as it is decoded first."""

    status: RecordedPodStatus


class _RecordedBody(_Body):
    """The snapshot as it is decoded first."""

    pods: list[_RecordedPod]  # type: ignore[assignment]
    nodes: list[RecordedNode]  # type: ignore[assignment]


_LATER = {
    "storage_classes": "StorageClass",
    "csi_drivers": "CSIDriver",
    "csi_nodes": "CSINode",
    "storage_capacities": "CSIStorageCapacity",
    "attachments": "VolumeAttachment",
    "device_classes": "DeviceClass",
    "resource_slices": "ResourceSlice",
    "device_taint_rules": "DeviceTaintRule",
    "resource_claims": "ResourceClaim",
    "claim_templates": "ResourceClaimTemplate",
    "topologies": "NodeResourceTopology",
    "gang_objects": "Workload.kueue.x-k8s.io",
    "cluster_queues": "ClusterQueue",
    "local_queues": "LocalQueue",
    "limit_ranges": "LimitRange",
}
"""Fields that older recordings lack: their kinds are unread there, which is not "none"."""

_AS_THEY_ARE = (
    "taken",
    "cluster",
    "controllers",
    "owners",
    "budgets",
    "services",
    "namespaces",
    "claims",
    "volumes",
    "priority_classes",
    "autoscalers",
    "quotas",
    "undecodable",
    "unread",
    "served",
    "clock_skew",
    "scheduler",
    "failed",
    "validating_webhooks",
    "mutating_webhooks",
    "api_services",
    "dependencies",
)


def save(snapshot: Snapshot, path: Path, tool: str = "") -> None:
    """Write a recording.

    tool: who writes it, as people know it.

    Raises:
        OutputError: the file cannot be written.
    """
    encode = msgspec.msgpack.Encoder().encode
    head = encode(_Head(FORMAT, VERSION, tool))
    body = encode(_pack(snapshot))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=6, mtime=0) as out:
        out.write(len(head).to_bytes(4, "big") + head)
        out.write(body)
    write_output(packed.getvalue(), path)


def load(path: Path) -> Snapshot:
    """Read a recording.

    Raises:
        SnapshotUnreadable: it is missing, damaged, of another version, or something else.
    """
    data = _inflate(path)
    length = int.from_bytes(data[:4], "big")
    try:
        head = msgspec.msgpack.decode(data[4 : 4 + length], type=_Head)
    except (msgspec.DecodeError, ValueError) as error:
        raise _foreign(path) from error
    if head.format != FORMAT:
        raise _foreign(path)
    if head.version != VERSION:
        raise SnapshotUnreadable(
            f"{path} is a recording of version {head.version}, and this program reads {VERSION}",
            "record again with this program.",
        )
    try:
        with collector_off():
            return _unpack(
                msgspec.msgpack.decode(memoryview(data)[4 + length :], type=_RecordedBody)
            )
    except (msgspec.DecodeError, IndexError, ValueError) as error:
        raise SnapshotUnreadable(
            f"{path} is damaged: {error}", "record again; it may have been cut off or edited."
        ) from error


def _inflate(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_SIZE)
    except FileNotFoundError as error:
        raise SnapshotUnreadable(f"{path} does not exist", "check --snapshot.") from error
    except gzip.BadGzipFile as error:
        raise _foreign(path) from error
    except (EOFError, zlib.error) as error:
        raise SnapshotUnreadable(f"{path} is damaged: {error}", "record again.") from error
    except OSError as error:
        raise SnapshotUnreadable(f"{path} cannot be read: {error.strerror}", "") from error
    if len(data) == MAX_SIZE:
        raise SnapshotUnreadable(f"{path} is larger than {MAX_SIZE} bytes", "it is damaged.")
    return data


def _foreign(path: Path) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        f"{path} is not a recorded snapshot", "make one with `rescheduler record --out FILE`."
    )


class _Table:
    """Values by their number, in the order in which they first came."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def _pack(snapshot: Snapshot) -> _Body:
    texts, shared = _Table(), _Table()
    templates: list[_Template] = []
    pods = []
    for pod in snapshot.pods:
        meta = pod.metadata
        number = shared.number(
            (id(pod.spec), id(meta.labels), id(meta.annotations), id(meta.ownerReferences))
        )
        if number == len(templates):
            templates.append(
                _Template(pod.spec, meta.labels, meta.annotations, meta.ownerReferences)
            )
        pods.append(
            _Pod(
                number,
                texts.number(meta.namespace),
                texts.number(pod.node),
                meta.name,
                meta.uid,
                meta.resourceVersion,
                meta.generation,
                meta.creationTimestamp,
                meta.deletionTimestamp,
                pod.status,
            )
        )
    return _Body(
        texts=list(texts.numbers),
        templates=templates,
        pods=pods,
        nodes=snapshot.nodes,
        readings=[pack_reading(reading) for reading in snapshot.readings.entries],
        **{name: getattr(snapshot, name) for name in (*_AS_THEY_ARE, *_LATER)},
    )


def _unpack(body: _RecordedBody) -> Snapshot:
    if min((min(p.template, p.namespace, p.node) for p in body.pods), default=0) < 0:
        raise ValueError("a pod has a negative index")
    pods, shared = [], SharedParts()
    texts, templates = body.texts, body.templates
    for pod in body.pods:
        template = templates[pod.template]
        pods.append(
            Pod(
                metadata=ObjectMeta(
                    name=pod.name,
                    namespace=texts[pod.namespace],
                    uid=pod.uid,
                    resourceVersion=pod.resourceVersion,
                    generation=pod.generation,
                    labels=template.labels,
                    annotations=template.annotations,
                    ownerReferences=template.owners,
                    creationTimestamp=shared.time(pod.created),
                    deletionTimestamp=pod.deleted,
                ),
                spec=template.spec,
                status=shared.status(pod.status),
                node=texts[pod.node],
            )
        )
    readings = [unpack_reading(reading, len(body.nodes), len(pods)) for reading in body.readings]
    missing = [kind for name, kind in _LATER.items() if getattr(body, name) is None]
    body.unread += [kind for kind in missing if kind not in body.unread]
    fields: dict[str, Any] = {name: getattr(body, name) for name in _AS_THEY_ARE}
    fields |= {name: getattr(body, name) or [] for name in _LATER}
    return Snapshot(
        pods=pods,
        nodes=[shared.node(node) for node in body.nodes],
        readings=Readings(tuple(readings)),
        **fields,
    )
