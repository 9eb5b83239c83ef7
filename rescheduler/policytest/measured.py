"""Readings of a policy test: each subject's series, averaged over the policy's window."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rescheduler.kube.quantity import milli, units
from rescheduler.model.problem import Problem
from rescheduler.model.readings import FloatArray, Reading, ReadingRequest, Readings, instants
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policytest.series import samples

NIC = 1.25e9
"""Bytes per second of every node's interface: 10 Gbit/s."""
GPU_MEMORY = 80 * 2**30
"""Bytes of every GPU."""

Given = Mapping[str, str | float | None]


def measured(
    snapshot: Snapshot,
    given: Mapping[str, Given],
    policies: Iterable[Policy],
    interval: float = 60.0,
) -> Snapshot:
    """The snapshot with these readings.

    given: reading name to the series of each node, of each pod by the workload's label `app`, or of
    each pair as `ONE -> OTHER`, where workloads are `NAMESPACE/NAME`. Who is not named has no value
    and ought to have none. interval: seconds between two samples.

    Raises:
        ValueError: a series cannot be understood, or is of nobody in the cluster.
    """
    wanted: dict[str, dict[ReadingRequest, None]] = {}
    for policy in policies:
        for each in policy.requests():
            wanted.setdefault(each.name, {})[each] = None
    entries = tuple(
        _reading(snapshot, request, series, interval)
        for name, series in given.items()
        for request in wanted.get(name, [ReadingRequest(name)])
    )
    return replace(snapshot, readings=Readings(entries))


def _reading(snapshot: Snapshot, request: ReadingRequest, given: Given, interval: float) -> Reading:
    capacity, ends = None, []
    if request.subject == "node":
        names = [each.metadata.name for each in snapshot.nodes]
        capacity = _capacity(snapshot, request.name)
    elif request.subject == "pod":
        names = [(each.metadata.labels or {}).get("app", "") for each in snapshot.pods]
    else:
        names = list(given)
        ends = [_ends(request, name, snapshot) for name in names]
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise ValueError(f"readings.{request.name}: there is no {request.subject} `{unknown[0]}`")
    past = instants(request.span) if request.span else np.zeros(1)
    found = {}
    for name, series in given.items():
        try:
            found[name] = _readings_at(samples(series), request, interval, past)
        except ValueError as error:
            raise ValueError(f"readings.{request.name}.{name}: {error}") from error
    absent = np.full((len(past), 2), np.nan)
    pairs = np.array([found.get(name, absent) for name in names]).reshape(-1, len(past), 2)
    reading = Reading(
        request=request,
        unit="ratio" if request.subject == "node" else "",
        values=pairs[:, -1, 0],
        ages=pairs[:, -1, 1],
        expected=np.array([name in given for name in names], dtype=np.bool_),
        capacity=capacity,
        pairs=tuple(ends),
        range_samples=pairs[:, :, 0].T.copy() if request.span else None,
    )
    return replace(reading, problem=_problem(reading))


def _ends(request: ReadingRequest, text: str, snapshot: Snapshot) -> tuple[str, str]:
    one, arrow, other = (part.strip() for part in text.partition("->"))
    if not (one and arrow and other):
        raise ValueError(f"readings.{request.name}: `{text}` is not `ONE -> OTHER`")
    known = {f"{each.namespace}/{each.name}" for each in snapshot.workloads}
    for end in (one, other):
        if "/" in end and end not in known:
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
        f"wanted are {reading.request.min_coverage:.0%}",
    )


def _capacity(snapshot: Snapshot, name: str) -> FloatArray:
    rooms = [each.status.allocatable or {} for each in snapshot.nodes]
    gpus = np.array([float(units(room.get("nvidia.com/gpu", 0))) for room in rooms])
    match name.removeprefix("node."):
        case "gpu":
            return gpus
        case "gpu.memory":
            return gpus * GPU_MEMORY
        case "cpu":
            return np.array([milli(room.get("cpu", 0)) / 1000 for room in rooms])
        case "memory":
            return np.array([float(units(room.get("memory", 0))) for room in rooms])
    return np.full(len(rooms), NIC)
