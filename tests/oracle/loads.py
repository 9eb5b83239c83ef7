"""Load of nodes in the cases of descheduler's two plugins for utilization, as readings of ours.

- A pod without metrics uses what it asks for: descheduler goes by requests where it has none.
- Their extended resource stands for GPUs, each of which keeps busy what has asked for it.
- Where a case has values of Prometheus, these are of nodes alone: of pods nothing is known.
- A pod count is no load: targets of `pods` are left out.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from rescheduler.kube.quantity import milli, units
from rescheduler.model.cluster.readings import FloatArray, Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy

Json = dict[str, Any]

EXTENDED = "example.com/foo"
GPU = "nvidia.com/gpu"

_NAMES = {"cpu": "cpu", "memory": "memory", EXTENDED: "gpu", "MetricResource": "cpu"}
"""Their name of a resource to that of ours."""


def targets(thresholds: Json) -> dict[str, float]:
    """Resource of ours to its share, without what is no load."""
    return {_NAMES[name]: value / 100 for name, value in thresholds.items() if name in _NAMES}


def low(arguments: Json) -> Json:
    """What says the arguments of LowNodeUtilization."""
    high = targets(arguments["targetThresholds"])
    if not arguments.get("useDeviationThresholds"):
        return {"targets": {name: {"high": share} for name, share in high.items()}}
    [tolerance] = set(high.values())
    return {
        "strategy": "Balance",
        "tolerance": tolerance,
        "targets": {name: {"high": 1.0} for name in high},
    }


def high(arguments: Json) -> Json:
    """What says the arguments of HighNodeUtilization."""
    cold = targets(arguments["thresholds"])
    return {
        "strategy": "Pack",
        "cold": max(cold.values()),
        "targets": {name: {"high": 1.0} for name in cold},
    }


def with_gpus(written: Any) -> Any:
    """An object of a case, with GPUs for their extended resource."""
    if isinstance(written, dict):
        return {GPU if key == EXTENDED else key: with_gpus(value) for key, value in written.items()}
    if isinstance(written, list):
        return [with_gpus(element) for element in written]
    return written


def measured(snapshot: Snapshot, given: Json, policy: Policy) -> Snapshot:
    """The cluster of a case with the readings that the policy asks for.

    given: the metrics of the case.
    """
    entries = [
        _of_nodes(snapshot, given, request)
        if request.subject == "node"
        else _of_pods(snapshot, given, request)
        for request in policy.requests()
    ]
    return replace(snapshot, readings=Readings(tuple(entries)))


def _of_nodes(snapshot: Snapshot, given: Json, request: ReadingRequest) -> Reading:
    resource = request.name.removeprefix("node.")
    capacity = np.array([_amount(node.status.allocatable, resource) for node in snapshot.nodes])
    if given.get("prom"):
        shares = {
            sample["metric"]["instance"]: float(sample["value"][1]) for sample in given["prom"]
        }
        values = np.array([shares.get(node.metadata.name, np.nan) for node in snapshot.nodes])
    else:
        used = _used(snapshot, given, resource)
        bound = snapshot.pod_node >= 0
        sums = np.bincount(
            snapshot.pod_node[bound], weights=used[bound], minlength=len(snapshot.nodes)
        )
        if given.get("metrics"):
            told = {
                nodemetric["metadata"]["name"]: _amount(nodemetric["usage"], resource)
                for nodemetric in given["metrics"]["nodemetrics"]
            }
            sums = np.array([told.get(node.metadata.name, np.nan) for node in snapshot.nodes])
        values = sums / np.where(capacity > 0, capacity, np.nan)
    return _reading(request, "ratio", values, expected=capacity > 0, capacity=capacity)


def _of_pods(snapshot: Snapshot, given: Json, request: ReadingRequest) -> Reading:
    used = _used(snapshot, given, request.name.removeprefix("pod."))
    return _reading(request, "", used, expected=snapshot.pod_node >= 0)


def _used(snapshot: Snapshot, given: Json, resource: str) -> FloatArray:
    """(pods,) what each uses, NaN where nobody knows."""
    if given.get("prom"):
        return np.full(len(snapshot.pods), np.nan)
    told = {
        pod_metrics["metadata"]["name"]: sum(
            _amount(one["usage"], resource) for one in pod_metrics["containers"]
        )
        for pod_metrics in (given.get("metrics") or {}).get("podmetrics") or ()
    }
    asked = [
        sum(
            _amount(container.resources and container.resources.requests, resource)
            for container in pod.spec.containers
        )
        for pod in snapshot.pods
    ]
    names = [pod.metadata.name for pod in snapshot.pods]
    return np.array([told.get(name, use) for name, use in zip(names, asked, strict=True)])


def _amount(amounts: Any, resource: str) -> float:
    """In cores, bytes or GPUs."""
    if resource == "gpu":
        return float(units((amounts or {}).get(GPU, 0)))
    if resource == "cpu":
        return milli((amounts or {}).get("cpu", 0)) / 1000
    return float(units((amounts or {}).get(resource, 0)))


def _reading(request: ReadingRequest, unit: str, values: FloatArray, **more: Any) -> Reading:
    ages = np.where(np.isnan(values), np.nan, 0.0)
    return Reading(request=request, unit=unit, values=values, ages=ages, **more)
