"""NodeResourceTopology: what the NUMA zones of a node hold and have free.

The kind is `topology.node.k8s.io/v1alpha2`, written by NFD's topology-updater or by a
resource-topology-exporter on each node; the object has the name of its node.
"""

from typing import Any

import msgspec

from rescheduler.kube.objects import Base, ObjectMeta

POLICY = "topologyManagerPolicy"
SCOPE = "topologyManagerScope"
NUMA_NODE = "Node"
"""The type of zones that are NUMA nodes; exporters may report sockets and cores too."""

_DEPRECATED = {
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
    "Restricted": ("restricted", "container"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "BestEffort": ("best-effort", "container"),
    "BestEffortContainerLevel": ("best-effort", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "None": ("none", "container"),
}


class Attribute(Base):
    """attributes[]."""

    name: str = ""
    value: str = ""


class ZoneResource(Base):
    """zones[].resources[]: quantities as they came."""

    name: str = ""
    capacity: str | int | float = 0
    allocatable: str | int | float = 0
    available: str | int | float = 0


class Zone(Base):
    """zones[]. costs are the distances to other zones, as the firmware reports them."""

    name: str = ""
    type: str = ""
    parent: str = ""
    costs: list[dict[str, Any]] | None = None
    attributes: list[Attribute] | None = None
    resources: list[ZoneResource] | None = None


def zone_order(zone: Zone) -> tuple[int, str]:
    """`node-2` before `node-10`: kubelet prefers the lower id."""
    digits = zone.name.rpartition("-")[2]
    return (int(digits) if digits.isdecimal() and len(digits) < 10 else 0, zone.name)


class NodeResourceTopology(Base):
    """One node's zones, and how its kubelet aligns pods with them."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    topologyPolicies: list[str] | None = None
    attributes: list[Attribute] | None = None
    zones: list[Zone] | None = None

    def attribute(self, name: str) -> str:
        """The value of an attribute of the object, "" where it has none."""
        return next(
            (attribute.value for attribute in self.attributes or () if attribute.name == name), ""
        )

    @property
    def kubelet(self) -> tuple[str, str]:
        """The topology manager's policy and scope; "" where the object does not name it.

        The attributes name it; `topologyPolicies` is their deprecated form.
        """
        policy, scope = self.attribute(POLICY), self.attribute(SCOPE)
        if policy:
            return policy, scope or "container"
        return _DEPRECATED.get((self.topologyPolicies or [""])[0], ("", ""))
