"""Affinity, tolerations and spread constraints, drawn at random."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.e2e.builders.nodes import HOSTNAME, RACK, ZONE

Manifest = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def tolerations(draw: Random) -> list[dict[str, Any]]:
    """Up to two tolerations; one without a key tolerates all."""
    made = []
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        key = draw.choice(["dedicated", "busy", "leaving", "old", ""])
        toleration: dict[str, Any] = {"key": key, "operator": "Exists"}
        if key and draw.random() < 0.4:
            toleration |= {"operator": "Equal", "value": draw.choice(["yes", "no"])}
        if draw.random() < 0.4:
            effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
            toleration["effect"] = draw.choice(effects)
        made.append(toleration)
    return made


def node_affinity(draw: Random, names: Sequence[str]) -> dict[str, Any]:
    """Preferred and required terms with every operator, and sometimes nodes by name."""
    made: dict[str, Any] = {}
    if draw.random() < 0.8:
        made[_PREFERRED] = [
            {"weight": draw.randint(1, 100), "preference": _node_term(draw)}
            for _ in range(draw.randint(1, 3))
        ]
    chance = draw.random()
    if chance < 0.35:
        terms = [_node_term(draw) for _ in range(draw.randint(1, 2))]
        made[_REQUIRED] = {"nodeSelectorTerms": terms}
    elif chance < 0.45:
        # Every term names its node: the scheduler considers no other.
        terms = [_named(name) for name in draw.sample(names, min(3, len(names)))]
        if draw.random() < 0.3:
            terms[0]["matchExpressions"] = [_expression(draw)]
        made[_REQUIRED] = {"nodeSelectorTerms": terms}
    elif chance < 0.5:
        field = {"key": "metadata.name", "operator": "NotIn", "values": [draw.choice(names)]}
        made[_REQUIRED] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return made


def _named(name: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


def _node_term(draw: Random) -> dict[str, Any]:
    return {"matchExpressions": [_expression(draw) for _ in range(draw.choice([1, 1, 2]))]}


def _expression(draw: Random) -> dict[str, Any]:
    choices: list[tuple[str, str, list[str]]] = [
        ("level", "Gt", [str(draw.randint(1, 4))]),
        ("level", "Lt", [str(draw.randint(5, 9))]),
        ("disk", "In", draw.choice([["ssd"], ["ssd", "hdd"]])),
        ("disk", "NotIn", ["ssd"]),
        ("pool", "NotIn", ["batch"]),
        ("pool", "Exists", []),
        ("pool", "DoesNotExist", []),
        (ZONE, "In", ["a", "b"]),
    ]
    key, operator, values = draw.choice(choices)
    made: dict[str, Any] = {"key": key, "operator": operator}
    return made | {"values": values} if values else made


def inter_pod(draw: Random, apps: Sequence[str]) -> dict[str, Any]:
    """Inter-pod affinity or anti-affinity: required, preferred, or both."""
    made: dict[str, Any] = {}
    chance = draw.random()
    if chance < 0.35:
        made[_REQUIRED] = [_pod_term(draw, apps) for _ in range(draw.choice([1, 1, 2]))]
    if chance > 0.25:
        made[_PREFERRED] = [
            {"weight": draw.randint(1, 100), "podAffinityTerm": _pod_term(draw, apps)}
            for _ in range(draw.choice([1, 1, 2]))
        ]
    return made


def _pod_term(draw: Random, apps: Sequence[str]) -> dict[str, Any]:
    by_app = {"matchLabels": {"app": draw.choice(apps)}}
    by_tier = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["back"]}]}
    untiered = {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}
    term: dict[str, Any] = {
        "topologyKey": draw.choice([HOSTNAME, HOSTNAME, RACK, ZONE]),
        "labelSelector": draw.choice([by_app, by_app, by_app, by_tier, untiered]),
    }
    chance = draw.random()
    if chance < 0.3:
        term["namespaceSelector"] = draw.choice([{}, {"matchLabels": {"team": "blue"}}])
    elif chance < 0.5:
        term["namespaces"] = draw.sample(["default", "blue", "green"], 2)
    if draw.random() < 0.15:
        term[draw.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["track"]
    return term


def spread(draw: Random) -> list[dict[str, Any]]:
    """One or two constraints; the builder of the template adds the pod's own selector."""
    made = []
    for key in draw.sample([HOSTNAME, RACK, ZONE], draw.randint(1, 2)):
        hard = draw.random() < 0.4
        constraint: dict[str, Any] = {
            "maxSkew": draw.randint(1, 3),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        }
        for policy in ("nodeTaintsPolicy", "nodeAffinityPolicy"):
            if draw.random() < 0.6:
                constraint[policy] = draw.choice(["Honor", "Ignore"])
        if hard and draw.random() < 0.3:
            constraint["minDomains"] = draw.randint(1, 4)
        chance = draw.random()
        if chance < 0.25:
            constraint["matchLabelKeys"] = [draw.choice(["pod-template-hash", "track"])]
        elif chance < 0.45:
            constraint["labelSelector"] = draw.choice(
                [{"matchLabels": {"tier": "front"}}, {"matchLabels": {"tier": "back"}}, {}]
            )
        made.append(constraint)
    return made
