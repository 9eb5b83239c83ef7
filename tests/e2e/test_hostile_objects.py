"""What a tenant writes into its objects keeps nobody's pods from being repaired."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import bare_pod, deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import SPREAD, Loop, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

DEPTH = 9_000
"""The API server takes 10,000 levels."""

DEEP = msgspec.Raw(b'{"f:a":' * DEPTH + b"{}" + b"}" * DEPTH)
FIELDS = {"manager": "tenant", "operation": "Update", "apiVersion": "v1", "fieldsV1": DEEP}
FIELDS |= {"fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z"}


def test_objects_that_nest_deeply_are_read_and_moved_as_others(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    cluster.arrange([(deployment("web", 4, cpu=1, memory="1Gi"), ["n1", "n1", "n3", "n3"])])
    api = cluster.control_plane.api
    at = "/namespaces/default"
    paths = [f"/api/v1{at}/pods/{pod['metadata']['name']}" for pod in cluster.pods("web")]
    (owner,) = api.request("GET", f"/apis/apps/v1{at}/replicasets")["items"]
    paths += [f"/apis/apps/v1{at}/replicasets/{owner['metadata']['name']}", "/api/v1/nodes/n2"]
    for path in paths:
        patch = {"metadata": {"managedFields": [FIELDS]}}
        api.request("PATCH", path, patch, content_type="application/merge-patch+json")
    policies = write_policies(tmp_path / "policies", SPREAD, swift())

    moves = Loop(actor, policies).until_content()

    assert len(moves) == 2
    assert {move["landedOn"] for move in moves} <= {"n2", "n4"}


EVERYONE = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: rules}
spec:
  match: {all: true}
  nodeAffinity: {required: true, preferred: true}
  podAntiAffinity: true
  podAffinity: true
---
apiVersion: rescheduler.io/v1alpha1
kind: Locality
metadata: {name: near}
spec:
  match: {all: true}
  podAffinity: true
"""
HOST = "kubernetes.io/hostname"
TENANT = "tenant"


def of_tenant(name: str, owner: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    made = bare_pod(name, namespace=TENANT, cpu="10m", memory=None, **pod)
    if owner is not None:
        made["metadata"] |= {"ownerReferences": [owner], "finalizers": ["tenant.example/keep"]}
    return made


def about_everybody(kind: str, **labels: str) -> dict[str, Any]:
    """A preferred podAffinity, or a required podAntiAffinity, about pods of every namespace."""
    term = {"topologyKey": HOST, "namespaceSelector": {}, "labelSelector": {"matchLabels": labels}}
    if kind == "podAffinity":
        preferred = [{"weight": 100, "podAffinityTerm": term}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_what_a_tenant_writes_ends_no_cycle_and_moves_only_its_pods(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    cluster.arrange([(deployment("web", 4, cpu=1, memory="1Gi"), ["n1", "n1", "n3", "n3"])])
    cluster.arrange([(deployment("calm", 2, cpu=1, memory="1Gi"), ["n1", "n2"])])
    cluster.namespace(TENANT)
    (owner,) = (
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
        | {"name": manifest["metadata"]["name"], "uid": manifest["metadata"]["uid"]}
        for manifest in cluster.api.items("apps/v1", "ReplicaSet", "default")
        if manifest["metadata"]["labels"]["app"] == "web"
    )
    number = {"key": HOST, "operator": "Gt", "values": ["9" * 5_000]}
    larger = [{"weight": 1, "preference": {"matchExpressions": [number]}}]
    many = {f"tenant.example/{n}": "1" for n in range(5_000)}
    odd = of_tenant("resources")
    odd["spec"]["containers"][0]["resources"] = {"requests": many, "limits": many}
    gang = "leaderworkerset.sigs.k8s.io"
    cluster.create(
        odd,
        of_tenant(
            "number",
            affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": larger}},
            labels={f"{gang}/name": "x"},
            annotations={f"{gang}/size": "9" * 5_000, "rescheduler.io/opt-out": "." * 200_000},
            nodeName="n1",
        ),
        of_tenant("made-up", owner, labels={"app": "web"}, nodeName="n1"),
        of_tenant("long", {**owner, "kind": "K" * 100_000, "uid": "x"}, nodeName="n1"),
        of_tenant("apart", affinity=about_everybody("podAntiAffinity", app="calm"), nodeName="n2"),
        *(
            of_tenant(
                f"near-{n}", affinity=about_everybody("podAffinity", app="calm"), nodeName="n4"
            )
            for n in range(5)
        ),
    )
    policies = write_policies(tmp_path / "policies", SPREAD, EVERYONE, swift())
    cluster.until(
        lambda: len(cluster.pods(namespace=TENANT)) == 10, "the pods of the tenant are there"
    )

    moves = Loop(actor, policies).until_content()

    assert len(moves) == 2
    assert {move["pod"]["name"].partition("-")[0] for move in moves} == {"web"}
    assert {move["landedOn"] for move in moves} <= {"n2", "n4"}
