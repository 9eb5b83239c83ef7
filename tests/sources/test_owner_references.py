"""Owner references that a tenant makes up: nothing has an owner in another namespace."""

from pathlib import Path
from typing import Any

import pytest

from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.kube.owner_references import LONGEST_NAME, tidy_owners
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.kubernetes.cluster import read_cluster
from tests.sources.connected import NODES, PODS, connected
from tests.sources.objects import Api, named, node, pod

OWNER = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "uid": "rs"}
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"


def read(tmp_path: Path, more: dict[str, list[dict[str, Any]]]) -> Snapshot:
    replica_set = named("web", "team", spec={"replicas": 2}, status={"readyReplicas": 2})
    replica_set["metadata"]["uid"] = "rs"
    pods = [pod("web-0", "n1"), pod("web-1", "n1"), *more.pop(PODS, [])]
    lists = {NODES: [node("n1")], PODS: pods, "/apis/apps/v1/replicasets": [replica_set], **more}
    with connected(Api(lists), tmp_path) as (connection, _):
        return read_cluster(connection)


def of_tenant(made: dict[str, Any]) -> dict[str, Any]:
    made["metadata"] |= {"namespace": "tenant", "ownerReferences": [{**OWNER, "controller": True}]}
    return made


def test_a_pod_is_of_no_workload_of_another_namespace(tmp_path: Path) -> None:
    made_up = of_tenant(pod("made-up", "n1"))
    snapshot = read(tmp_path, {PODS: [made_up]})
    assert [workload.namespace for workload in snapshot.workloads] == ["team"]
    assert snapshot.pod_workload.tolist() == [0, 0, -1]


def test_other_owners_of_such_a_pod_stay(tmp_path: Path) -> None:
    made_up = of_tenant(pod("made-up", "n1"))
    made_up["metadata"]["ownerReferences"].append({**OWNER, "uid": "own", "controller": False})
    snapshot = read(tmp_path, {PODS: [made_up]})
    assert [reference.uid for reference in snapshot.pods[2].metadata.ownerReferences or ()] == [
        "own"
    ]


def test_a_name_longer_than_any_is_cut_as_messages_repeat_it(tmp_path: Path) -> None:
    odd = pod("odd", "n1", schedulerName="s" * 10**6)
    odd["metadata"]["ownerReferences"] = [
        {"kind": "K" * 10**6, "apiVersion": "a" * 10**6, "name": "n" * 10**6, "uid": "u"}
    ]
    snapshot = read(tmp_path, {PODS: [odd]})
    (owner,) = snapshot.pods[2].metadata.ownerReferences or []
    names = (owner.kind, owner.apiVersion, owner.name, snapshot.pods[2].spec.schedulerName)
    assert [len(name) for name in names] == [LONGEST_NAME] * 4


@pytest.mark.parametrize("path", [WORKLOADS, CLAIMS])
def test_an_object_is_for_no_pod_of_another_namespace(path: str, tmp_path: Path) -> None:
    snapshot = read(tmp_path, {path: [of_tenant(named("made-up", "tenant", spec={"podSets": []}))]})
    assert snapshot.gangs.gang_of(0) is None
    found = [gang_object.metadata for gang_object in snapshot.gang_objects]
    found += [claim.metadata for claim in snapshot.resource_claims]
    assert [meta.ownerReferences for meta in found] == [None]


def test_an_object_is_for_a_pod_of_its_own_namespace(tmp_path: Path) -> None:
    workload = of_tenant(named("web", spec={"podSets": [{"name": "main", "count": 2}]}))
    workload["metadata"]["namespace"] = "team"
    snapshot = read(tmp_path, {WORKLOADS: [workload]})
    assert snapshot.gangs.gang_of(0) is not None


def test_an_owner_in_no_namespace_may_own_anything() -> None:
    mirror = ObjectMeta(
        namespace="team", ownerReferences=[OwnerReference(kind="Node", name="n1", uid="node")]
    )
    tidy_owners([mirror], {"node": ""})
    assert [reference.uid for reference in mirror.ownerReferences or ()] == ["node"]
    tidy_owners([mirror], {"node": "other"})
    assert mirror.ownerReferences is None
