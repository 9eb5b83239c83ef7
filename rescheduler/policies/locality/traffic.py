"""Measured traffic, as what each pair of workloads counts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import IntArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was measured between workloads, or between a workload and a domain.

    amounts: by pair, in the traffic of an average pod that has any; the sum over all
    pairs is half the number of pods where both ends are workloads, and all of it where one is a
    domain. pods: the bound pods of each workload that is in a pair.
    """

    amounts: dict[tuple[str, str], float]
    pods: dict[str, IntArray]
    problems: tuple[Problem, ...] = ()


def measured_traffic(
    snapshot: Snapshot, request: ReadingRequest, members: Callable[[int], IntArray]
) -> Traffic | Problem:
    """The traffic of the reading; both directions of a pair are one.

    A pair without a value has none here either: it is not known to be silent. Traffic of a
    workload with itself is left out. members: the counted pods of a workload, by its number.
    """
    reading = snapshot.readings.find(request)
    if reading is None:
        return Problem("RDG007", f"{request.name} of {request.series} is not in the snapshot")
    if reading.problem is not None:
        return reading.problem
    if reading.coverage < request.min_coverage:
        return Problem(
            "RDG003",
            f"{reading.coverage:.0%} of the pairs have a value; needed are "
            f"{request.min_coverage:.0%}",
        )
    to_domains = request.columns[5:] == ("Domain",)
    names = _names(snapshot)
    pods: dict[str, IntArray] = {}
    amounts: dict[tuple[str, str], float] = {}
    for (one, other), value in zip(reading.pairs, reading.values.tolist(), strict=True):
        if not np.isfinite(value) or value <= 0 or one == other:
            continue
        ends = (one,) if to_domains else (one, other)
        for end in ends:
            if end not in pods:
                pods[end] = members(names[end]) if end in names else np.empty(0, np.int32)
        if all(len(pods[end]) for end in ends):
            key = (one, other) if to_domains or one < other else (other, one)
            amounts[key] = amounts.get(key, 0.0) + value
    traffic_pods = {end for pair in amounts for end in (pair[:1] if to_domains else pair)}
    total = sum(amounts.values()) * (1 if to_domains else 2)
    if not traffic_pods or not np.isfinite(total):
        return Traffic(
            {}, {}, (Problem("LOC006", "no measured traffic is between known workloads"),)
        )
    average = total / sum(len(pods[end]) for end in traffic_pods)
    return Traffic(
        {key: value / average for key, value in sorted(amounts.items())},
        {end: pods[end] for end in traffic_pods},
    )


def _names(snapshot: Snapshot) -> dict[str, int]:
    """Workloads by `namespace/name`, without the names that two kinds of workload share."""
    answer: dict[str, int] = {}
    twice: set[str] = set()
    for number, workload in enumerate(snapshot.workloads):
        name = f"{workload.namespace}/{workload.name}"
        if name in answer:
            twice.add(name)
        answer[name] = number
    return {name: number for name, number in answer.items() if name not in twice}
