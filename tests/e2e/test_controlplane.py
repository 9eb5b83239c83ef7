"""The control plane itself: it starts, schedules, evicts under budgets, and audits who wrote."""

import time
from pathlib import Path

import pytest
import yaml

from tests.e2e.builders.cluster import Cluster, is_ready
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget, claim, priority_class, service, volume
from tests.e2e.builders.workloads import bare_pod, daemon_set, deployment, job, stateful_set
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.cleaning import Cleaner
from tests.e2e.controlplane.manifests import apply_manifests

pytestmark = pytest.mark.e2e


def test_every_kind_of_workload_becomes_ready(cluster: Cluster) -> None:
    cluster.create(*nodes(6, zones=["a", "b", "c"], gpus=4, racks_of=1))
    cluster.create(
        deployment("web", 6, gpus=1),
        stateful_set("db", 3, parallel=False),
        job("train", 2),
        daemon_set("agent"),
        bare_pod("lone"),
        volume("data", node="n2"),
        claim("data"),
        bare_pod("stored", claims=["data"]),
    )

    cluster.settled()

    assert cluster.placement("agent") == {f"n{i}": 1 for i in range(1, 7)}
    assert cluster.placement("web").total() == 6
    assert cluster.placement("stored") == {"n2": 1}


def test_an_eviction_spends_the_budget_and_is_in_the_audit_log(cluster: Cluster) -> None:
    cluster.create(*nodes(3), deployment("web", 3), budget("web", max_unavailable=1))
    cluster.settled()
    mark = cluster.control_plane.audit.mark()
    first, second, _ = cluster.pods("web")
    cluster.until(lambda: _allowed(cluster) == 1, "a disruption allowed")

    assert cluster.api.evict(first) == 201
    assert cluster.api.evict(second) == 429
    cluster.settled()

    evictions = cluster.control_plane.audit.since(mark).evictions(by="admin")
    assert [(r.name, r.code) for r in evictions] == [
        (f"default/{first['metadata']['name']}", 201),
        (f"default/{second['metadata']['name']}", 429),
    ]
    assert first["metadata"]["uid"] not in {p["metadata"]["uid"] for p in cluster.pods("web")}


def test_reads_are_distinct_from_writes(cluster: Cluster) -> None:
    audit = cluster.control_plane.audit
    mark = audit.mark()
    cluster.pods()
    only_read = audit.since(mark)
    cluster.create(bare_pod("p"))

    assert only_read.reads(by="admin").on("pods")
    assert not only_read.writes(by="admin")
    assert [r.resource for r in audit.since(mark).writes(by="admin")] == ["pods"]


def test_pods_stand_where_the_test_wants_them(cluster: Cluster) -> None:
    cluster.create(*nodes(10, gpus=8))

    cluster.arrange(
        [
            (deployment("hot", 8, gpus=1), {"n1": 8}),
            (stateful_set("db", 3), ["n3", "n2", "n3"]),
        ]
    )

    assert cluster.placement("hot") == {"n1": 8}
    names = [(p["metadata"]["name"], p["spec"]["nodeName"]) for p in cluster.pods("db")]
    assert names == [("db-0", "n3"), ("db-1", "n2"), ("db-2", "n3")]
    assert all(is_ready(pod) for pod in cluster.pods())


def test_a_node_is_never_overfilled_by_a_builder(cluster: Cluster) -> None:
    cluster.create(*nodes(1, gpus=2))

    with pytest.raises(ValueError, match=r"n1.*nvidia.com/gpu: 3 of 2"):
        cluster.place(deployment("hot", 3, gpus=1), ["n1"] * 3)


def test_a_service_account_may_do_what_rbac_grants_and_no_more(cluster: Cluster) -> None:
    namespace = cluster.namespace("reader")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    cluster.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
            "roleRef": role,
        }
    )
    path = cluster.control_plane.kubeconfig_for(namespace, "default")
    user = yaml.safe_load(path.read_text(encoding="utf-8"))["users"][0]["user"]
    admin = cluster.api
    mark = cluster.control_plane.audit.mark()

    reader = Api(admin.server, user["token"], admin.authority)
    assert reader.items("v1", "Pod") == []
    with pytest.raises(ApiError, match="403"):
        reader.create(bare_pod("p"))
    reader.close()

    said = cluster.control_plane.audit.since(mark).by("system:serviceaccount:reader:default")
    assert [(r.verb, r.code) for r in said.on("pods")] == [("list", 200), ("create", 403)]


def test_a_cluster_of_a_hundred_nodes_is_built_and_cleaned(cluster: Cluster) -> None:
    cluster.create(*nodes(100, zones=["a", "b", "c"]))
    cluster.create(*(deployment(f"app{i}", 15) for i in range(100)))
    cluster.settled(240)

    assert cluster.placement().total() == 1500


def test_a_job_ends_and_a_slow_end_is_slow(cluster: Cluster) -> None:
    cluster.create(*nodes(2), job("short", 2, runs="500ms"))
    cluster.create(deployment("slow", annotations={"pod-delete.stage.kwok.x-k8s.io/delay": "4s"}))
    cluster.until(lambda: _succeeded(cluster) == 2, "the end of the Job")
    cluster.settled()
    (pod,) = cluster.pods("slow")
    started = time.monotonic()

    assert cluster.api.evict(pod) == 201
    cluster.until(lambda: cluster.placement("slow").total() == 1, "a replacement")
    assert len(cluster.pods("slow")) == 2
    cluster.until(lambda: len(cluster.pods("slow")) == 1, "the end of the old pod")

    assert time.monotonic() - started > 3.5


def test_manifests_are_applied_and_applied_again(cluster: Cluster, tmp_path: Path) -> None:
    text = """
apiVersion: v1
kind: ConfigMap
metadata: {name: state}
data: {a: "1"}
---
apiVersion: v1
kind: Namespace
metadata: {name: applied}
"""
    (tmp_path / "all.yaml").write_text(text)
    apply_manifests(cluster.api, [tmp_path], namespace="applied")
    (tmp_path / "all.yaml").write_text(text.replace('"1"', '"2"'))

    made = apply_manifests(cluster.api, [tmp_path], namespace="applied")

    assert [item["kind"] for item in made] == ["Namespace", "ConfigMap"]
    assert cluster.api.read("v1", "ConfigMap", "state", "applied")["data"] == {"a": "2"}


def test_cleaning_leaves_what_the_control_plane_made_and_nothing_else(
    cluster: Cluster, cleaner: Cleaner
) -> None:
    cluster.namespace("made")
    cluster.create(
        *nodes(2),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left"}},
        service("left"),
        volume("left"),
        claim("left"),
        priority_class("left", 5),
        stateful_set("left", 2, claims=["left"]),
        job("left", namespace="made"),
        budget("left", min_available=1),
    )
    cluster.settled()

    cleaner.clean()

    namespaces = {n["metadata"]["name"] for n in cluster.api.items("v1", "Namespace")}
    assert namespaces == {"default", "kube-node-lease", "kube-public", "kube-system"}
    # Not Events: controllers write of what is gone a moment after it went.
    for kind in ("Node", "Pod", "PersistentVolume", "PersistentVolumeClaim"):
        assert cluster.api.items("v1", kind) == [], kind
    for kind, kept in (("Service", "kubernetes"), ("ServiceAccount", "default")):
        items = cluster.api.items("v1", kind, "default")
        assert [item["metadata"]["name"] for item in items] == [kept]
    assert cluster.api.items("policy/v1", "PodDisruptionBudget") == []
    assert cluster.control_plane.has_service_account("default")


def _allowed(cluster: Cluster) -> int:
    item = cluster.api.read("policy/v1", "PodDisruptionBudget", "web")
    return int(item.get("status", {}).get("disruptionsAllowed", 0))


def _succeeded(cluster: Cluster) -> int:
    return int(cluster.api.read("batch/v1", "Job", "short")["status"].get("succeeded", 0))
