"""What the judge answers, and what an exporter of NodeResourceTopology would make of it."""

from collections import defaultdict
from typing import Any

import msgspec

from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from tests.oracle.kubelet.drawing_nodes import Machine


class Memory(msgspec.Struct):
    """A block of memory or huge pages on some zones together."""

    type: str
    size: int
    zones: list[int]


class Device(msgspec.Struct):
    """A device and the zones that it is near."""

    resource: str
    id: str
    zones: list[int] | None


class PodReport(msgspec.Struct):
    """What the containers of one pod hold."""

    uid: str
    cpus: list[int] | None = None
    memory: list[Memory] | None = None
    devices: list[Device] | None = None


class Report(msgspec.Struct):
    """What kubelet's PodResources API tells."""

    cpus: list[int] | None = None
    memory: list[Memory] | None = None
    devices: list[Device] | None = None
    pods: list[PodReport] | None = None


class Answer(msgspec.Struct):
    """The judge's answer to a case."""

    admit: bool
    reason: str
    message: str
    report: Report
    error: str


Amounts = dict[int, dict[str, int]]
"""Zone to resource to amount."""


def exported(machine: Machine, report: Report, style: str) -> NodeResourceTopology:
    """The node's object, by the arithmetic of NFD's topology-updater or of the other exporter.

    Sources: node-feature-discovery pkg/resourcemonitor/noderesourcesaggregator.go, and
    resource-topology-exporter pkg/resourcemonitor/resourcemonitor.go, which counts a block of
    memory on several zones in each of them in full.
    """
    zone_of = {cpu: zone["id"] for zone in machine.zones for core in zone["cores"] for cpu in core}
    allocatable = _counted(PodReport("", report.cpus, report.memory, report.devices), zone_of)
    for zone in machine.zones:  # of which nothing may be given: all of its CPUs are reserved
        allocatable.setdefault(zone["id"], {"cpu": 0})
    known = {(device.resource, device.id) for device in report.devices or ()}
    available: Amounts = {zone: dict(amounts) for zone, amounts in allocatable.items()}
    for pod in report.pods or ():
        if style == "nfd":
            healthy = [
                device for device in pod.devices or () if (device.resource, device.id) in known
            ]
            held = PodReport("", pod.cpus, [], healthy)
        else:
            held = PodReport("", pod.cpus, pod.memory, pod.devices)
        for number, amounts in _counted(held, zone_of).items():
            for name, amount in amounts.items():
                if name in available[number]:
                    available[number][name] = max(available[number][name] - amount, 0)
        for block in pod.memory or () if style == "nfd" else ():
            left = block.size
            for number in block.zones:
                if block.type not in available[number]:
                    break  # so does NFD
                taken = min(left, available[number][block.type])
                available[number][block.type] -= taken
                left -= taken
    return msgspec.convert(
        {
            "metadata": {"name": "n0"},
            "attributes": [
                {"name": "topologyManagerPolicy", "value": machine.node["topologyPolicy"]},
                {"name": "topologyManagerScope", "value": machine.node["topologyScope"]},
            ],
            "zones": [
                {
                    "name": f"node-{zone['id']}",
                    "type": "Node",
                    "resources": [
                        {
                            "name": name,
                            "capacity": str(_capacity(zone, name, amount)),
                            "allocatable": str(amount),
                            "available": str(available[zone["id"]][name]),
                        }
                        for name, amount in allocatable[zone["id"]].items()
                    ],
                }
                for zone in machine.zones
            ],
        },
        NodeResourceTopology,
    )


def _counted(held: PodReport, zone_of: dict[int, int]) -> Amounts:
    """Added up by zone; a device near two zones counts in both."""
    answer: Amounts = defaultdict(dict)
    for cpu in held.cpus or ():
        zone = answer[zone_of[cpu]]
        zone["cpu"] = zone.get("cpu", 0) + 1
    for block in held.memory or ():
        for number in block.zones:
            zone = answer[number]
            zone[block.type] = zone.get(block.type, 0) + block.size
    for device in held.devices or ():
        for number in device.zones or ():
            zone = answer[number]
            zone[device.resource] = zone.get(device.resource, 0) + 1
    return dict(answer)


def _capacity(zone: dict[str, Any], name: str, allocatable: int) -> int:
    if name == "cpu":
        return sum(len(core) for core in zone["cores"])
    if name == "memory":
        return int(zone["memory"])
    return allocatable
