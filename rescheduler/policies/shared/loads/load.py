"""Measured load, made ready to be moved about: what each node carries and each pod contributes."""

from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import (
    BoolArray,
    FloatArray,
    IntArray,
    Reading,
    ReadingRequest,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.coverage import too_few
from rescheduler.policies.shared.demand import Devices, demands
from rescheduler.policies.shared.unmeasured_nodes import nothing_measured

_SHARES = {"pod.cpu": 0.85, "pod.memory": 0.70}
"""What a pod uses of what it asks for, as koordinator's estimator takes it."""


def estimate_usage(snapshot: Snapshot, name: str) -> FloatArray:
    """(pods,) what each may use by its requests, in the reading's unit; 0 for other readings."""
    share = _SHARES.get(name)
    if share is None:
        return np.zeros(len(snapshot.pods))
    distinct_demands, of_pod = demands(snapshot, Devices(""))
    amounts = [
        demand.cpu / 1000 if name == "pod.cpu" else float(demand.memory)
        for demand in distinct_demands
    ]
    return share * np.array([*amounts, 0.0])[of_pod]


def unseen_share(snapshot: Snapshot, window: float) -> FloatArray:
    """(pods,) the share of the window, 0 to 1, that lies before the pod runs; 0 if it leaves."""
    share = np.clip(1.0 - snapshot.pod_age / window, 0.0, 1.0)
    return np.where(snapshot.leaving | (snapshot.pod_node < 0), 0.0, share)


def young(expected: BoolArray, usage_known: BoolArray, share: FloatArray) -> BoolArray:
    """(pods,) those that have no value because they are too young for one."""
    return np.asarray(~expected & ~usage_known & (share > 0), dtype=np.bool_)


_SANE = (1e-9, 1e18)
"""Capacities beyond this are errors of an exporter in any unit that we know."""

_MOST_LOAD = 10.0
"""A node at ten times its capacity, or a pod at ten times the largest, is an error of a query."""

RESIDUAL = {"gpu": (-0.1, 0.1), "gpuMemory": (-0.1, 0.1)}
"""What may lie outside of pods, as shares of a node's capacity: devices are used by pods alone."""
BASE_LOAD = (-0.1, 0.3)
"""The system itself uses CPU, memory and network; far more than this is not the system."""


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """One resource reading of all nodes, and of all pods that make it up.

    Amounts are in the pods' unit (cores, bytes, bytes/s, GPUs). name, pod_name: the two readings.
    measured: (nodes,) amount, NaN where it is not known. capacity: (nodes,), NaN where not known.
    expected: (nodes,) whether the node ought to have a value: it has the resource.
    used: (pods,) amount, 0 where it is not known; of pods too young for a value by their requests.
    missing: (pods,) expected, and not known. usage_known: (pods,) whether the amount was measured.
    range_samples: (instants, nodes) the shares that `measured` was of the capacity in the
    requested past, NaN where not known; None where that past is not known.
    shadow: (nodes,) what pods that were just bound use and `measured` has not seen yet.
    freed: (pods,) what leaves with each, where another amount comes; None: `used`.
    trusted: (nodes,) whether node and pods agree well enough to know what leaving would free.
    """

    name: str
    pod_name: str
    measured: FloatArray
    capacity: FloatArray
    expected: BoolArray
    used: FloatArray
    usage_known: BoolArray
    missing: BoolArray
    trusted: BoolArray
    shadow: FloatArray
    range_samples: FloatArray | None = None
    freed: FloatArray | None = None


def read_load(
    snapshot: Snapshot,
    requests: tuple[ReadingRequest, ReadingRequest],
    selected: BoolArray,
    residual: tuple[float, float],
) -> ResourceLoad | Problem:
    """The load by these readings, or why they must not be relied on.

    requests: of the nodes and of the pods. selected: (nodes,) where coverage is demanded.
    residual: the least and the most share of a node's capacity that may lie outside of its pods
    before the pods' usage no longer explains the node's load.
    """
    node_request, pod_request = requests
    nodes = _find(snapshot, node_request, len(snapshot.nodes))
    pods = _find(snapshot, pod_request, len(snapshot.pods))
    if isinstance(nodes, Problem):
        return nodes
    if isinstance(pods, Problem):
        return pods
    if nodes.capacity is None or nodes.capacity.shape != nodes.values.shape:
        return Problem("RDG006", f"{node_request.name} has no value for the capacity of a node")
    capacity = np.where(_is_between(nodes.capacity, *_SANE), nodes.capacity, np.nan)
    ratio = np.where(
        _fresh(nodes) & _is_between(nodes.values, 0.0, _MOST_LOAD), nodes.values, np.nan
    )
    measured = ratio * capacity
    largest = float(np.max(capacity, initial=0.0, where=~np.isnan(capacity)))
    usage_known = _fresh(pods) & _is_between(pods.values, 0.0, _MOST_LOAD * largest)
    placed = snapshot.pod_node
    in_scope = np.where(placed >= 0, selected[placed] if len(selected) else False, False)
    problem = (
        nothing_measured(snapshot, node_request.name, nodes.expected, selected)
        or too_few(snapshot, nodes, ~np.isnan(measured), selected)
        or too_few(snapshot, pods, usage_known, in_scope)
    )
    if problem:
        return problem
    seen = np.where(usage_known, pods.values, 0.0)
    late = unseen_share(snapshot, node_request.window)
    guess = np.where(
        young(pods.expected, usage_known, late), estimate_usage(snapshot, pod_request.name), 0.0
    )
    used = seen + guess
    return ResourceLoad(
        name=node_request.name,
        pod_name=pod_request.name,
        measured=measured,
        capacity=capacity,
        expected=nodes.expected,
        used=used,
        usage_known=usage_known,
        missing=pods.expected & ~usage_known,
        trusted=_is_explained(
            measured, capacity, sum_by_node(seen, placed, len(capacity)), residual
        ),
        shadow=sum_by_node(used * late, placed, len(capacity)),
        range_samples=None
        if nodes.range_samples is None
        else np.where(
            _is_between(nodes.range_samples, 0.0, _MOST_LOAD), nodes.range_samples, np.nan
        ),
    )


def sum_by_node(amounts: FloatArray, placed: IntArray, nodes: int) -> FloatArray:
    """(nodes,) the sum of the pods' amounts on each node; unbound pods are on none."""
    bound = placed >= 0
    return np.bincount(placed[bound], weights=amounts[bound], minlength=nodes).astype(np.float64)


def _find(snapshot: Snapshot, request: ReadingRequest, subjects: int) -> Reading | Problem:
    reading = snapshot.readings.find(request)
    if reading is None:
        return snapshot.readings.missing_problem(request)
    if reading.problem is not None and not reading.low_coverage:
        return Problem(reading.problem.code, f"{request.name}: {reading.problem.message}")
    if any(len(array) != subjects for array in (reading.values, reading.ages, reading.expected)):
        return Problem(
            "RDG006", f"{request.name} has {len(reading.values)} values for {subjects} subjects"
        )
    return reading


def _is_between(values: FloatArray, least: float, most: float) -> BoolArray:
    """(k,) whether each value is a number in this range; NaN is not."""
    return np.asarray((values >= least) & (values <= most), dtype=np.bool_)


def _fresh(reading: Reading) -> BoolArray:
    return np.asarray(reading.ages <= reading.request.max_age, dtype=np.bool_)


def _is_explained(
    measured: FloatArray, capacity: FloatArray, used: FloatArray, residual: tuple[float, float]
) -> BoolArray:
    least, most = residual
    return _is_between((measured - used) / capacity, least, most)


def mean_share(share: FloatArray, capacity: FloatArray, wanted: BoolArray, least: float) -> float:
    """The load of the nodes that count and are known, as a share of all that they have.

    Each weighs as much as it has, so that no move among them changes the mean. Without a node that
    is known there is no bound to take.
    least: the share of those that count which must be known, so that not the mean be that of some.
    """
    has_load = wanted & ~np.isnan(share) & (capacity > 0)
    if not has_load.any() or has_load.sum() < least * wanted.sum():
        return np.inf
    return float(np.average(share[has_load], weights=capacity[has_load]))
