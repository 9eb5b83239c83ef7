"""What a synthetic cluster measures besides loads: traffic, distances, and the past of its GPUs."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import (
    FloatArray,
    Reading,
    ReadingRequest,
    Readings,
    instants,
)
from rescheduler.model.cluster.snapshot import Snapshot

_ZONE = "topology.kubernetes.io/zone"
_PARTNERS = 3
"""Workloads that each one sends to."""
_MOST = 0.9
"""GPUs that a pod uses at most, so that it is no more than it holds."""
_IDLE = 0.1
"""The share of pods whose GPUs were idle in all of the past."""


def with_measured(
    snapshot: Snapshot, found: Readings, requests: Iterable[ReadingRequest], seed: int = 1
) -> Readings:
    """These readings, with those of pairs, and with a past where one is asked for."""
    random = np.random.default_rng([seed, len(snapshot.pods)])
    entries = [_with_past(reading, random) for reading in found.entries]
    for request in sorted(set(requests)):
        if request.name == "pair.traffic":
            entries.append(_traffic(snapshot, request, random))
        elif request.name == "pair.distance":
            entries.append(_distances(snapshot, request, random))
    return Readings(tuple(entries))


def _with_past(reading: Reading, random: np.random.Generator) -> Reading:
    """Its values at all instants of its span, but that some were idle; everybody has one."""
    if not reading.request.span or reading.request.subject != "pod":
        return reading
    idle = random.random(len(reading.values)) < _IDLE
    past = np.tile(
        np.where(idle, 0.0, np.nan_to_num(reading.values, nan=0.3).clip(max=_MOST)),
        (len(instants(reading.request.span)), 1),
    )
    ages, everybody = np.full(len(idle), 15.0), np.ones(len(idle), dtype=np.bool_)
    return replace(
        reading, values=past[-1].copy(), ages=ages, expected=everybody, range_samples=past
    )


def _traffic(snapshot: Snapshot, request: ReadingRequest, random: np.random.Generator) -> Reading:
    """Bytes a second from each Deployment to some others."""
    names = sorted(
        {
            f"{pod.metadata.namespace}/{pod.metadata.labels['app.kubernetes.io/name']}"
            for pod in snapshot.pods
            if pod.metadata.labels and pod.metadata.labels.get("pod-template-hash")
        }
    )
    others = random.integers(len(names), size=(len(names), _PARTNERS)).tolist()
    pairs = sorted(
        {
            (name, names[other])
            for name, its in zip(names, others, strict=True)
            for other in its
            if names[other] != name
        }
    )
    return _of_pairs(request, pairs, random.lognormal(12.0, 2.0, len(pairs)), "bytes/s")


def _distances(snapshot: Snapshot, request: ReadingRequest, random: np.random.Generator) -> Reading:
    """Seconds between every two zones."""
    zones = sorted({(node.metadata.labels or {}).get(_ZONE, "") for node in snapshot.nodes} - {""})
    pairs = [(one, other) for one in zones for other in zones if one != other]
    return _of_pairs(request, pairs, random.uniform(0.001, 0.01, len(pairs)), "seconds")


def _of_pairs(
    request: ReadingRequest, pairs: list[tuple[str, str]], values: FloatArray, unit: str
) -> Reading:
    return Reading(
        request=request,
        unit=unit,
        values=values,
        ages=np.full(len(pairs), 15.0),
        expected=np.ones(len(pairs), dtype=np.bool_),
        pairs=tuple(pairs),
    )
