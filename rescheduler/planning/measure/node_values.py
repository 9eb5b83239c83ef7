"""Values of readings by node: of nodes directly, of pods summed."""

from collections.abc import Iterable

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot


def of_objects(requests: Iterable[ReadingRequest]) -> list[ReadingRequest]:
    """The requests for readings of nodes and pods. What lies between pairs no move changes."""
    return [request for request in requests if request.subject != "pair"]


def pods_reading(name: str) -> str:
    """The reading of pods that a reading of nodes is the sum of, as far as the catalog has one."""
    return "pod" + name.removeprefix("node")


def fresh(reading: Reading) -> FloatArray:
    """(subjects,) the values that are not too old; NaN is absent."""
    return np.where(reading.ages <= reading.request.max_age, reading.values, np.nan)


def by_node(reading: Reading, snapshot: Snapshot) -> FloatArray:
    """(nodes,) the value of each node, or the sum over its pods; NaN is absent.

    A pod without a value adds nothing, and a node where no pod has a value has no sum.
    """
    values = fresh(reading)
    if reading.request.subject == "node":
        return values
    nodes, home = len(snapshot.nodes), snapshot.pod_node
    there = (home >= 0) & ~np.isnan(values)
    sums = np.bincount(home[there], weights=values[there], minlength=nodes)
    return np.where(np.bincount(home[there], minlength=nodes) > 0, sums, np.nan)


def usable(reading: Reading | None, snapshot: Snapshot) -> bool:
    """Whether the reading has a value, or its absence, for every subject, and no problem.

    That too few of all have one is none here: each node that counts is looked at.
    """
    if reading is None or (reading.problem is not None and not reading.low_coverage):
        return False
    subject = reading.request.subject
    subjects = len(snapshot.nodes) if subject == "node" else len(snapshot.pods)
    return subject != "pair" and len(reading.values) == len(reading.ages) == subjects


def pods_of(reading: Reading, snapshot: Snapshot) -> Reading | None:
    """The reading of pods that this one is the sum of, or itself; None where there is none."""
    if reading.request.subject == "pod":
        return reading
    name, window = pods_reading(reading.name), reading.request.window
    for entry in snapshot.readings.entries:
        if entry.name == name and entry.request.window == window:
            return entry if usable(entry, snapshot) else None
    return None
