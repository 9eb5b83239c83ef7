"""The cases of descheduler's own unit tests, as clusters and policies of ours.

A case holds the objects, the arguments and what descheduler evicted. It is read as follows:
- An owner is a controller (their fixtures leave `controller` out), and pods with one are Running
  and Ready unless the case says otherwise, because their fixtures leave the status out.
- Times that a fixture leaves out are long ago. Of those it gives, where a rule asks for no age, any
  age is enough: a second.
- Where `nodeFit` is off, descheduler takes for granted that there is a place. Rules that look at
  one pod then get spare nodes to go to; the two that balance have their nodes already.
- Limits of evictions are limits of moves; ours that have no equal there are out of the way.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rescheduler.documents.envelope import API_VERSION
from rescheduler.kube.controllers import Controller, Namespace
from rescheduler.kube.objects import Condition, Node, Pod
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_from_document
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.oracle import loads

Json = dict[str, Any]

LONG_AGO = "2020-01-01T00:00:00Z"
MANY = 1000

ONLY_FAILED = {"Failed", "Shutdown", "NodeAffinity", "UnexpectedAdmissionError"}
"""States that only pods have whose phase is Failed."""

RULES = {
    "RemovePodsViolatingNodeTaints",
    "RemovePodsViolatingInterPodAntiAffinity",
    "RemovePodsHavingTooManyRestarts",
    "PodLifeTime",
}
"""Plugins that look at one pod, and do not ask where it will go unless nodeFit is on."""


@dataclass(frozen=True)
class Case:
    """One case. evictions: how many descheduler evicted. told: its metrics, where it has some."""

    name: str
    plugin: str
    arguments: Json
    begin: Json
    captured: datetime
    evictions: int
    told: Json

    @property
    def fits(self) -> bool:
        """Whether descheduler was told to look for a place."""
        return bool(self.begin["evictorArgs"].get("nodeFit"))


def read(recorded: Json) -> Case:
    """A case that runs a plugin, as it was recorded; of others, what they begin with."""
    given = loads.with_gpus(recorded)
    run = recorded.get("args") or {"plugin": "", "args": None}
    return Case(
        name=given["test"],
        plugin=run["plugin"],
        arguments=run["args"] or {},
        begin=given["begin"],
        captured=datetime.fromisoformat(given["capturedAt"]).astimezone(UTC),
        evictions=given["evictedCounts"][0],
        told={"metrics": given.get("metrics"), "prom": given.get("prom")},
    )


def cluster(case: Case) -> Snapshot:
    """The cluster of the case."""
    return loads.measured(unmeasured(case), case.told, policy(case))


def unmeasured(case: Case) -> Snapshot:
    """The cluster of the case without readings."""
    pods, nodes = case.begin["pods"] or [], case.begin["nodes"] or []
    spare = len(pods) + 1 if case.plugin in RULES and not case.fits else 0
    made = assembled(nodes, pods, spare=spare, taken=case.captured)
    living = [pod for pod in made.pods if pod.status.phase != "Failed"]
    failed = [pod for pod in made.pods if pod.status.phase == "Failed"]
    return replace(made, pods=living, failed=failed)


def assembled(
    nodes: list[Json], pods: list[Json], *, spare: int = 0, taken: datetime | None = None
) -> Snapshot:
    """A cluster of these objects, and of so many spare nodes."""
    made = [_pod(pod) for pod in pods]
    names = sorted({pod.metadata.namespace for pod in made})
    return Snapshot(
        taken=taken or datetime.now(UTC),
        cluster=Cluster(uid="oracle", version="v1.36.3"),
        nodes=[*map(_node, nodes), *map(_spare, range(spare))],
        pods=made,
        controllers=list(_controllers(made)),
        namespaces=[
            msgspec.convert(
                {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}},
                Namespace,
            )
            for name in names
        ],
    )


def limits(case: Case) -> Limits:
    """The limits of the case."""
    given, evictor = case.begin.get("limits") or {}, case.begin["evictorArgs"]
    per_node = (case.arguments.get("evictionLimits") or {}).get("node")
    threshold = (evictor.get("priorityThreshold") or {}).get("value")
    allowed = evictor.get("evictLocalStoragePods") or "PodsWithLocalStorage" in (
        evictor["podProtections"].get("defaultDisabled") or []
    )

    def most(name: str) -> int:
        value = given.get(name)
        return MANY if value is None else int(value)

    return Limits.model_validate(
        {
            "movesPerCycle": most("maxPodsToEvictTotal"),
            "movesPerNode": most("maxPodsToEvictPerNode") if per_node is None else per_node,
            "movesPerNamespace": most("maxPodsToEvictPerNamespace"),
            "movesPerWorkload": MANY,
            "inFlightPerWorkload": MANY,
            "movesPerHour": MANY,
            "margin": 0.0,
            "gainShare": 0.0,
            "coolDown": "0s",
            "minPodAge": "0s",
            "minReadyTime": "0s",
            "minNodeAge": "0s",
            "minReplicas": 1,
            "jobs": "Allow",
            "localStorage": "Allow" if allowed else "Refuse",
            "protectedNamespaces": [],
            "maxReturn": 1.0,
            **({} if threshold is None else {"maxPriority": threshold - 1}),
        }
    )


def duration(written: str | None) -> timedelta:
    """A duration as Go writes it, `50m0s`."""
    parts = re.findall(r"(\d+)([hms])", written or "")
    units = {"h": 3600, "m": 60, "s": 1}
    return timedelta(seconds=sum(int(number) * units[unit] for number, unit in parts))


def policy(case: Case) -> Policy:
    """The policy that says the same as the plugin's arguments."""
    kind, spec = _SPECS[case.plugin](case.arguments)
    arguments = case.arguments
    spec["match"] = _match(arguments.get("labelSelector"), **_namespaces(arguments))
    return policy_from_document(
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "oracle"}, "spec": spec}
    )


def _taints(arguments: Json) -> tuple[str, Json]:
    soft = arguments.get("includePreferNoSchedule")
    taints: Json = {
        "effects": ["NoSchedule", *(["PreferNoSchedule"] if soft else [])],
        "ignore": arguments.get("excludedTaints") or [],
    }
    if arguments.get("includedTaints"):
        taints["only"] = arguments["includedTaints"]
    return "Conformity", {"nodeTaints": taints}


def _affinity(arguments: Json) -> tuple[str, Json]:
    kinds = arguments.get("nodeAffinityType") or []
    return "Conformity", {
        "nodeAffinity": {
            "required": "requiredDuringSchedulingIgnoredDuringExecution" in kinds,
            "preferred": "preferredDuringSchedulingIgnoredDuringExecution" in kinds,
        }
    }


def _restarts(arguments: Json) -> tuple[str, Json]:
    rule = {
        "atLeast": arguments["podRestartThreshold"],
        "initContainers": bool(arguments.get("includingInitContainers")),
    }
    return "Conformity", {"restarts": rule | _states(arguments)}


def _lifetime(arguments: Json) -> tuple[str, Json]:
    rule = {
        "above": f"{arguments.get('maxPodLifeTimeSeconds') or 1}s",
        "initContainers": bool(arguments.get("includingInitContainers")),
    }
    return "Conformity", {"lifetime": rule | _states(arguments)}


def _failed(arguments: Json) -> tuple[str, Json]:
    rule: Json = {
        "above": f"{arguments.get('minPodLifetimeSeconds') or 0}s",
        "initContainers": bool(arguments.get("includingInitContainers")),
    }
    for name in ("reasons", "exitCodes"):
        if arguments.get(name):
            rule[name] = arguments[name]
    return "Conformity", {"failed": rule}


def _lifetime_or_failed(arguments: Json) -> tuple[str, Json]:
    """PodLifeTime; where it names states of none but failed pods, also the rule for these."""
    states = set(arguments.get("states") or ())
    kind, spec = _lifetime(arguments)
    if states & ONLY_FAILED:
        age = arguments.get("maxPodLifeTimeSeconds")
        given = {**arguments, "minPodLifetimeSeconds": age, "reasons": sorted(states - {"Failed"})}
        spec |= _failed(given)[1]
    return kind, spec


def _states(arguments: Json) -> Json:
    return {"states": arguments["states"]} if arguments.get("states") else {}


def _spread(arguments: Json) -> tuple[str, Json]:
    soft = "ScheduleAnyway" in (arguments.get("constraints") or [])
    return "Spread", {"constraints": "FromPods" if soft else "HardFromPods"}


def _duplicates(arguments: Json) -> tuple[str, Json]:
    alone = {
        "topologyKey": "kubernetes.io/hostname",
        "maxPerDomain": 1,
        "nodeTaintsPolicy": "Honor",
    }
    return "Spread", {"constraints": [alone]}


def _low(arguments: Json) -> tuple[str, Json]:
    return "Utilization", {**loads.low(arguments), "nodes": {"all": True}}


def _high(arguments: Json) -> tuple[str, Json]:
    return "Utilization", {**loads.high(arguments), "nodes": {"all": True}}


_SPECS = {
    "RemovePodsViolatingNodeTaints": _taints,
    "RemovePodsViolatingNodeAffinity": _affinity,
    "RemovePodsViolatingInterPodAntiAffinity": lambda _: ("Conformity", {"podAntiAffinity": True}),
    "RemovePodsHavingTooManyRestarts": _restarts,
    "PodLifeTime": _lifetime_or_failed,
    "RemoveFailedPods": _failed,
    "RemovePodsViolatingTopologySpreadConstraint": _spread,
    "RemoveDuplicates": _duplicates,
    "LowNodeUtilization": _low,
    "HighNodeUtilization": _high,
}
"""Plugin to what says its arguments in a document of ours."""


def schedulers(case: Case) -> tuple[Scheduler, ...]:
    """What the scheduler is told besides. HighNodeUtilization asks for one that fills nodes up."""
    if case.plugin != "HighNodeUtilization":
        return ()
    spec = {
        "name": "default-scheduler",
        "disabledScores": ["NodeResourcesBalancedAllocation"],
        "arguments": {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}},
    }
    return (Scheduler.model_validate(spec),)


def _namespaces(arguments: Json) -> dict[str, list[str]]:
    given = arguments.get("namespaces") or arguments.get("evictableNamespaces") or {}
    return {"include": given.get("include") or [], "exclude": given.get("exclude") or []}


def _match(labels: Json | None, include: list[str], exclude: list[str]) -> Json:
    match: Json = {}
    if include:
        match["namespaces"] = include
    if exclude:
        match["namespaceSelector"] = {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": exclude}
            ]
        }
    if labels:
        match["labels"] = labels
    return match or {"all": True}


def _pod(given: Json) -> Pod:
    made = msgspec.convert(given, Pod)
    made.node = made.spec.nodeName or ""
    made.spec.nodeName = None
    metadata, status = made.metadata, made.status
    if "deletionTimestamp" in given["metadata"]:  # an empty one is written as null
        metadata.deletionTimestamp = metadata.deletionTimestamp or datetime.fromisoformat(LONG_AGO)
    metadata.creationTimestamp = (
        metadata.creationTimestamp or status.startTime or datetime.fromisoformat(LONG_AGO)
    )
    status.startTime = status.startTime or metadata.creationTimestamp
    if status.phase in ("", "Running"):
        status.phase = "Running"
        if made.condition("Ready") is None:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}
            status.conditions = [*(status.conditions or ()), msgspec.convert(ready, Condition)]
    for number, owner in enumerate(metadata.ownerReferences or ()):
        owner.controller = number == 0
        owner.kind = "ReplicaSet" if owner.kind == "Pod" else owner.kind
        owner.apiVersion = "apps/v1" if owner.kind == "ReplicaSet" else owner.apiVersion
        owner.name = owner.name or owner.uid or metadata.name
        owner.uid = owner.uid or f"{owner.kind}/{metadata.namespace}/{owner.name}"
    return made


def _node(given: Json) -> Node:
    made = msgspec.convert(given, Node)
    labels = {"kubernetes.io/hostname": made.metadata.name, **(made.metadata.labels or {})}
    made.metadata.labels = labels
    made.metadata.creationTimestamp = datetime.fromisoformat(LONG_AGO)
    for condition in made.status.conditions or ():
        condition.lastTransitionTime = condition.lastTransitionTime or datetime.fromisoformat(
            LONG_AGO
        )
    return made


def _spare(number: int) -> Node:
    room = {"cpu": "1k", "memory": "1Ti", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": room, "capacity": room, "conditions": [ready]}
    return _node({"metadata": {"name": f"spare-{number}"}, "status": status})


def _controllers(pods: Iterable[Pod]) -> Iterable[Controller]:
    """The controllers behind the pods, settled."""
    sizes: dict[tuple[str, str, str, str], int] = {}
    for pod in pods:
        owner = pod.controller
        if owner is not None:
            key = (owner.kind, pod.metadata.namespace, owner.name, owner.uid)
            sizes[key] = sizes.get(key, 0) + 1
    for (kind, namespace, name, uid), size in sizes.items():
        counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
        yield msgspec.convert(
            {
                "kind": kind,
                "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
                "spec": {"replicas": size},
                "status": {**dict.fromkeys(counts, size), "observedGeneration": 1},
            },
            Controller,
        )
