"""Partitions, alternatives and taints of devices: where the real allocator finds what is asked.

Every pod is for the node that it is named after, so that each decision is whether its claim can be
served there. Nodes fill up from round to round.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.claims import API, decide, device_class
from tests.e2e.controlplane.versions import MINOR

pytestmark = pytest.mark.e2e

Manifest = dict[str, Any]
CLASS, DRIVER = "cards", "cards.test"
NODES, ROUNDS = 30, 8
WHOLE, HALF, QUARTER = "whole", "half", "quarter"
FAULT, SERVICE = "cards.test/fault", "cards.test/service"
SINCE = {"partitions": 36, "taints": 36, "rules": 37}
"""The minor version in which what a claim asks for, or a device shows, is on by default."""


def test_the_real_allocator_serves_claims_where_it_is_predicted(
    cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    draw = random.Random(37)
    names = [f"d{number}" for number in range(1, NODES + 1)]
    wanted = requests()
    cluster.create(
        *nodes(NODES, prefix="d"),
        device_class(CLASS, DRIVER),
        *(manifest for name in names for manifest in slices(draw, name)),
        *(template(name, made) for name, made in wanted.items()),
        *(rules(draw, names) if SINCE["rules"] <= MINOR else []),
    )
    cluster.settled(120)
    predicted: dict[str, bool] = {}
    try:
        for number in range(ROUNDS):
            asked = {f"{name}-{number}": draw.choice(sorted(wanted)) for name in names}
            predicted |= decide(cluster, asked)
    finally:
        if SINCE["rules"] <= MINOR:
            cluster.api.request("DELETE", "/apis/resource.k8s.io/v1/devicetaintrules")
    bound = {pod["metadata"]["name"] for pod in cluster.pods() if pod["spec"].get("nodeName")}
    fits = {name for name, fitting in predicted.items() if fitting}
    record_property("device decisions", len(predicted))

    assert len(predicted) == NODES * ROUNDS >= 200
    assert bound - fits == set(), "bound, though no device was seen"
    assert fits - bound == set(), "not bound, though there was a device"
    assert 0.15 < len(bound) / len(predicted) < 0.85


def requests() -> dict[str, list[Manifest]]:
    """By name of its template, what a claim asks for in this version of Kubernetes."""
    made: dict[str, list[Manifest]] = {
        "any": [exactly()],
        "model": [exactly(WHOLE)],
        "two": [exactly(WHOLE, count=2)],
        "better": [alternatives(one(WHOLE, count=2), one(WHOLE))],
    }
    if SINCE["partitions"] > MINOR:
        made["pair"] = [alternatives(one(WHOLE, count=2), one(WHOLE)), exactly(WHOLE)]
    else:
        made |= {
            "half": [exactly(HALF)],
            "halves": [exactly(HALF, count=2)],
            "mixed": [exactly(QUARTER), exactly(HALF)],
            "spread": [exactly(), exactly(QUARTER, count=3)],
            "fewer": [alternatives(one(HALF, count=3), one(QUARTER, count=2))],
            "quarter": [exactly(QUARTER)],
            "smaller": [alternatives(one(WHOLE), one(HALF), one(QUARTER))],
        }
    if SINCE["taints"] <= MINOR:
        # Without the effect a toleration of NoExecute holds only until the pod is bound.
        effects = ("NoSchedule", "NoExecute")
        bearable = [{"operator": "Exists", "effect": effect} for effect in effects]
        made |= {
            "tolerant": [exactly(tolerations=bearable)],
            "faulty": [
                exactly(tolerations=[{"key": FAULT, **toleration} for toleration in bearable])
            ],
            "exact": [
                exactly(WHOLE, tolerations=[{"key": FAULT, "value": "ecc", "effect": "NoSchedule"}])
            ],
        }
    return made


def one(model: str = "", **more: Any) -> Manifest:
    """What one request asks for."""
    expression = f'device.attributes["{DRIVER}"].model == "{model}"'
    selectors = {"selectors": [{"cel": {"expression": expression}}]} if model else {}
    return {"deviceClassName": CLASS, **selectors, **more}


def exactly(model: str = "", **more: Any) -> Manifest:
    return {"exactly": one(model, **more)}


def alternatives(*several: Manifest) -> Manifest:
    named = [{"name": f"s{number}", **manifest} for number, manifest in enumerate(several)]
    return {"firstAvailable": named}


def template(name: str, several: list[Manifest]) -> Manifest:
    made = [{"name": f"r{number}", **manifest} for number, manifest in enumerate(several)]
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": made}}},
    }


def slices(draw: random.Random, node: str) -> list[Manifest]:
    """One to three cards of a node, where it is possible with their halves and quarters."""
    devices: list[Manifest] = []
    shared: list[Manifest] = []
    for card in range(draw.randint(1, 3)):
        taints = _taints(draw)
        divided = SINCE["partitions"] <= MINOR and draw.random() < 0.7
        sizes = ((WHOLE, 1, "80Gi"), (HALF, 2, "40Gi"), (QUARTER, 4, "20Gi"))
        for model, count, memory in sizes if divided else sizes[:1]:
            for number in range(count):
                takes = {
                    "counterSet": f"card-{card}",
                    "counters": {"memory": {"value": memory}, "lanes": {"value": str(8 // count)}},
                }
                devices.append(
                    {
                        "name": f"c{card}-{model}-{number}",
                        "attributes": {"model": {"string": model}},
                        **({"consumesCounters": [takes]} if divided else {}),
                        **({"taints": taints} if taints else {}),
                    }
                )
        if divided:
            lanes = {"value": draw.choice(["8", "6"])}
            counters = {"memory": {"value": "80Gi"}, "lanes": lanes}
            shared.append({"name": f"card-{card}", "counters": counters})
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2 if shared else 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool}
    made = [{**spec, "devices": devices}, *([{**spec, "sharedCounters": shared}] if shared else [])]
    return [
        {
            "apiVersion": API,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{number}"},
            "spec": slice_spec,
        }
        for number, slice_spec in enumerate(made)
    ]


def _taints(draw: random.Random) -> list[Manifest]:
    if SINCE["taints"] > MINOR or draw.random() < 0.6:
        return []
    effect = draw.choice(["NoSchedule", "NoSchedule", "NoExecute"])
    if SINCE["rules"] <= MINOR and draw.random() < 0.2:
        effect = "None"
    return [{"key": FAULT, "value": draw.choice(["ecc", "heat"]), "effect": effect}]


def rules(draw: random.Random, names: list[str]) -> list[Manifest]:
    """Rules of an administrator: of a pool, of a device in every pool, and of nothing."""
    taint = {"key": SERVICE, "value": "now", "effect": "NoSchedule"}
    selectors: list[Manifest] = [
        *({"driver": DRIVER, "pool": name} for name in draw.sample(names, 4)),
        *({"pool": name, "device": f"c0-{HALF}-0"} for name in draw.sample(names, 4)),
        {"driver": "another.test"},
    ]
    return [
        {
            "apiVersion": API,
            "kind": "DeviceTaintRule",
            "metadata": {"name": f"rule-{number}"},
            "spec": {"deviceSelector": selector, "taint": taint},
        }
        for number, selector in enumerate(selectors)
    ]
