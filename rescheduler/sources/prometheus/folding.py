"""From values of devices to one value a node or pod."""

import math
import re
from collections.abc import Mapping

from rescheduler.model.readings import FloatArray
from rescheduler.sources.prometheus.measuring import Key, ReadingProblems, Value

_SLICES = 7
"""Compute slices of one GPU, in every generation that has partitions."""

Found = dict[int, Value]
"""Value of each node or pod that has one."""


def by_subject(values: Mapping[Key, Value]) -> dict[int, dict[str, Value]]:
    """Devices of each subject."""
    answer: dict[int, dict[str, Value]] = {}
    for (subject, device), value in values.items():
        answer.setdefault(subject, {})[device] = value
    return answer


def gpu_load(
    values: Mapping[Key, Value], gpus: FloatArray, problems: ReadingProblems
) -> tuple[Found, dict[int, float]]:
    """(node) the sum over the GPUs' shares of busy time, divided by the GPUs it can allocate.

    A partition (MIG) counts as the share of a GPU that its profile names. Answers also how many
    GPUs a node with partitions has, in whole ones; for other nodes the API server reports it.
    """
    answer, capacity = {}, {}
    for node, devices in by_subject(values).items():
        if not _whole(node, devices, gpus, problems):
            continue
        sizes = {device: _share(device) for device in devices}
        total = sum(value.value * sizes[device] for device, value in devices.items())
        room = float(gpus[node])
        if any("/" in device for device in devices):
            room = capacity[node] = sum(sizes.values())
        answer[node] = Value(total / room, _oldest(devices))
    return answer, capacity


def _share(device: str) -> float:
    """What a device is of a whole GPU: `<uuid>/<id>/2g.20gb` is two of seven slices.

    NaN where the profile does not name it.
    """
    _, partition, rest = device.partition("/")
    if not partition:
        return 1.0
    slices = re.search(r"(\d)g\.", rest.partition("/")[2])
    return int(slices[1]) / _SLICES if slices else math.nan


def worst(values: Mapping[Key, Value], expected: FloatArray, problems: ReadingProblems) -> Found:
    """(node) the largest value of its devices; 0 only where all of them report 0.

    expected: (nodes,) how many devices each node has, 0 where nobody knows. A device that fell
    off its bus has no series any more, so silence of one is no health.
    """
    answer = {}
    for node, devices in by_subject(values).items():
        largest = max(value.value for value in devices.values())
        if largest <= 0 and len(devices) < expected[node]:
            problems.refuse(
                node,
                "RDG003",
                "nodes of which devices have no fresh value",
                f"{len(devices)} of {expected[node]:g}",
            )
        else:
            answer[node] = Value(largest, _oldest(devices))
    return answer


def gpu_memory(
    used: Mapping[Key, Value],
    free: Mapping[Key, Value],
    gpus: FloatArray,
    problems: ReadingProblems,
) -> tuple[Found, dict[int, float]]:
    """(node) used memory of all its GPUs over all they have, and the bytes that they have."""
    answer, capacity = {}, {}
    both = {key: value for key, value in used.items() if key in free}
    for node, devices in by_subject(both).items():
        if not _whole(node, devices, gpus, problems):
            continue
        taken = sum(value.value for value in devices.values())
        total = taken + sum(free[node, device].value for device in devices)
        if total > 0:
            answer[node] = Value(taken / total, _oldest(devices))
            capacity[node] = total
    return answer, capacity


def busiest_link(
    rates: Mapping[Key, Value],
    speeds: Mapping[Key, Value],
    declared: FloatArray,
    problems: ReadingProblems,
    names: list[str],
) -> tuple[Found, dict[int, float]]:
    """(node) the largest share of a link's speed, and that link's speed in bytes a second.

    declared: (nodes,) the speed of links that report none, NaN where that is not known. A node with
    traffic on a link of unknown speed has no value.
    """
    answer, capacity = {}, {}
    for node, devices in by_subject(rates).items():
        # Speeds that contradict each other are not replaced by what was declared for no speed.
        doubted = problems.codes.get(node, "") >= "RDG005"
        fallback = math.nan if doubted else float(declared[node])
        shares = []
        for device, rate in devices.items():
            speed = _link_speed(speeds.get((node, device)), fallback)
            if speed > 0:
                shares.append((rate.value / speed, speed))
            elif rate.value > 0:
                problems.refuse(
                    node,
                    "RDG003",
                    "traffic on a link that reports no speed, with no linkSpeed declared",
                    f"{device} of {names[node]}",
                )
                shares = []
                break
        if not shares:
            if node not in problems.codes:
                problems.refuse(
                    node,
                    "RDG003",
                    "only links that report no speed, with no linkSpeed declared",
                    names[node],
                )
            continue
        share, speed_of = max(shares)
        if share > 1.1:  # extrapolation and bursts pass 1 by a little; more is a wrong speed
            problems.refuse(node, "RDG006", "more traffic than the link can carry", names[node])
            continue
        answer[node] = Value(min(share, 1.0), _oldest(devices))
        capacity[node] = speed_of
    return answer, capacity


def _link_speed(reported: Value | None, declared: float) -> float:
    return reported.value if reported is not None and reported.value > 0 else declared


def pod_gpus(
    values: Mapping[Key, Value],
    requested: FloatArray,
    problems: ReadingProblems,
    names: list[str],
    *,
    in_gpus: bool,
) -> Found:
    """(pod) the sum over its GPUs, where it has all that it asked for and shares none.

    in_gpus: whether a value is a share of its device, so that a partition's counts for less.
    """
    holders: dict[str, set[int]] = {}
    for pod, device in values:
        holders.setdefault(device, set()).add(pod)
    answer = {}
    for pod, devices in by_subject(values).items():
        if any(math.isnan(_share(device)) for device in devices):
            problems.refuse(pod, "RDG003", "pods with partitions (MIG) of unknown size", names[pod])
        elif any(len(holders[device]) > 1 for device in devices):
            problems.refuse(pod, "RDG003", "pods that share a GPU", names[pod])
        elif len(devices) != requested[pod]:
            problems.refuse(
                pod,
                "RDG003",
                "pods with another number of GPUs than they asked for",
                f"{names[pod]}: {len(devices)} of {requested[pod]:g}",
            )
        else:
            sizes = {device: _share(device) if in_gpus else 1.0 for device in devices}
            total = sum(value.value * sizes[device] for device, value in devices.items())
            answer[pod] = Value(total, _oldest(devices))
    return answer


def _whole(
    node: int, devices: Mapping[str, Value], gpus: FloatArray, problems: ReadingProblems
) -> bool:
    """Whether every GPU of the node is there, and the size of every partition is known."""
    odd = next((device for device in devices if math.isnan(_share(device))), "")
    if odd:
        problems.refuse(node, "RDG003", "nodes with partitions (MIG) of unknown size", odd)
        return False
    if gpus[node] <= 0:
        return False
    if len(devices) < gpus[node]:
        problems.refuse(
            node,
            "RDG003",
            "nodes of which GPUs have no fresh value",
            f"{len(devices)} of {gpus[node]:g}",
        )
        return False
    if len(devices) > gpus[node]:
        problems.refuse(
            node,
            "RDG015",
            "nodes with more GPUs than they have to allocate",
            f"{len(devices)} of {gpus[node]:g}",
        )
        return False
    return True


def _oldest(devices: Mapping[str, Value]) -> float:
    return max(value.age for value in devices.values())
