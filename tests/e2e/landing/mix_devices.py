"""Devices of nodes, and claims of them (dynamic resource allocation)."""

from collections.abc import Sequence
from random import Random
from typing import Any

Manifest = dict[str, Any]
_API = "resource.k8s.io/v1"
DRIVER = "device.test"
_CLASS = "accelerators"
_MODELS = ("small", "large")


class Devices:
    """Draws the devices of some nodes, and templates of claims for each namespace."""

    def __init__(
        self, draw: Random, prefix: str, nodes: Sequence[str], namespaces: Sequence[str]
    ) -> None:
        self._draw, self._prefix, self._nodes = draw, prefix, nodes
        self._namespaces = namespaces
        self._names = [f"{prefix}claim{number}" for number in range(3)]

    def surroundings(self) -> list[Manifest]:
        """The class, the devices, and the templates."""
        draw = self._draw
        made: list[Manifest] = [
            {
                "apiVersion": _API,
                "kind": "DeviceClass",
                "metadata": {"name": _CLASS},
                "spec": {"selectors": [_cel(f'device.driver == "{DRIVER}"')]},
            }
        ]
        made += [self._slice(name) for name in self._nodes if draw.random() < 0.5]
        for name in self._names:
            request = self._request()
            spec = {"spec": {"devices": {"requests": [request]}}}
            made += [
                {
                    "apiVersion": _API,
                    "kind": "ResourceClaimTemplate",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": spec,
                }
                for namespace in self._namespaces
            ]
        return made

    def _slice(self, node: str) -> Manifest:
        devices = [
            {
                "name": f"d{number}",
                "attributes": {
                    "model": {"string": self._draw.choice(_MODELS)},
                    "index": {"int": number},
                },
                "capacity": {"memory": {"value": self._draw.choice(["16Gi", "80Gi"])}},
            }
            for number in range(self._draw.randint(1, 4))
        ]
        return {
            "apiVersion": _API,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-devices"},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }

    def _request(self) -> dict[str, Any]:
        draw = self._draw
        exact: dict[str, Any] = {"deviceClassName": _CLASS}
        if draw.random() < 0.3:
            exact["count"] = 2
        model = f'device.attributes["{DRIVER}"].model == "{draw.choice(_MODELS)}"'
        memory = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
        if draw.random() < 0.6:
            exact["selectors"] = [_cel(draw.choice([model, memory]))]
        return {"name": "one", "exactly": exact}

    def claim(self, pod: Manifest) -> None:
        """Let the pod ask for devices."""
        pod["spec"]["resourceClaims"] = [
            {"name": "device", "resourceClaimTemplateName": self._draw.choice(self._names)}
        ]
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "device"}]


def _cel(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}
