"""The level of a reading before a batch: over all of the time of which its past is known.

A node is left because it reads high, so that what it reads right then is a peak more often than
not, and is lower later without any move. A policy with `stableFor` knows the past: its mean is what
the node reads otherwise. Without a past there is only what it reads now.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from rescheduler.model.history import PastMove
from rescheduler.model.readings import DeviceValue, FloatArray, Reading, instants
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.measure.by_node import by_node
from rescheduler.planning.measure.churn import came


def unchanged_for(
    nodes: Mapping[str, int], moves: Iterable[PastMove], snapshot: Snapshot
) -> FloatArray:
    """(nodes,) for how many seconds no pod has come to these nodes, and we moved none from or to.

    That pods have ended there is not known. Of other nodes nothing is known: infinite.
    """
    answer = np.full(len(snapshot.nodes), np.inf)
    wanted = np.isin(snapshot.pod_node, np.array(list(nodes.values()), dtype=np.int32))
    for pod in np.flatnonzero(wanted).tolist():
        node = snapshot.pod_node[pod]
        age = (snapshot.taken - came(snapshot.pods[pod])).total_seconds()
        answer[node] = min(answer[node], age)
    for move in moves:
        ago = 0.0 if move.in_flight else (snapshot.taken - move.last).total_seconds()
        for name in (move.source, move.landedOn, *(move.landing if move.in_flight else ())):
            if name in nodes:
                answer[nodes[name]] = min(answer[nodes[name]], ago)
    return answer


def level(reading: Reading, snapshot: Snapshot, unchanged: FloatArray) -> FloatArray:
    """(nodes,) as `by_node`, and where the past is known the mean since the node is unchanged.

    unchanged: (nodes,) seconds. A node without a value now has none.
    """
    values = by_node(reading, snapshot)
    if reading.range_samples is None or reading.request.subject != "node":
        return values
    return _mean(reading, reading.range_samples, values, unchanged)


def device_level(device: DeviceValue, reading: Reading, unchanged: FloatArray) -> float:
    """The same of one device."""
    if not device.range_samples:
        return device.value
    samples = np.array(device.range_samples, dtype=np.float64)[:, None]
    value = np.array([device.value])
    return float(_mean(reading, samples, value, unchanged[[device.node]])[0])


def _mean(
    reading: Reading, samples: FloatArray, now: FloatArray, unchanged: FloatArray
) -> FloatArray:
    """(n,) over the samples (k, n) whose windows lie after the last change; `now` without any."""
    request = reading.request
    begun = instants(request.span)[:, None] + request.window + request.max_age
    kept = np.where((begun <= unchanged) & ~np.isnan(samples), samples, 0.0)
    count = ((begun <= unchanged) & ~np.isnan(samples)).sum(axis=0)
    means = kept.sum(axis=0) / np.maximum(count, 1)
    return np.where((count > 0) & ~np.isnan(now), means, now)
