"""Readings of a policy test: each subject's series, averaged over the policy's window."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rescheduler.kube.nodes.accelerators import offers
from rescheduler.kube.quantity import milli, units
from rescheduler.model.cluster.readings import (
    DeviceValue,
    FloatArray,
    Reading,
    ReadingRequest,
    Readings,
    instants,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.own_readings.definition import OwnReading

Described = Mapping[str, Mapping[str, list[str | int | float]]]
"""Node, device, and what it reads, followed by the names of the pods that have it.

`train-0=0.4` is what the pod adds by a series of its own.
"""


def with_devices(before: Snapshot, described: Mapping[str, Described]) -> Snapshot:
    """The snapshot whose readings name devices, where the policy test does.

    Raises:
        ValueError: a reading, node or pod is not in the policy test, or a device has no value.
    """
    readings = before.readings
    unknown = sorted(set(described) - {reading.name for reading in readings.entries})
    if unknown:
        raise ValueError(f"devices.{unknown[0]}: the policy test has no such reading")
    entries = tuple(
        _describe_devices(before, reading, described[reading.name])
        if reading.name in described
        else reading
        for reading in readings.entries
    )
    return replace(before, readings=replace(readings, entries=entries))


def _describe_devices(before: Snapshot, reading: Reading, described: Described) -> Reading:
    pods = {pod.metadata.name: number for number, pod in enumerate(before.pods)}
    values, ages, expected = reading.values.copy(), reading.ages.copy(), reading.expected.copy()
    devices = []
    for node, by_device in described.items():
        place = f"devices.{reading.name}.{node}"
        index = before.node_index.get(node)
        if index is None:
            raise ValueError(f"{place}: there is no such node")
        made = []
        for slot, (device, reported) in enumerate(by_device.items()):
            names = [str(name).partition("=")[0] for name in reported[1:]]
            unknown = [name for name in names if name not in pods]
            if not reported or isinstance(reported[0], str) or unknown:
                wrong = f"there is no pod `{unknown[0]}`" if unknown else "a value comes first"
                raise ValueError(f"{place}.{device}: {wrong}, then the pods that have the device")
            holders = tuple(pods[name] for name in names)
            parts = [str(name).partition("=")[2] for name in reported[1:]]
            used = tuple(float(samples(part)[0]) for part in parts) if all(parts) else ()
            value = float(reported[0])
            made.append(DeviceValue(index, device, value, str(slot), holders, used=used))
        found_values = [device_value.value for device_value in made] or [0.0]
        load = reading.name in ("node.gpu", "node.gpu.memory")
        values[index] = sum(found_values) / len(found_values) if load else max(found_values)
        ages[index], expected[index] = 0.0, True
        devices += made
    return replace(reading, values=values, ages=ages, expected=expected, devices=tuple(devices))


_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?%?"
_TOKEN = re.compile(
    rf"(?P<start>-?{_NUMBER}|_)(?P<step>[+-]{_NUMBER})?(?:x(?P<count>[0-9]{{1,4}}))?"
)
_MOST = 10_000


def samples(text: str | float | None) -> FloatArray:
    """(n,) the samples, oldest first; NaN is absent.

    `0.5`, `50%`; `1 2 _ 4` with `_` for an absent sample; `0.2+0.1x5` for 0.2 and five more steps
    of 0.1; `70%x9` for ten samples of 70 %. None is a value that ought to be there and is not.

    Raises:
        ValueError: it is not such a series.
    """
    if text is None:
        return np.array([np.nan])
    series: list[float] = []
    for token in str(text).split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise ValueError(f"`{token}` is not a sample such as 0.5, 50%, _ or 0.2+0.1x5")
        if match["step"] and not match["count"]:
            raise ValueError(f"`{token}` has a step and no count, as in 0.2+0.1x5")
        start, step = _value(match["start"]), _value(match["step"] or "0")
        series += [start + step * index for index in range(int(match["count"] or 0) + 1)]
        if len(series) > _MOST:
            raise ValueError(f"more than {_MOST:,} samples")
    if not series:
        raise ValueError("a series needs at least one sample")
    return np.array(series, dtype=np.float64)


def _value(text: str) -> float:
    if text == "_":
        return float("nan")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


NIC = 1.25e9
"""Bytes per second of every node's interface: 10 Gbit/s."""
GPU_MEMORY = 80 * 2**30
"""Bytes of every GPU."""

Given = Mapping[str, str | float | None]


def add_readings(
    snapshot: Snapshot,
    series_by_reading: Mapping[str, Given],
    policies: Iterable[Policy],
    interval: float = 60.0,
    own: Mapping[str, tuple[OwnReading, ...]] | None = None,
) -> Snapshot:
    """The snapshot with these readings.

    series_by_reading: reading name to the series of each node, of each pod by the workload's label
    `app`, or of each pair as `ONE -> OTHER`, where workloads are `NAMESPACE/NAME`. Who is not named
    has no value and ought to have none. interval: seconds between two samples. own: readings that
    operators define; 1.0 is the capacity of those that measure theirs.

    Raises:
        ValueError: a series cannot be understood, or is of nobody in the cluster.
    """
    wanted: dict[str, dict[ReadingRequest, None]] = {}
    for policy in policies:
        for request in policy.requests():
            wanted.setdefault(request.name, {})[request] = None
    entries = tuple(
        _reading(snapshot, request, series, interval, (own or {}).get(name, ()))
        for name, series in series_by_reading.items()
        for request in wanted.get(name, [ReadingRequest(name)])
    )
    return replace(snapshot, readings=Readings(entries))


def _reading(
    snapshot: Snapshot,
    request: ReadingRequest,
    series_by_name: Given,
    interval: float,
    own: tuple[OwnReading, ...],
) -> Reading:
    capacity, ends = None, []
    if request.subject == "node":
        names = [node.metadata.name for node in snapshot.nodes]
        capacity = _own_capacity(snapshot, own) if own else _capacity(snapshot, request.name)
    elif request.subject == "pod":
        names = [(pod.metadata.labels or {}).get("app", "") for pod in snapshot.pods]
    else:
        names = list(series_by_name)
        ends = [_ends(request, name, snapshot) for name in names]
    unknown = sorted(set(series_by_name) - set(names))
    if unknown:
        raise ValueError(f"readings.{request.name}: there is no {request.subject} `{unknown[0]}`")
    past = instants(request.span) if request.span else np.zeros(1)
    values_by_name = {}
    for name, series in series_by_name.items():
        try:
            values_by_name[name] = _readings_at(samples(series), request, interval, past)
        except ValueError as error:
            raise ValueError(f"readings.{request.name}.{name}: {error}") from error
    absent = np.full((len(past), 2), np.nan)
    pairs = np.array([values_by_name.get(name, absent) for name in names]).reshape(-1, len(past), 2)
    reading = Reading(
        request=request,
        unit="ratio" if request.subject == "node" else "",
        values=pairs[:, -1, 0],
        ages=pairs[:, -1, 1],
        expected=np.array([name in series_by_name for name in names], dtype=np.bool_),
        capacity=capacity,
        pairs=tuple(ends),
        range_samples=pairs[:, :, 0].T.copy() if request.span else None,
    )
    return replace(reading, problem=_problem(reading))


def _ends(request: ReadingRequest, text: str, snapshot: Snapshot) -> tuple[str, str]:
    one, arrow, other = (part.strip() for part in text.partition("->"))
    if not (one and arrow and other):
        raise ValueError(f"readings.{request.name}: `{text}` is not `ONE -> OTHER`")
    workloads = {f"{workload.namespace}/{workload.name}" for workload in snapshot.workloads}
    for end in (one, other):
        if "/" in end and end not in workloads:
            raise ValueError(f"readings.{request.name}: there is no workload `{end}`")
    return one, other


def _readings_at(
    series: FloatArray, request: ReadingRequest, interval: float, past: FloatArray
) -> FloatArray:
    """(k, 2) the mean over the window and the age of the newest sample; NaN where it is too old.

    past: (k,) seconds before the newest sample of all, up to which samples count.
    """
    answer = np.full((len(past), 2), np.nan)
    for row, ago in enumerate(past.tolist()):
        ages = np.arange(len(series) - 1, -1, -1) * interval - ago
        present = ~np.isnan(series) & (ages >= 0) & (ages < request.window)
        if present.any() and ages[present].min() <= request.max_age:
            answer[row] = series[present].mean(), ages[present].min()
    return answer


def _problem(reading: Reading) -> Problem | None:
    if reading.coverage >= reading.request.min_coverage:
        return None
    return Problem(
        "RDG003",
        f"{reading.name}: {reading.coverage:.0%} of the {reading.request.subject}s have a value, "
        f"needed are {reading.request.min_coverage:.0%}",
    )


def _own_capacity(snapshot: Snapshot, own: tuple[OwnReading, ...]) -> FloatArray | None:
    declared = [
        (reading.capacity, reading.resources) for reading in own if reading.capacity is not None
    ]
    if not declared:
        return None
    capacity, resources = declared[0]
    if capacity.allocatable is None:
        return np.full(len(snapshot.nodes), 1.0 if capacity.fixed is None else capacity.fixed)
    allocatables = [node.status.allocatable or {} for node in snapshot.nodes]
    return np.array(
        [sum(float(units(room.get(name, 0))) for name in resources) for room in allocatables]
    )


def _capacity(snapshot: Snapshot, name: str) -> FloatArray:
    allocatables = [node.status.allocatable or {} for node in snapshot.nodes]
    gpu_offers = [
        offers(room, node.metadata.labels)
        for room, node in zip(allocatables, snapshot.nodes, strict=True)
    ]
    gpus = np.array([float(sum(one.devices for one in row)) for row in gpu_offers])
    match name.removeprefix("node."):
        case "gpu":
            return gpus
        case "gpu.memory":
            return gpus * GPU_MEMORY
        case "cpu":
            return np.array([milli(room.get("cpu", 0)) / 1000 for room in allocatables])
        case "memory":
            return np.array([float(units(room.get("memory", 0))) for room in allocatables])
    return np.full(len(allocatables), NIC)
