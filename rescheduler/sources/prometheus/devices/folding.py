"""From values of devices to one value a node or pod."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from rescheduler.kube.nodes.accelerators import part_of_gpu
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import FloatArray
from rescheduler.sources.prometheus.devices.gpu_devices import DeviceLoad
from rescheduler.sources.prometheus.expected_subjects import ExpectedSubjects
from rescheduler.sources.prometheus.series_values import Key, ReadingProblems, Value

Found = dict[int, Value]
"""Value of each node or pod that has one."""


V = TypeVar("V")


def by_subject(values: Mapping[Key, V]) -> dict[int, dict[str, V]]:
    """Devices of each subject."""
    answer: dict[int, dict[str, V]] = {}
    for (subject, device), value in values.items():
        answer.setdefault(subject, {})[device] = value
    return answer


def gpu_nodes(
    loads: Mapping[Key, DeviceLoad], expectation: ExpectedSubjects, problems: ReadingProblems
) -> tuple[Found, dict[int, float]]:
    """(node) what all its GPUs carry over all that they can, and how much that is.

    A partition (MIG) counts as the share of a GPU that its profile names.
    """
    answer, capacity = {}, {}
    for node, devices in by_subject(loads).items():
        room = sum(load.size for load in devices.values())
        if _has_all_gpus(node, devices, expectation, problems) and room > 0:
            total = sum(load.value for load in devices.values())
            answer[node] = Value(total / room, _oldest(devices))
            capacity[node] = room
    return answer, capacity


def part_of(device: str) -> float:
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
            problems.refuse(node, "nodes where devices have no fresh value", example)
        else:
            answer[node] = Value(largest, _oldest(devices))
    return answer


def pod_gpus(
    loads: Mapping[Key, DeviceLoad],
    expectation: ExpectedSubjects,
    pod_node: Sequence[int],
    problems: ReadingProblems,
    pods: Sequence[Pod],
) -> tuple[Found, list[int]]:
    """(pod) the sum over its GPUs, if it has all that it requests.

    Of a device that several pods share, each has its own part, or an equal one where their series
    do not report theirs; but only where all pods of the node that ask for shares are known. Answers
    also the pods of the other such nodes: nobody reports what they have.
    """
    parts: dict[int, list[Value]] = {}
    unsized: set[int] = set()
    crowded: set[int] = set()
    for load in loads.values():
        if math.isnan(load.size):
            unsized.update(load.used)
        if len(load.used) > 1:
            crowded.update(load.used)
        for pod, used in load.used.items():
            parts.setdefault(pod, []).append(Value(used, load.age))
    asking = np.flatnonzero(expectation.pod_gpus > 0).tolist()
    sharing, wanted = expectation.sharing.tolist(), expectation.pod_gpus.tolist()
    lost = {pod_node[pod] for pod in asking if pod not in parts}
    unreported = [pod for pod in asking if sharing[pod_node[pod]] and pod_node[pod] in lost]
    answer = {}
    for pod, devices in parts.items():
        shares = sharing[pod_node[pod]]
        if shares and pod_node[pod] in lost:
            continue
        if pod in unsized:
            problems.refuse(pod, "pods with partitions (MIG) of unknown size", pods[pod].key)
        elif not shares and pod in crowded:
            problems.refuse(pod, "pods that share a GPU", pods[pod].key)
        elif not shares and len(devices) != wanted[pod]:
            example = f"{pods[pod].key}: {len(devices)} of {wanted[pod]:g}"
            problems.refuse(pod, "pods with another number of GPUs than they request", example)
        else:
            answer[pod] = Value(
                sum(device.value for device in devices), max(device.age for device in devices)
            )
    return answer, unreported


def _has_all_gpus(
    node: int,
    devices: Mapping[str, DeviceLoad],
    expectation: ExpectedSubjects,
    problems: ReadingProblems,
) -> bool:
    """Whether every GPU of the node is there, and no more, and each partition's size is known."""
    least, most = float(expectation.gpus[node]), float(expectation.most_gpus[node])
    odd = next((device for device, load in devices.items() if math.isnan(load.size)), "")
    if odd:
        problems.refuse(node, "nodes with partitions (MIG) of unknown size", odd)
        return False
    if least <= 0:
        return False
    if len(devices) < least:
        example = f"{len(devices)} of {least:g}"
        problems.refuse(node, "nodes where GPUs have no fresh value", example)
        return False
    if len(devices) > most:
        what = "nodes with series of more GPUs than they have, perhaps another cluster's"
        problems.refuse(node, what, f"{len(devices)} of {most:g}", "RDG015")
        return False
    return True


def _oldest(devices: Mapping[str, Value] | Mapping[str, DeviceLoad]) -> float:
    return max(value.age for value in devices.values())
