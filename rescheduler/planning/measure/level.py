"""How far above its own past a node reads right before a batch.

A node is left because it reads high, so that what it reads right then is a peak more often than
not, and is lower later without any move. Where all policies that read it have `stableFor`, its past
is known. What it reads now is never raised: load that ended since is no reason to expect it back.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.model.readings import BoolArray, DeviceValue, FloatArray, Reading, instants
from rescheduler.model.snapshot import Snapshot

_HIGHEST = 10.0
"""A past value above is none, as policies see it."""

_LEAST_USE = 0.02
"""Of its node, what a pod that has come uses to be a reason to forget the past before it."""

_PEAK = 0.99
"""A node that reads at least this share of it otherwise is in no peak."""


def with_past(key: str, readings: Sequence[Reading]) -> Reading:
    """The reading of this key with the shortest past: none, where a policy asks for none."""
    return min((r for r in readings if r.request.key == key), key=lambda each: each.request.span)


def peaks(
    reading: Reading,
    pods: Reading | None,
    nodes: Mapping[str, int],
    named: Mapping[str, int],
    snapshot: Snapshot,
) -> dict[str, float]:
    """Of the nodes that are in a peak, what share of their value they read otherwise.

    pods: the reading of pods that this one is the sum of. nodes: those that are asked about, index
    by name. named: the nodes that moves touch: how the others changed meanwhile is no peak.
    """
    samples = _past(reading)
    if samples is None:
        return {}
    others = np.ones(samples.shape[1], dtype=np.bool_)
    others[list(named.values())] = False
    drift = _drift(samples[:, others])
    answer: dict[str, float] = {}
    for name, node in nodes.items():
        now = float(reading.values[node])
        kept = _kept(reading, pods, node, snapshot)
        usual = _usual(samples[kept, node] * drift[kept])
        if now > 0 and usual < _PEAK * now:
            answer[name] = float(f"{usual / now:.3g}")
    return answer


def device_level(
    device: DeviceValue, reading: Reading, pods: Reading | None, snapshot: Snapshot
) -> float:
    """What a device reads otherwise, and at most what it reads now."""
    past = np.array(device.range_samples)
    if len(past) != len(instants(reading.request.span)):
        return device.value
    kept = _kept(reading, pods, device.node, snapshot)
    usual = _usual(np.where((past >= 0) & (past <= _HIGHEST), past, np.nan)[kept])
    return min(device.value, usual)


def _past(reading: Reading) -> FloatArray | None:
    samples = reading.range_samples
    if samples is None or reading.request.subject != "node":
        return None
    return np.where((samples >= 0) & (samples <= _HIGHEST), samples, np.nan)


def _drift(samples: FloatArray) -> FloatArray:
    """(k,) the sum over nodes now, divided by that at each instant, of those known at both."""
    both = ~np.isnan(samples) & ~np.isnan(samples[-1])
    now = np.where(both, samples[-1], 0.0).sum(axis=1)
    then = np.where(both, samples, 0.0).sum(axis=1)
    usable = (now > 0) & (then > 0)
    return np.where(usable, now / np.where(usable, then, 1.0), 1.0)


def _kept(reading: Reading, pods: Reading | None, node: int, snapshot: Snapshot) -> BoolArray:
    """(k,) the instants whose windows lie after the last pod of some use has come to the node."""
    request, last = reading.request, -np.inf
    capacity = np.nan if reading.capacity is None else float(reading.capacity[node])
    if pods is not None and capacity > 0:
        large = (snapshot.pod_node == node) & (pods.values >= _LEAST_USE * capacity)
        last = float(snapshot.pod_came[large].max(initial=-np.inf))
    begun = instants(request.span) + request.window + request.max_age
    return np.asarray(begun <= snapshot.taken.timestamp() - last)


def _usual(samples: FloatArray) -> float:
    """Their median, which a few wild values do not change; infinite where none is known."""
    known = samples[~np.isnan(samples)]
    return float(np.median(known)) if len(known) else np.inf
