"""Replacements are planned with what admission will set, as the webhook of an autoscaler does."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment, template
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import WINDOW, Loop, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

ROOM = """
apiVersion: rescheduler.io/v1alpha1
kind: Allocation
metadata: {name: room}
spec:
  match: {labels: {matchLabels: {app: sized}}}
  nodes: {all: true}
  resources: [{resource: cpu, target: 60%}]
"""
POLICY = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
BINDING = {**POLICY, "kind": "MutatingAdmissionPolicyBinding"}
NAME = {"metadata": {"name": "sizes"}}


def sizes(cpu: str) -> dict[str, Any]:
    """What sets the CPU request of pods of `sized` as they are created, and at no other time."""
    path = "/spec/containers/0/resources/requests/cpu"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    return {
        **POLICY,
        **NAME,
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [
                {
                    "name": "sized",
                    "expression": "has(object.metadata.labels) && "
                    "'app' in object.metadata.labels && object.metadata.labels['app'] == 'sized'",
                }
            ],
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {
                        "expression": "[JSONPatch{op: 'replace', "
                        f"path: '{path}', value: '{cpu}'}}]"
                    },
                }
            ],
        },
    }


def cpu_of(manifest: dict[str, Any]) -> str:
    return str(manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def set_size(cluster: Cluster, cpu: str) -> None:
    """Let new pods ask for so much, and wait until the API server does it."""
    cluster.api.apply(sizes(cpu))
    cluster.api.apply({**BINDING, **NAME, "spec": {"policyName": "sizes"}})
    probe = {"apiVersion": "v1", "kind": "Pod", **template("sized")}
    probe["metadata"] = {**probe["metadata"], "name": "probe", "namespace": "default"}
    path = "/api/v1/namespaces/default/pods"

    def done() -> bool:
        return cpu_of(cluster.api.request("POST", path, probe, {"dryRun": "All"})) == cpu

    cluster.until(done, f"pods with {cpu} CPUs", 30)


def test_a_replacement_lands_where_what_admission_gives_it_fits(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """An old pod asks for 1 CPU, the newest for 3, for which the empty node has no room."""
    cluster.create(*nodes(1, "n", cpu=16, memory="64Gi"))
    cluster.create(*nodes(1, "small", cpu="2900m", memory="64Gi"))
    cluster.create(*nodes(1, "large", cpu=16, memory="64Gi"))
    set_size(cluster, "1")
    cluster.arrange(
        [
            (deployment("sized", 2, cpu="100m", memory="64Mi"), {"n1": 2}),
            (deployment("anchor", 1, cpu=6, memory="1Gi"), {"n1": 1}),
            (deployment("filler", 1, cpu="5500m", memory="1Gi"), {"large1": 1}),
        ]
    )
    time.sleep(1.1)  # times of creation are whole seconds
    set_size(cluster, "3")
    by_name = {node["metadata"]["name"]: node for node in cluster.api.items("v1", "Node")}
    for name in ("small1", "large1"):
        cluster.api.patch(by_name[name], {"spec": {"unschedulable": True}})
    every = cluster.api.items("apps/v1", "Deployment")
    (top,) = [owner for owner in every if owner["metadata"]["name"] == "sized"]
    cluster.api.patch(top, {"spec": {"replicas": 3}})
    cluster.until(lambda: len(cluster.pods("sized")) == 3, "the third pod")
    cluster.settled()
    for name in ("small1", "large1"):
        cluster.api.patch(by_name[name], {"spec": {"unschedulable": None}})
    old = [sized for sized in cluster.pods("sized") if cpu_of(sized) == "1"]
    (newest,) = [sized for sized in cluster.pods("sized") if cpu_of(sized) == "3"]
    cluster.api.patch(newest, {"metadata": {"annotations": {"rescheduler.io/opt-out": "true"}}})
    metrics.warm(WINDOW)

    loop = Loop(actor, write_policies(tmp_path / "policies", ROOM, swift()))
    loop.once()

    (move,) = loop.evicted()
    assert move["pod"]["uid"] in {sized["metadata"]["uid"] for sized in old}
    assert [(share["node"], share["probability"]) for share in move["landing"]] == [("large1", 1.0)]
    assert "ELG043" in {reason["code"] for reason in move["reasons"]}, move["reasons"]
    assert move["landedOn"] == "large1"
    cluster.settled()
    (landed,) = [p for p in cluster.pods("sized") if p["spec"]["nodeName"] == "large1"]
    assert cpu_of(landed) == "3"
