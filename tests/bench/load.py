"""Readings for a synthetic cluster: every node at an ordinary load, and a few that are hot."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.assembly import Assembly
from rescheduler.sources.prometheus.catalog import CATALOG, unit_of
from rescheduler.sources.prometheus.expected_subjects import ExpectedSubjects
from rescheduler.sources.prometheus.http.http_api import Vector
from rescheduler.sources.prometheus.indexed_cluster import IndexedCluster

LINK = 1.25e9
"""Bytes a second of every node's card."""
_DEVICE = 80 * 2.0**30


def readings(
    snapshot: Snapshot, requests: Iterable[ReadingRequest], hot: float = 0.02, seed: int = 1
) -> Readings:
    """A value for all that is expected and in the catalogue.

    hot: the share of nodes above 85 % of each resource.
    A node's load is the sum of its pods', as it is when every process belongs to a pod.
    """
    expectation = ExpectedSubjects(snapshot)
    known = sorted(request for request in set(requests) if request.name in CATALOG)
    entries = [_reading(snapshot, expectation, request, hot, seed) for request in known]
    return Readings(tuple(entries))


def of(request: ReadingRequest, snapshot: Snapshot) -> Assembly:
    """Who ought to have a value, and how much 1.0 is; nothing is asked."""
    return Assembly(request, IndexedCluster(snapshot), 0.0, lambda _template: Vector([]))


def _reading(
    snapshot: Snapshot,
    expectation: ExpectedSubjects,
    request: ReadingRequest,
    hot: float,
    seed: int,
) -> Reading:
    assembly = of(request, snapshot)
    resource = request.name.partition(".")[2]
    # One seed a resource, so that the nodes' reading and the pods' describe the same policy test.
    random = np.random.default_rng([seed, *resource.encode()])
    target, capacity = _targets(snapshot, expectation, resource, hot, random)
    if request.subject == "node":
        values = target
    else:
        values = _shared_out(snapshot, request, target * capacity, random)
    expected = assembly.expected
    values = np.where(expected, values, np.nan)
    return Reading(
        request=request,
        unit=unit_of(request.name, CATALOG[request.name]),
        values=values,
        ages=np.where(np.isnan(values), np.nan, 15.0),
        expected=expected,
        capacity=capacity if request.subject == "node" else None,
    )


def _targets(
    snapshot: Snapshot,
    expectation: ExpectedSubjects,
    resource: str,
    hot: float,
    random: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """(nodes,) the load of each node, and how much 1.0 is."""
    size = len(snapshot.nodes)
    target = np.where(
        random.random(size) < hot, random.uniform(0.85, 0.95, size), random.uniform(0.2, 0.6, size)
    )
    known = of(ReadingRequest(f"node.{resource}"), snapshot).capacity
    if known is None:
        known = np.full(size, LINK) if "network" in resource else expectation.gpus * _DEVICE
    return target, known


def _shared_out(
    snapshot: Snapshot,
    request: ReadingRequest,
    load: FloatArray,
    random: np.random.Generator,
) -> FloatArray:
    """(pods,) each node's load, given to its pods in random shares."""
    expected = of(replace(request, window=0.0), snapshot).expected
    shares = np.where(expected, random.uniform(0.2, 1.0, len(snapshot.pods)), 0.0)
    totals = np.bincount(snapshot.pod_node, weights=shares, minlength=len(snapshot.nodes))
    whole = np.where(totals > 0, totals, np.nan)
    return np.asarray(shares / whole[snapshot.pod_node] * load[snapshot.pod_node], np.float64)
