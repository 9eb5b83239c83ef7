"""Draw machines with NUMA zones and the configuration of their kubelets, as fleets have them."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

GIB = 2**30
GPU, VF, ANYWHERE, BOTH = (
    "nvidia.com/gpu",
    "example.com/vf",
    "example.com/fuse",
    "example.com/fabric",
)
"""A device of one zone, one that often only some zones have, one near no zone, one near two."""
HUGE = {"hugepages-2Mi": 2048, "hugepages-1Gi": 1048576}
"""Resource to KiB."""


@dataclass
class Machine:
    """node: as the judge reads it. room: what kube-scheduler may give, cpu in milli.

    untold: what it is set to that no object in the API tells.
    """

    node: dict[str, Any]
    room: dict[str, int]
    untold: set[str] = field(default_factory=set)

    @property
    def zones(self) -> list[dict[str, Any]]:
        """Of the node."""
        zones: list[dict[str, Any]] = self.node["zones"]
        return zones

    @property
    def cpus_of_zone(self) -> int:
        """The most CPUs that a zone has."""
        return max(sum(len(core) for core in zone["cores"]) for zone in self.zones)

    @property
    def memory_of_zone(self) -> int:
        """The most bytes that a zone has."""
        return max(int(zone["memory"]) for zone in self.zones)

    def devices(self, resource: str) -> int:
        """How many there are."""
        return sum(device["resource"] == resource for device in self.node["devices"])


def draw_machine(draw: Random) -> Machine:
    """A machine, with its kubelet's configuration."""
    wide = draw.random() < 0.05
    zones = _wide_zones(draw) if wide else _zones(draw)
    static_memory = not wide and draw.random() < 0.6
    static_cpu = draw.random() < 0.85
    policy = draw.choices(["none", "best-effort", "restricted", "single-numa-node"], [1, 2, 3, 4])[
        0
    ]
    if len(zones) == 8 and policy in ("best-effort", "restricted"):
        # Kubelet tries each set of zones of each resource with each of all others: with 8 zones
        # and four resources a pod takes it minutes.
        static_memory = False
        for zone in zones:
            zone["hugePages"] = {}
    node: dict[str, Any] = {
        "zones": zones,
        "devices": _devices(draw, zones),
        "topologyPolicy": policy,
        "topologyScope": draw.choice(["container", "container", "pod"]),
        "topologyOptions": {"max-allowable-numa-nodes": "64"} if len(zones) > 8 else {},
        "cpuPolicy": "static" if static_cpu else "none",
        "cpuOptions": {},
        "reservedCpus": ",".join(map(str, _reserved_cpus(draw, zones))),
        "memoryPolicy": "Static" if static_memory else "None",
        "reservedMemory": _reserved_memory(draw, zones),
    }
    untold = _untold_options(draw, node) if draw.random() < 0.12 else set()
    if any(len(device["zones"]) > 1 for device in node["devices"]):
        untold.add("devices of two zones")
    return Machine(node, _room(node), untold)


def _zones(draw: Random) -> list[dict[str, Any]]:
    count = draw.choices([1, 2, 4, 8], [1, 8, 3, 1])[0]
    sockets = min(count, draw.choice([1, 2, 2]))
    threads = draw.choice([1, 2, 2])
    cores = draw.choice([2, 4, 4, 6, 8])
    memory = draw.choice([8, 16, 32, 64]) * GIB
    pages = {}
    if draw.random() < 0.4:
        size = draw.choice(sorted(HUGE.values()))
        pages = {size: draw.choice([512, 1024]) if size == 2048 else draw.choice([1, 2])}
    # Hyperthreads are numbered after all first threads, as Linux does on most machines.
    total = count * cores
    zones: list[dict[str, Any]] = []
    for number in range(count):
        first = number * cores
        listed = [
            [core + thread * total for thread in range(threads)]
            for core in range(first, first + cores)
        ]
        # The firmware keeps a little of some zones.
        own = memory - draw.choice([0, 0, 37, 411]) * 2**20
        here = pages if draw.random() < 0.9 else dict.fromkeys(pages, 0)
        zones.append(_zone(number, number * sockets // count, listed, own, here, count))
    if len(zones) in (2, 4) and draw.random() < 0.04:
        zones.append(_zone(count, 0, [], memory // 2, dict.fromkeys(pages, 0), count + 1))
    return zones


def _wide_zones(draw: Random) -> list[dict[str, Any]]:
    """More than 8 zones, most of which have memory alone: as accelerators with memory of theirs."""
    busy, count = draw.choice([2, 4]), draw.choice([10, 18, 36])
    cores = draw.choice([4, 8])
    return [
        _zone(
            number,
            min(number, 1),
            [[core] for core in range(number * cores, (number + 1) * cores)]
            if number < busy
            else [],
            (32 if number < busy else 8) * GIB,
            {},
            count,
        )
        for number in range(count)
    ]


def _zone(
    number: int,
    socket: int,
    cores: list[list[int]],
    memory: int,
    pages: dict[int, int],
    count: int,
) -> dict[str, Any]:
    return {
        "id": number,
        "socket": socket,
        "cores": cores,
        "memory": memory,
        "hugePages": {str(size): page for size, page in pages.items()},
        "distances": [10 if number == other else 20 for other in range(count)],
    }


def _devices(draw: Random, zones: list[dict[str, Any]]) -> list[dict[str, Any]]:
    busy = [zone["id"] for zone in zones if zone["cores"]]
    ends = [zone["id"] for zone in zones[:6]] if draw.random() < 0.1 else busy
    near: dict[str, list[list[int]]] = {}
    if draw.random() < 0.8:
        gpus = draw.choice([1, 2, 2, 4])
        near[GPU] = [[zone] for zone in ends for _ in range(gpus)]
        if draw.random() < 0.1:  # all behind one socket
            near[GPU] = [[ends[0]] for _ in range(4)]
    if draw.random() < 0.5:
        some = busy if draw.random() < 0.5 and len(zones) != 8 else [draw.choice(busy)]
        near[VF] = [[zone] for zone in some for _ in range(draw.choice([2, 4]))]
    if draw.random() < 0.15:
        near[ANYWHERE] = [[] for _ in range(8)]
    if len(busy) > 1 and draw.random() < 0.02:
        near[BOTH] = [busy[:2] for _ in range(4)]
    return [
        {"resource": resource, "id": f"{resource}-{number}", "zones": where}
        for resource, places in near.items()
        for number, where in enumerate(places)
    ]


def _reserved_cpus(draw: Random, zones: list[dict[str, Any]]) -> list[int]:
    busy = [zone for zone in zones if zone["cores"]]
    kind = draw.random()
    if kind < 0.5:  # the first core
        return sorted(busy[0]["cores"][0])
    if kind < 0.7:  # a single thread
        return [min(busy[0]["cores"][0])]
    if kind < 0.95:  # a core of every zone
        return sorted(cpu for zone in busy for cpu in zone["cores"][0])
    if len(busy) == 1:
        return [0]
    return sorted(cpu for core in busy[0]["cores"] for cpu in core)  # a zone for the system


def _reserved_memory(draw: Random, zones: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    answer = {"0": {"memory": str(draw.choice([500 * 2**20, GIB]))}}
    if len(zones) > 1 and draw.random() < 0.3:
        answer["1"] = {"memory": str(700 * 2**20)}
    if draw.random() < 0.1 and zones[0]["hugePages"].get("2048"):
        answer["0"]["hugepages-2Mi"] = str(64 * 2**20)
    return answer


def _untold_options(draw: Random, node: dict[str, Any]) -> set[str]:
    """Options of kubelet that neither NodeResourceTopology nor Node shows."""
    choices = []
    if node["cpuPolicy"] == "static":
        choices += ["full-pcpus-only", "full-pcpus-only", "distribute-cpus-across-numa"]
    if node["topologyPolicy"] in ("best-effort", "restricted"):
        choices.append("prefer-closest-numa-nodes")
    if not choices:
        return set()
    option = draw.choice(choices)
    where = "topologyOptions" if option.startswith("prefer") else "cpuOptions"
    node[where][option] = "true"
    return {option}


def _room(node: dict[str, Any]) -> dict[str, int]:
    """What Node.status.allocatable has: cpu in milli, memory in bytes, the rest in units."""
    zones, reserved = node["zones"], node["reservedMemory"].values()
    cpus = sum(len(core) for zone in zones for core in zone["cores"])
    pages = {
        name: sum(int(zone["hugePages"].get(str(size), 0)) for zone in zones) * size * 1024
        for name, size in HUGE.items()
    }
    room = {
        "cpu": 1000 * (cpus - len(node["reservedCpus"].split(","))),
        "memory": sum(zone["memory"] for zone in zones) - sum(pages.values()),
        **{name: amount for name, amount in pages.items() if amount},
    }
    for limits in reserved:
        for name, amount in limits.items():
            if name in room:
                room[name] -= int(amount)
    for device in node["devices"]:
        room[device["resource"]] = room.get(device["resource"], 0) + 1
    return room
