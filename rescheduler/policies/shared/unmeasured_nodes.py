"""Nodes with GPUs for which a reading has no value at all (RDG014)."""

from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.nodes.accelerators import gpus_among, maker_of_driver
from rescheduler.kube.quantity import units
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for


def of_gpus(reading: str) -> bool:
    """Whether the reading is about GPUs: `node.gpu`, `node.gpu.memory` and the like."""
    return reading.split(".")[1] == "gpu"


def unmeasured_nodes(snapshot: Snapshot, reading: str, expected: BoolArray) -> dict[int, str]:
    """Ready nodes with GPUs that have no such reading by design, and what they offer."""
    if not of_gpus(reading):
        return {}
    answer = {}
    for index, node in enumerate(snapshot.nodes):
        if expected[index] or not node.ready:
            continue
        room = node.status.allocatable or {}
        names = [name for name in gpus_among(room) if units(room[name]) > 0]
        if names:
            answer[index] = names[0]
    if snapshot.resource_slices:
        inventory = DeviceInventory(snapshot.resource_slices, snapshot.node_index)
        for device, subject in enumerate(inventory.subjects):
            index = int(inventory.node[device])
            driver = subject.driver
            there = index >= 0 and snapshot.nodes[index].ready
            if there and maker_of_driver(driver) and not expected[index]:
                answer.setdefault(index, f"devices of {driver}")
    return answer


def nothing_measured(
    snapshot: Snapshot, reading: str, expected: BoolArray, selected: BoolArray
) -> Problem | None:
    """RDG014 where the reading is of none of the selected nodes, and some have devices."""
    if (expected & selected).any() or not selected.any():
        return None
    devices_by_node = {
        n: what for n, what in unmeasured_nodes(snapshot, reading, expected).items() if selected[n]
    }
    if not devices_by_node:
        return None
    first = min(devices_by_node)
    verb = verb_for(len(devices_by_node), "has", "have")
    text = (
        f"{count_text(len(devices_by_node), 'node')} that the policy selects {verb} devices "
        f"({devices_by_node[first]} "
    )
    text += f"of {snapshot.nodes[first].metadata.name}), and {reading} is measured of none"
    return Problem("RDG014", text)


def left_out(snapshot: Snapshot, reading: str, expected: BoolArray) -> tuple[int, str]:
    """How many nodes with devices have no such reading, and one of them as an example."""
    devices_by_node = unmeasured_nodes(snapshot, reading, expected)
    if not devices_by_node:
        return 0, ""
    first = min(devices_by_node)
    return len(
        devices_by_node
    ), f"{devices_by_node[first]} of {snapshot.nodes[first].metadata.name}"
