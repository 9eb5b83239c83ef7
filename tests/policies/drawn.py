"""What the conformance kit's clusters hold for Locality and Fragmentation, and how these are drawn.

Pods differ by their number: in requests, GPUs, data and side of a pair. Pair readings come sane,
odd and broken.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.locality.policy import Locality

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SHARE = "example.com/gpu-milli"
EVERYTHING: Any = {"all": True}

_REQUESTS: tuple[dict[str, str], ...] = (
    {"cpu": "100m"},
    {"cpu": "3", "nvidia.com/gpu": "1"},
    {"cpu": "100m", "nvidia.com/gpu": "2"},
    {"cpu": "1", SHARE: "300"},
    {"cpu": "1", "memory": "20Gi", SHARE: "600"},
)
_ROOMS: tuple[dict[str, str], ...] = ({"nvidia.com/gpu": "4"}, {"nvidia.com/gpu": "2"}, {})

_TALK = {
    "sane": (5.0, 1.0, 0.5, 2.0),
    "odd": (np.nan, -1.0, np.inf, 3.0),
    "huge": (1e300, 1e300, 1e-300, 0.0),
    "broken": (1.0, 1.0, 1.0, 1.0),
}
_PAIRS = (("web", "train"), ("train", "web"), ("web", "logs"), ("train", "nobody"))
_ZONES = (("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"))
_CATALOG = "lake"


def requests(number: int) -> dict[str, str]:
    """What a pod asks for."""
    return _REQUESTS[number % len(_REQUESTS)]


def room(number: int) -> dict[str, str]:
    """What a node has beside CPU and memory."""
    return _ROOMS[number % len(_ROOMS)]


def annotations(number: int) -> dict[str, str]:
    """Which data a pod reads, and which GPU it shares."""
    data = {0: {}, 1: {"rescheduler.io/dataset": "pile"}}
    more = {"rescheduler.io/dataset": "pile, images,nobody-has-it"}
    device = {"alibabacloud.com/gpu-index": str(number % 3)} if number % 2 else {}
    return {**data.get(number % 3, more), **device}


def _traffic(series: str, to: str) -> dict[str, Any]:
    end = {"namespace": "ns", "name": "workload"}
    other = {"destination": end} if to == "workload" else {"destinationDomain": "zone"}
    return {"series": series, "source": end, **other, "minCoverage": 0.0}


def _distances(series: str, covered: float = 0.0) -> dict[str, Any]:
    return {"series": series, "source": "from", "destination": "to", "minCoverage": covered}


@cache
def _request(series: str, what: str) -> ReadingRequest:
    """The request of a policy for a series: traffic to a workload or domain, or its distances."""
    if what == "distances":
        policy = _locality(podAffinity=True, distances=_distances(series))
    else:
        policy = _locality(traffic=_traffic(series, what))
    [request] = policy.requests()
    return request


@cache
def _data_request() -> ReadingRequest:
    [request] = _locality(datasets={"catalog": _CATALOG}).requests()
    return request


def readings(name: Callable[[str], str]) -> list[Reading]:
    """The readings of pairs, between renamed workloads, zones and data."""
    made = []
    for series, values in _TALK.items():
        problem = Problem("RDG002", "partial") if series == "broken" else None
        pairs = [(f"default/{name(one)}", f"default/{name(other)}") for one, other in _PAIRS]
        made.append(_reading(_request(series, "workload"), pairs, values, problem))
        pairs = [(f"default/{name('web')}", name(zone)) for zone in "abcd"]
        made.append(_reading(_request(series, "domain"), pairs, values, problem))
        pairs = [(name(one), name(other)) for one, other in _ZONES]
        made.append(_reading(_request(series, "distances"), pairs, values, problem))
    pairs = [("pile", f"zone={name('a')}"), ("pile", f"host={name('n0')}"), ("images", "zone=?")]
    made.append(_reading(_data_request(), pairs, (1.0, 1.0, 1.0), None))
    return made


def _reading(
    request: ReadingRequest,
    pairs: list[tuple[str, str]],
    values: tuple[float, ...],
    problem: Problem | None,
) -> Reading:
    return Reading(
        request=request,
        unit="",
        values=np.array(values),
        ages=np.zeros(len(values)),
        expected=np.ones(len(values), dtype=np.bool_),
        problem=problem,
        pairs=tuple(pairs),
    )


def _locality(**sources: Any) -> Locality:
    return Locality(name="l", match=EVERYTHING, **sources)


def localities() -> st.SearchStrategy[Policy]:
    """One to all sources, over the known levels or a few."""
    half = {"labels": {"matchLabels": {"part": "0"}}}
    two = [{"pods": half, "near": EVERYTHING}, {"pods": EVERYTHING, "near": half, "weight": 2.0}]
    levels = [
        {"name": "host", "labels": [HOST]},
        {"name": "zone", "labels": ["none", ZONE], "weight": 3.0},
    ]
    groups = [
        {"pods": EVERYTHING, "together": "zone", "apart": "host"},
        {"pods": half, "by": "All", "together": "host"},
        {"pods": EVERYTHING, "apart": "zone", "weight": 0.5},
    ]
    traffic = st.builds(_traffic, st.sampled_from(sorted(_TALK)), st.sampled_from(["workload", ""]))
    options: dict[str, st.SearchStrategy[Any]] = {
        "pairs": st.lists(st.sampled_from(two), max_size=2),
        "groups": st.lists(st.sampled_from(groups), max_size=2),
        "traffic": st.none() | traffic,
        "podAffinity": st.booleans(),
        "datasets": st.sampled_from([None, {"catalog": _CATALOG}, {"nodeLabel": "has-{dataset}"}]),
        "levels": st.just(levels),
        "distances": st.none()
        | st.builds(_distances, st.sampled_from(sorted(_TALK)), st.sampled_from([0.0, 1.0])),
    }
    return (
        st.fixed_dictionaries(options)
        .filter(lambda drawn: any(drawn[key] for key in drawn.keys() - {"levels", "distances"}))
        .map(lambda drawn: _locality(**drawn))
    )


def fragmentations() -> st.SearchStrategy[Policy]:
    """All resources, popularities and gangs, with and without shared GPUs."""
    return st.builds(
        lambda resources, popularity, shared, room: Fragmentation(
            name="f",
            match=EVERYTHING,
            resources=resources or ["gpu"],
            popularity=popularity,
            sharedGpus=shared,
            room=room,
        ),
        st.lists(st.sampled_from(["gpu", "cpu", "memory"]), unique=True),
        st.sampled_from(["Needing", "All"]),
        st.sampled_from([None, {"resource": SHARE}]),
        st.sampled_from([None, EVERYTHING]),
    )
