"""Parts of recorded pods and nodes that many of them have alike: decoded once, and shared.

Of 150,000 pods the states of the containers are a few thousand different ones, and 5,000 nodes hold
the same images. They are compared as bytes, before they are decoded.
"""

from datetime import datetime
from typing import Any

import msgspec

from rescheduler.kube.objects import (
    Condition,
    ContainerImage,
    ContainerStatus,
    Node,
    NodeStatus,
    PodStatus,
)

_NOTHING = msgspec.Raw()


class RecordedPodStatus(PodStatus):
    """The status of a pod as it is decoded first."""

    conditions: msgspec.Raw = _NOTHING  # type: ignore[assignment]
    containerStatuses: msgspec.Raw = _NOTHING  # type: ignore[assignment]
    initContainerStatuses: msgspec.Raw = _NOTHING  # type: ignore[assignment]


class _RecordedNodeStatus(NodeStatus):
    images: list[msgspec.Raw] | None = None  # type: ignore[assignment]


class RecordedNode(Node):
    """A node as it is decoded first."""

    status: _RecordedNodeStatus = msgspec.field(default_factory=_RecordedNodeStatus)


class _Decoded:
    """Values of one kind by their bytes."""

    def __init__(self, kind: Any) -> None:
        self._known: dict[bytes, Any] = {b"": None}
        self._decode = msgspec.msgpack.Decoder(kind).decode

    def value(self, raw: msgspec.Raw) -> Any:
        """What these bytes are; None where there are none."""
        key = bytes(raw)
        if key not in self._known:
            self._known[key] = self._decode(key)
        return self._known[key]


class SharedParts:
    """Makes pods' statuses and nodes of what was decoded first; what is equal is kept once."""

    def __init__(self) -> None:
        self._conditions = _Decoded(list[Condition] | None)
        self._containers = _Decoded(list[ContainerStatus] | None)
        self._images = _Decoded(ContainerImage)
        self._texts: dict[str, str] = {}
        self._times: dict[datetime | None, datetime | None] = {}

    def time(self, value: datetime | None) -> datetime | None:
        """An equal time that was seen before, or this one."""
        return self._times.setdefault(value, value)

    def status(self, read: RecordedPodStatus) -> PodStatus:
        """The status of a pod."""
        return PodStatus(
            phase=self._texts.setdefault(read.phase, read.phase),
            podIP=read.podIP,
            reason=read.reason,
            nominatedNodeName=read.nominatedNodeName,
            startTime=self.time(read.startTime),
            conditions=self._conditions.value(read.conditions),
            containerStatuses=self._containers.value(read.containerStatuses),
            initContainerStatuses=self._containers.value(read.initContainerStatuses),
            allocatedResources=read.allocatedResources,
            resources=read.resources,
        )

    def node(self, read: RecordedNode) -> Node:
        """The node."""
        status = {name: getattr(read.status, name) for name in NodeStatus.__struct_fields__}
        if read.status.images is not None:
            status["images"] = [self._images.value(image) for image in read.status.images]
        return Node(metadata=read.metadata, spec=read.spec, status=NodeStatus(**status))
