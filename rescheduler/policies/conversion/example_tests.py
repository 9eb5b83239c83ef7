"""A policy test for a conversion: for each policy a small cluster in which descheduler would evict.

Each cluster is the simplest of its plugin's own test cases: pods of one workload on the node `n1`
that break the rule there, and a node `n2` with room. What comes out is computed, and is only
written where the policy finds what its plugin does.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from rescheduler.documents.fields import Duration
from rescheduler.model.wording import clean
from rescheduler.policies.conversion.draft import Draft
from rescheduler.policies.conversion.yaml_text import to_yaml

Json = dict[str, Any]
Evaluate = Callable[[Json], Mapping[str, Any]]
"""Runs a policy test (as JSON): what comes out otherwise than it expects, by the expectation."""

HOSTNAME = "kubernetes.io/hostname"
_PLACE, _TAINT = "example.com/place", "example.com/out-of-order"
_ROOM = {"cpu": "10", "memory": "10Gi", "pods": "10"}
_PODS = 2
_DURATION: TypeAdapter[timedelta] = TypeAdapter(Duration)


@dataclass
class _Trouble:
    """What breaks a rule. pod: what is merged into each pod. first, second: into the nodes."""

    title: str
    codes: tuple[str, ...]
    pod: Json
    first: Json
    second: Json
    pods: int = _PODS


def test_file_text(name: str, drafts: Iterable[Draft], now: datetime, evaluate: Evaluate) -> str:
    """The policy test file for the policies in the file of that name; "" where none can be made.

    now: when policy tests play.
    """
    tests = [test for draft in drafts for test in _tests_of(draft, now, evaluate)]
    head = f"# What {clean(name)} does to small clusters. `rescheduler test` runs it.\n"
    return (
        head + to_yaml({"policy": name}) + "tests:\n" + "".join(map(_text, tests)) if tests else ""
    )


def _text(test: Json) -> str:
    """One test, in the list of tests."""
    return textwrap.indent(to_yaml([test], flow=None), "  ")


def _tests_of(draft: Draft, now: datetime, evaluate: Evaluate) -> Iterator[Json]:
    """The test of one policy, if its cluster shows what it is for."""
    make = _TROUBLES.get(draft.kind)
    trouble = make(draft.document()["spec"], now) if make is not None else None
    objects = _objects(draft, trouble) if trouble is not None else None
    if trouble is None or objects is None:
        return
    expect = {"findings": {draft.name: []}, "moves": ["none"]}
    test = {"name": f"{draft.plugin}: {trouble.title}", "objects": objects, "expect": expect}
    actual = evaluate(test)
    findings = actual.get(f"findings.{draft.name}") or []
    if any(str(finding).startswith(trouble.codes) for finding in findings):
        test["expect"] = {"findings": {draft.name: findings}, "moves": actual["moves"]}
        yield test


def _objects(draft: Draft, trouble: _Trouble) -> list[Json] | None:
    """The cluster, in which the policy selects all pods and nodes."""
    spec = draft.document()["spec"]
    match, excluded = spec["match"], _excluded_names(spec["match"])
    kind = _owner_kind(match.get("ownerKinds"), excluded["ownerKinds"])
    names = [one for one in match.get("namespaces", ["shop"]) if one not in excluded["namespaces"]]
    if kind is None or not names:
        return None
    labels = {"app": "web", **_matching_labels(match.get("labels"))}
    of_nodes = _matching_labels((spec.get("nodes") or {}).get("labels"))
    objects = [_node("n1", of_nodes, trouble.first), _node("n2", of_nodes, trouble.second)]
    of_namespace = _matching_labels(match.get("namespaceSelector"))
    if of_namespace:
        metadata = {"name": names[0], "labels": of_namespace}
        objects.append({"kind": "Namespace", "metadata": metadata})
    objects += _owning_objects(kind, names[0], trouble.pods)
    requests = dict.fromkeys(match.get("requests", ()), "1")
    objects += [
        _pod(number, names[0], labels, kind, requests, trouble.pod)
        for number in range(trouble.pods)
    ]
    if match.get("podDisruptionBudget") == "Exists":
        objects.append(_budget(names[0], labels, trouble.pods))
    return objects


def _excluded_names(match: Json) -> dict[str, list[str]]:
    excludes = match.get("exclude", [])
    held = excludes if isinstance(excludes, list) else [excludes]
    return {
        name: [value for exclude in held for value in exclude.get(name, ())]
        for name in ("namespaces", "ownerKinds")
    }


def _owner_kind(included: list[str] | None, excluded: list[str]) -> str | None:
    for kind, above in (("ReplicaSet", "Deployment"), ("StatefulSet", "StatefulSet")):
        own = {kind, above}
        if not own & set(excluded) and (included is None or own & set(included)):
            return kind
    return None


def _matching_labels(selector: Json | None) -> dict[str, str]:
    """Labels that the selector selects."""
    labels = dict((selector or {}).get("matchLabels", {}))
    for one in (selector or {}).get("matchExpressions", ()):
        if one["operator"] in ("In", "Exists"):
            labels.setdefault(one["key"], (one.get("values") or ["yes"])[0])
    return labels


def _node(name: str, labels: dict[str, str], more: Json) -> Json:
    metadata = {"name": name, "labels": {HOSTNAME: name, **labels, **more.get("labels", {})}}
    allocatable = {**_ROOM, **more.get("allocatable", {})}
    status = {"allocatable": allocatable, "capacity": allocatable}
    return {"kind": "Node", "metadata": metadata, "spec": more.get("spec", {}), "status": status}


def _owning_objects(kind: str, namespace: str, pods: int) -> Iterator[Json]:
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    status = {**dict.fromkeys(counts, pods), "observedGeneration": 1}
    metadata = {"name": "web", "namespace": namespace, "uid": "web", "generation": 1}
    if kind == "ReplicaSet":
        top = {**metadata, "uid": "top"}
        yield {"kind": "Deployment", "metadata": top, "spec": {"replicas": pods}, "status": status}
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "top"}
        metadata = {**metadata, "ownerReferences": [{**owner, "controller": True}]}
    yield {"kind": kind, "metadata": metadata, "spec": {"replicas": pods}, "status": status}


def _pod(
    number: int,
    namespace: str,
    labels: dict[str, str],
    kind: str,
    requests: dict[str, str],
    more: Json,
) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "web", "controller": True}
    metadata = {
        "name": f"web-{number}",
        "namespace": namespace,
        "labels": labels,
        "ownerReferences": [owner],
        **more.get("metadata", {}),
    }
    requests_of_pod = {"cpu": "100m", **requests, **more.get("requests", {})}
    container = {"name": "main", "image": "app:1", "resources": {"requests": requests_of_pod}}
    spec = {"nodeName": "n1", "containers": [container], **more.get("spec", {})}
    spec = _with_selector(spec, labels)
    made = {"kind": "Pod", "metadata": metadata, "spec": spec}
    return made | ({"status": more["status"]} if "status" in more else {})


def _with_selector(spec: Json, labels: dict[str, str]) -> Json:
    """The spec with the pod's own labels where a term selects pods."""
    selector = {"matchLabels": labels}
    for constraint in spec.get("topologySpreadConstraints", ()):
        constraint["labelSelector"] = selector
    affinity = spec.get("affinity", {}).get("podAntiAffinity", {})
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
        term["labelSelector"] = selector
    return spec


def _budget(namespace: str, labels: dict[str, str], pods: int) -> Json:
    status = {
        "disruptionsAllowed": 1,
        "currentHealthy": pods,
        "desiredHealthy": pods - 1,
        "expectedPods": pods,
        "observedGeneration": 1,
    }
    metadata = {"name": "web", "namespace": namespace, "generation": 1}
    spec = {"selector": {"matchLabels": labels}, "minAvailable": pods - 1}
    return {"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec, "status": status}


def _conformity(spec: Json, now: datetime) -> _Trouble | None:
    if "nodeTaints" in spec:
        key, _, value = (spec["nodeTaints"].get("only") or [_TAINT])[0].partition("=")
        taint = {"key": key, "value": value, "effect": "NoSchedule"}
        return _Trouble("a node is tainted", ("CNF001",), {}, {"spec": {"taints": [taint]}}, {})
    if "nodeAffinity" in spec:
        return _affinity_trouble(spec["nodeAffinity"])
    if "podAntiAffinity" in spec:
        term = {"topologyKey": HOSTNAME}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        pod: Json = {"spec": {"affinity": {"podAntiAffinity": rule}}}
        return _Trouble("pods that must be apart share a node", ("CNF004",), pod, {}, {})
    if "restarts" in spec and not spec["restarts"].get("states"):
        count = {"name": "main", "restartCount": spec["restarts"]["atLeast"]}
        pod = {"status": {"phase": "Running", "containerStatuses": [count]}}
        return _Trouble("pods were restarted often", ("CNF006",), pod, {}, {})
    if "lifetime" in spec and not spec["lifetime"].get("states"):
        age = _DURATION.validate_python(spec["lifetime"]["above"]) + timedelta(hours=1)
        made = (now - age).isoformat()
        pod = {"metadata": {"creationTimestamp": made}}
        return _Trouble("pods are old", ("CNF007",), pod, {}, {})
    return None


def _affinity_trouble(rule: Json) -> _Trouble:
    wanted = {"matchExpressions": [{"key": _PLACE, "operator": "In", "values": ["right"]}]}
    labels = {"labels": {_PLACE: "right"}}
    if rule["required"]:
        pod: Json = {"spec": {"nodeSelector": {_PLACE: "right"}}}
        return _Trouble("a node no longer has a label", ("CNF002",), pod, {}, labels)
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": wanted}]}  # fmt: skip
    pod = {"spec": {"affinity": {"nodeAffinity": preferred}}}
    return _Trouble("another node is preferred", ("CNF003",), pod, {}, labels)


def _spread(spec: Json, _: datetime) -> _Trouble:
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    own = isinstance(spec["constraints"], str)
    pod = {"spec": {"topologySpreadConstraints": [constraint]}} if own else {}
    return _Trouble("all pods of a workload are on one node", ("SPR001",), pod, {}, {})


def _allocation(spec: Json, _: datetime) -> _Trouble:
    name = spec["resources"][0]["resource"]
    least = spec.get("strategy") == "Pack"
    title = "a node is nearly empty" if least else "a node has too much requested"
    code = "ALC004" if least else "ALC001"
    room = {"allocatable": {name: "2" if name == "pods" else _ROOM.get(name, "10")}}
    request = {"cpu": "5", "memory": "5Gi"}.get(name, "5")
    pod = {} if least or name == "pods" else {"requests": {name: request}}
    return _Trouble(title, (code,), pod, room, room, pods=1 if least else _PODS)


_TROUBLES: dict[str, Callable[[Json, datetime], _Trouble | None]] = {
    "Allocation": _allocation,
    "Conformity": _conformity,
    "Spread": _spread,
}
"""Kinds whose policies need no readings."""
