"""What the pods of a drawn cluster may ask of nodes and of other pods."""

from collections.abc import Callable
from typing import Any


def _term(app: str, key: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def _affinity(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

TRAITS: dict[str, Callable[[Callable[[str], str]], dict[str, Any]]] = {
    "plain": lambda name: {},
    "tolerant": lambda name: {"tolerations": [{"operator": "Exists"}]},
    "even": lambda name: {
        "topologySpreadConstraints": [
            {**_term(name("web"), HOST), "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            {**_term(name("web"), ZONE), "maxSkew": 1, "minDomains": 3, "matchLabelKeys": ["part"]},
        ]
    },
    "apart": lambda name: _affinity(
        "podAntiAffinity", _term(name("web"), HOST), _term(name("train"), ZONE)
    ),
    "near": lambda name: _affinity(
        "podAffinity", _term(name("web"), ZONE), _term(name("web"), "kubernetes.io/os")
    ),
    "together": lambda name: _affinity("podAffinity", _term(name("train"), ZONE)),
    "bound": lambda name: {"nodeSelector": {ZONE: name("a")}},
    "with-preference": lambda name: {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": weight, "preference": {"matchExpressions": [_in(ZONE, name(zone))]}}
                    for zone, weight in (("a", 3), ("b", 1))
                ]
            }
        }
    },
}
"""What the pods of a workload may ask of nodes and of other pods."""


def _in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}
