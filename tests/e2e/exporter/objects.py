"""The few fields of nodes and pods that decide what is served."""

from typing import Any

import msgspec

from tests.e2e.builders.capacity import quantity
from tests.e2e.builders.load import PREFIX
from tests.e2e.builders.nodes import GPU


class Meta(msgspec.Struct):
    """metadata"""

    name: str
    uid: str
    namespace: str = ""
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    ownerReferences: list[dict[str, Any]] = []

    def load(self, key: str, default: float = 0.0) -> float:
        """A declared load; an annotation that is no number is an error of the test."""
        text = self.annotations.get(PREFIX + key)
        return default if text is None else float(text)


class Container(msgspec.Struct):
    """spec.containers[]"""

    name: str
    image: str = ""
    resources: dict[str, Any] = {}


class PodSpec(msgspec.Struct):
    """spec of a pod"""

    nodeName: str = ""
    hostNetwork: bool = False
    containers: list[Container] = []


class PodStatus(msgspec.Struct):
    """status of a pod"""

    phase: str = "Pending"
    podIP: str = ""
    startTime: str = ""


class Pod(msgspec.Struct):
    """A pod"""

    metadata: Meta
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def runs(self) -> bool:
        """Whether it uses anything; a pod that is terminating still does."""
        return self.status.phase == "Running" and bool(self.spec.nodeName)

    @property
    def gpus(self) -> int:
        """How many GPUs it asks for."""
        asked = (c.resources.get("requests", {}).get(GPU, "0") for c in self.spec.containers)
        return sum(int(text) for text in asked)


class NodeStatus(msgspec.Struct):
    """status of a node"""

    capacity: dict[str, str] = {}
    addresses: list[dict[str, str]] = []


class Node(msgspec.Struct):
    """A node"""

    metadata: Meta
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def address(self) -> str:
        """The InternalIP, or the name where it has none."""
        ips = (a["address"] for a in self.status.addresses if a["type"] == "InternalIP")
        return next(ips, self.metadata.name)

    def capacity(self, resource: str) -> float:
        """Capacity in cores, bytes or pieces."""
        return float(quantity(self.status.capacity.get(resource, "0")))


class ListMeta(msgspec.Struct):
    """metadata of a list"""

    resourceVersion: str
