"""Drawn cases of the conformance kit: clusters with moves, and policies of every kind."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import ContainerStatus, Pod
from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.spread.policy import Spread
from tests.cluster import NOW, controller, deployment, node, pod, snapshot
from tests.policies import allocation_kit, drawn, health_kit, idle_kit, load_kit, numa_kit
from tests.policies.traits import HOST, TRAITS, ZONE

WORKLOADS = ("web", "train", "logs", "")  # logs is a DaemonSet, "" makes bare pods
TARGETS = ("cpu", "network.receive", "network.transmit")
ODD = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30, 1e-30)


class Addition(Protocol):
    """What only one kind's clusters have."""

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with it."""
        ...


@dataclass(frozen=True)
class Blueprint:
    """A cluster before it has names, so that it can be built with others.

    nodes: zone, and whether cordoned and Ready. pods: workload, node, whether being deleted.
    taints: the effect of each node's taint, "" for none. traits: of each workload, by name.
    restarts, days: of each pod; days since it was made.
    """

    nodes: list[tuple[str, bool, bool]]
    pods: list[tuple[str, int, bool]]
    readings: dict[str, list[float]] = field(default_factory=dict)
    capacities: dict[str, list[float]] = field(default_factory=dict)
    ages: dict[str, list[float]] = field(default_factory=dict)
    problem: str = ""
    taints: list[str] = field(default_factory=list)
    traits: dict[str, str] = field(default_factory=dict)
    restarts: list[int] = field(default_factory=list)
    days: list[int] = field(default_factory=list)
    addition: Addition | None = None

    def built(self, name: Callable[[str], str] = str) -> Snapshot:
        """The snapshot, with every name put through `name`."""
        owners: dict[str, tuple[Controller, ...]] = {
            workload: deployment(name(workload))[::-1] for workload in WORKLOADS[:2]
        }
        owners["logs"] = (controller("DaemonSet", name("logs")),)
        nodes = []
        for number, (zone, cordoned, ready) in enumerate(self.nodes):
            effect = self.taints[number] if self.taints else ""
            made = node(
                name(f"n{number}"),
                zone=zone and name(zone),
                unschedulable=cordoned,
                taints=[{"key": "kept", "effect": effect}] if effect else (),
                allocatable=drawn.room(number),
            )
            if not ready:
                made.status.conditions = []
            nodes.append(made)
        pods = []
        for number, (workload, on, leaving) in enumerate(self.pods):
            owner = owners[workload][0] if workload else None
            place = nodes[on].metadata.name if on >= 0 else ""
            made_pod = pod(
                name(f"p{number}"),
                place,
                owner=owner,
                labels={"app": name(workload), "part": str(number % 2)},
                requests=drawn.requests(number),
                annotations=drawn.annotations(number),
                **TRAITS[self.traits.get(workload, "plain")](name),
            )
            if self.restarts:
                _aged(made_pod, self.restarts[number], self.days[number])
            if leaving:
                made_pod.metadata.deletionTimestamp = made_pod.metadata.creationTimestamp
            pods.append(made_pod)
        made_snapshot = snapshot(
            nodes,
            pods,
            controllers=[controller for group in owners.values() for controller in group],
            readings=[*map(self._reading, self.readings), *drawn.readings(name)],
        )
        return made_snapshot if self.addition is None else self.addition.added(made_snapshot)

    def _reading(self, name: str) -> Reading:
        values = np.array(self.readings[name], dtype=np.float64)
        capacity = self.capacities.get(name)
        return Reading(
            request=ReadingRequest(name, min_coverage=0.0),
            unit="",
            values=values,
            ages=np.array(self.ages[name], dtype=np.float64),
            expected=np.ones(len(values), dtype=np.bool_),
            capacity=None if capacity is None else np.array(capacity, dtype=np.float64),
            problem=Problem("RDG002", "partial") if name == self.problem else None,
        )


def _aged(made: Pod, restarts: int, days: int) -> None:
    made.status.containerStatuses = [ContainerStatus(name="main", restartCount=restarts)]
    made.metadata.creationTimestamp = NOW - timedelta(days=days) if days else None


@dataclass(frozen=True)
class Case:
    """A cluster, a policy, and moves to try: pod and destination."""

    blueprint: Blueprint
    policy: Policy
    moves: list[tuple[int, int]]


# A strategy costs more to make than to draw from, so each is made once.
_FLAGS = st.tuples(
    st.sampled_from(["a", "b", "c", ""]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([True, True, True, False]),
)
_NODES = st.lists(_FLAGS, min_size=1, max_size=5)
_LEAVING = st.sampled_from([False] * 5 + [True])
_SHARE = st.floats(0, 1.2) | st.sampled_from(ODD)
_USAGE = st.floats(0, 4) | st.sampled_from(ODD)
_AGE = st.sampled_from([5.0, 5.0, 5.0, 1e9, np.nan])
_ROOM = st.sampled_from([8.0, 8.0, 4.0, 0.0, np.nan, -1.0])
_PROBLEM = st.sampled_from([""] * 9 + ["node.cpu"])
_EFFECT = st.sampled_from(["", "", "", "NoSchedule", "PreferNoSchedule"])
_TRAIT = st.sampled_from(sorted(TRAITS))
_RESTARTS = st.sampled_from([0, 0, 5, 50])
_DAYS = st.sampled_from([0, 1, 1, 40])


@cache
def _pods(nodes: int) -> st.SearchStrategy[list[tuple[str, int, bool]]]:
    places = st.integers(-1, nodes - 1)
    return st.lists(st.tuples(st.sampled_from(WORKLOADS), places, _LEAVING), max_size=9)


@cache
def _crowded(nodes: int) -> st.SearchStrategy[list[tuple[str, int, bool]]]:
    """Half of them on the first node and most of one workload, which is what Spread is about."""
    places = st.sampled_from([0] * (nodes + 1) + list(range(-1, nodes)))
    workload = st.sampled_from([*WORKLOADS, "web", "web", "web", "web"])
    return st.lists(st.tuples(workload, places, _LEAVING), min_size=4, max_size=9)


@cache
def _many(values: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=count, max_size=count)


@cache
def _moves(pods: tuple[int, ...], nodes: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.sampled_from(pods), st.integers(0, nodes - 1)), max_size=5)


@st.composite
def blueprints(draw: st.DrawFn, kind: str) -> Blueprint:
    """Small clusters; with sane and odd loads, or restarts and ages, for the kind that asks."""
    nodes = draw(_NODES)
    pods = draw(_crowded(len(nodes)) if kind == "Spread" else _pods(len(nodes)))
    readings, capacities, ages = {}, {}, {}
    for target in TARGETS if kind == "Utilization" else ():
        for name, count, values in (
            (f"node.{target}", len(nodes), _SHARE),
            (f"pod.{target}", len(pods), _USAGE),
        ):
            readings[name] = draw(_many(values, count))
            ages[name] = draw(_many(_AGE, count))
        capacities[f"node.{target}"] = draw(_many(_ROOM, len(nodes)))
    problem = draw(_PROBLEM) if readings else ""
    aged = len(pods) if kind == "Conformity" else 0
    return Blueprint(
        nodes,
        pods,
        readings,
        capacities,
        ages,
        problem,
        taints=draw(_many(_EFFECT, len(nodes))),
        traits={workload: draw(_TRAIT) for workload in WORKLOADS},
        restarts=draw(_many(_RESTARTS, aged)),
        days=draw(_many(_DAYS, aged)),
    )


def _spreads() -> st.SearchStrategy[Policy]:
    everything: Any = {"all": True}
    key = st.sampled_from([ZONE, HOST, "none"])
    skew = st.integers(1, 3)
    short = st.builds(
        lambda key, skew: Spread(name="s", match=everything, topologyKey=key, maxSkew=skew),
        key,
        skew,
    )
    more = st.sampled_from(
        [
            {},
            {"within": ZONE},
            {"minDomains": 3},
            {"maxPerDomain": 1},
            {"whenUnsatisfiable": "ScheduleAnyway"},
            {"matchLabelKeys": ["part"]},
            {"nodeTaintsPolicy": "Ignore", "nodeAffinityPolicy": "Ignore"},
            {"follow": everything},
            {"follow": {"labels": {"matchExpressions": [{"key": "part", "operator": "Exists"}]}}},
        ]
    )
    tier = st.builds(
        lambda key, skew, more: {"topologyKey": key, "maxSkew": skew, **more}, key, skew, more
    )
    full = st.builds(
        lambda tiers, group: Spread(name="s", match=everything, constraints=tiers, groupBy=group),
        st.lists(tier, min_size=1, max_size=3),
        st.sampled_from(["Workload", "Gang", "Match"]),
    )
    own = st.just(Spread(name="s", match=everything, constraints="FromPods"))
    return short | full | own


def _conformities() -> st.SearchStrategy[Policy]:
    effects = st.sampled_from([["NoSchedule"], ["PreferNoSchedule", "NoSchedule"]])
    rules = {
        "nodeTaints": st.builds(lambda effects: {"effects": effects}, effects),
        "nodeAffinity": st.sampled_from([{}, {"preferred": True}]),
        "podAntiAffinity": st.just(True),
        "podAffinity": st.just(True),
        "restarts": st.just({"atLeast": 10}),
        "lifetime": st.just({"above": "7d"}),
    }
    whose: Any = st.sampled_from([{"all": True}, {"labels": {"matchLabels": {"part": "0"}}}])
    return st.builds(
        lambda match, given: Conformity(name="c", match=match, **given),
        whose,
        st.fixed_dictionaries({}, optional=rules).filter(bool),
    )


POLICIES = {
    "Allocation": allocation_kit.allocations(),
    "Conformity": _conformities(),
    "Fragmentation": drawn.fragmentations(),
    "Health": health_kit.healths(),
    "IdleGPUs": idle_kit.idle_gpus(),
    "Locality": drawn.localities(),
    "Numa": numa_kit.numas(),
    "Spread": _spreads(),
    "Utilization": load_kit.utilizations(),
}
"""How to draw a policy of each kind."""


ADDITIONS: dict[str, Callable[[int, int], st.SearchStrategy[Addition]]] = {
    "Health": health_kit.ailing,
    "IdleGPUs": idle_kit.used,
    "Numa": numa_kit.zoned,
    "Utilization": load_kit.stirred,
}
"""What a kind's clusters get besides, by the number of nodes and of pods."""


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    """A cluster with moves, for a policy of that kind."""
    blueprint = draw(blueprints(kind))
    if kind in ADDITIONS:
        addition = ADDITIONS[kind](len(blueprint.nodes), len(blueprint.pods))
        blueprint = replace(blueprint, addition=draw(addition))
    pods = [index for index, (_, on, _) in enumerate(blueprint.pods) if on >= 0]
    moves = draw(_moves(tuple(pods), len(blueprint.nodes))) if pods else []
    return Case(blueprint, draw(POLICIES[kind]), moves)
