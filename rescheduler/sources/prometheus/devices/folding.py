"""From values of devices to one value a node or pod."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.kube.nodes.accelerators import part_of_gpu
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import FloatArray
from rescheduler.sources.prometheus.devices.gpu_devices import DeviceLoad
from rescheduler.sources.prometheus.expectation import Expectation
from rescheduler.sources.prometheus.measuring import Key, ReadingProblems, Value

Found = dict[int, Value]
"""Value of each node or pod that has one."""


def by_subject(values: Mapping[Key, Value]) -> dict[int, dict[str, Value]]:
    """Devices of each subject."""
    answer: dict[int, dict[str, Value]] = {}
    for (subject, device), value in values.items():
        answer.setdefault(subject, {})[device] = value
    return answer


def gpu_load(
    values: Mapping[Key, Value], expectation: Expectation, problems: ReadingProblems
) -> tuple[Found, dict[int, float]]:
    """(node) the mean over its GPUs of the shares of time in which they are busy.

    A partition (MIG) counts as the share of a GPU that its profile names. Answers also how many
    GPUs a node has of which some are partitions or withdrawn from pods, in whole ones; for other
    nodes the API server reports it.
    """
    answer, capacity = {}, {}
    for node, devices in by_subject(values).items():
        if not _whole(node, devices, expectation, problems):
            continue
        sizes = {device: _share(device) for device in devices}
        total = sum(value.value * sizes[device] for device, value in devices.items())
        room = float(expectation.gpus[node])
        if len(devices) > room or any("/" in device for device in devices):
            room = capacity[node] = sum(sizes.values())
        answer[node] = Value(total / room, _oldest(devices))
    return answer, capacity


def _share(device: str) -> float:
    """What a device is of a whole GPU, by the profile of `<uuid>/<id>/2g.20gb`; NaN: not known."""
    _, partition, rest = device.partition("/")
    return part_of_gpu(rest.partition("/")[2] or "?") if partition else 1.0


def worst(values: Mapping[Key, Value], expected: FloatArray, problems: ReadingProblems) -> Found:
    """(node) the largest value of its devices; 0 only where all of them report 0.

    expected: (nodes,) how many devices each node has, 0 where nobody knows. A device that fell
    off its bus has no series any more, so silence of one is no health.
    """
    answer = {}
    for node, devices in by_subject(values).items():
        largest = max(value.value for value in devices.values())
        if largest <= 0 and len(devices) < expected[node]:
            example = f"{len(devices)} of {expected[node]:g}"
            problems.refuse(node, "nodes of which devices have no fresh value", example)
        else:
            answer[node] = Value(largest, _oldest(devices))
    return answer


def gpu_memory(
    used: Mapping[Key, Value],
    free: Mapping[Key, Value],
    expectation: Expectation,
    problems: ReadingProblems,
) -> tuple[Found, dict[int, float]]:
    """(node) used memory of all its GPUs over all they have, and the bytes that they have."""
    answer, capacity = {}, {}
    both = {key: value for key, value in used.items() if key in free}
    for node, devices in by_subject(both).items():
        if not _whole(node, devices, expectation, problems):
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
        contradicted = problems.contradicted(node)
        fallback = math.nan if contradicted else float(declared[node])
        shares = []
        for device, rate in devices.items():
            speed = _link_speed(speeds.get((node, device)), fallback)
            if speed > 0:
                shares.append((rate.value / speed, speed))
            elif rate.value > 0:
                what = "traffic on a link that reports no speed, with no linkSpeed declared"
                problems.refuse(node, what, f"{device} of {names[node]}")
                shares = []
                break
        if not shares:
            if node not in problems.codes:
                what = "only links that report no speed, with no linkSpeed declared"
                problems.refuse(node, what, names[node])
            continue
        share, speed_of = max(shares)
        if share > 1.1:  # extrapolation and bursts pass 1 by a little; more is a wrong speed
            problems.refuse(node, "more traffic than the link can carry", names[node], "RDG006")
            continue
        answer[node] = Value(min(share, 1.0), _oldest(devices))
        capacity[node] = speed_of
    return answer, capacity


def _link_speed(reported: Value | None, declared: float) -> float:
    return reported.value if reported is not None and reported.value > 0 else declared


def memory_shares(
    loads: Mapping[Key, DeviceLoad], free: Mapping[Key, Value]
) -> dict[Key, tuple[float, dict[int, float]]]:
    """Of each device, and of each pod that has it, the share of the device's memory."""
    answer = {}
    for key, load in loads.items():
        room = load.value.value + (free[key].value if key in free else 0.0)
        if key in free and room > 0:
            parts = {pod: used / room for pod, used in load.used.items()}
            answer[key] = load.value.value / room, parts
    return answer


def pod_gpus(
    loads: Mapping[Key, DeviceLoad],
    expectation: Expectation,
    pod_node: Sequence[int],
    problems: ReadingProblems,
    pods: Sequence[Pod],
    *,
    in_gpus: bool,
) -> tuple[Found, list[int]]:
    """(pod) the sum over its GPUs, where it has all that it asked for.

    Of a device that several pods share, each has its own part, or an equal one where their series
    do not report theirs; but only where all pods of the node that ask for shares are known. Answers
    also the pods of the other such nodes: nobody reports what they have.
    in_gpus: whether a value is a share of its device, so that a partition's counts for less.
    """
    parts: dict[int, dict[str, Value]] = {}
    unsized: set[int] = set()
    crowded = {device for (_, device), load in loads.items() if len(load.used) > 1}
    for (_, device), load in loads.items():
        share = _share(device)
        if math.isnan(share):
            unsized.update(load.used)
        for pod, used in load.used.items():
            value = Value(used * share if in_gpus else used, load.value.age)
            parts.setdefault(pod, {})[device] = value
    asking = np.flatnonzero(expectation.pod_gpus > 0).tolist()
    lost = {pod_node[pod] for pod in asking if pod not in parts}
    sharing = expectation.sharing
    unreported = [pod for pod in asking if sharing[pod_node[pod]] and pod_node[pod] in lost]
    answer = {}
    for pod, devices in parts.items():
        shares = bool(sharing[pod_node[pod]])
        if shares and pod_node[pod] in lost:
            continue
        if pod in unsized:
            problems.refuse(pod, "pods with partitions (MIG) of unknown size", pods[pod].key)
        elif not shares and not crowded.isdisjoint(devices):
            problems.refuse(pod, "pods that share a GPU", pods[pod].key)
        elif not shares and len(devices) != expectation.pod_gpus[pod]:
            example = f"{pods[pod].key}: {len(devices)} of {expectation.pod_gpus[pod]:g}"
            problems.refuse(pod, "pods with another number of GPUs than they asked for", example)
        else:
            total = sum(value.value for value in devices.values())
            answer[pod] = Value(total, _oldest(devices))
    return answer, unreported


def _whole(
    node: int, devices: Mapping[str, Value], expectation: Expectation, problems: ReadingProblems
) -> bool:
    """Whether every GPU of the node is there, and no more, and each partition's size is known."""
    least, most = float(expectation.gpus[node]), float(expectation.most_gpus[node])
    odd = next((device for device in devices if math.isnan(_share(device))), "")
    if odd:
        problems.refuse(node, "nodes with partitions (MIG) of unknown size", odd)
        return False
    if least <= 0:
        return False
    if len(devices) < least:
        example = f"{len(devices)} of {least:g}"
        problems.refuse(node, "nodes of which GPUs have no fresh value", example)
        return False
    if len(devices) > most:
        what = "nodes with series of more GPUs than they have, perhaps another cluster's"
        problems.refuse(node, what, f"{len(devices)} of {most:g}", "RDG015")
        return False
    return True


def _oldest(devices: Mapping[str, Value]) -> float:
    return max(value.age for value in devices.values())
