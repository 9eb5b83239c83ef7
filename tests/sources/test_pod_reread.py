"""A pod is read again with all that it hangs on, over HTTP as in a real run."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.kube.pods.steered_affinity import steered_affinity
from rescheduler.model.errors import ClusterUnavailable, ObjectUnreadable
from rescheduler.sources.kubernetes.cluster import DEADLINE, read_pods, read_queues
from rescheduler.sources.kubernetes.pod_reread import SECONDS, read_workload
from rescheduler.sources.kubernetes.transport import Connection, GetResponse
from tests.fakes import kueue
from tests.fakes.apiserver import FakeServer, Fault
from tests.fakes.world import World
from tests.sources.pod_rereads import names, read, server

__all__ = ["server"]


def test_all_that_a_pod_hangs_on_is_read_and_no_more(server: FakeServer) -> None:
    found = read(server)
    assert names(found.pods) == ["web-0", "web-1", "web-2", "web-3", "web-9"]
    assert {pod.node for pod in found.pods[:4]} == {"n1"}
    assert names(found.nodes) == ["n1"]
    assert [controller.kind for controller in found.controllers] == ["ReplicaSet", "Deployment"]
    assert names(found.namespaces) == ["default"]
    assert (names(found.budgets), names(found.autoscalers)) == (["b"], ["web"])
    assert (found.workloads[0].kind, found.workloads[0].ready) == ("Deployment", 4)
    assert found.undecodable == []
    assert len(server.requests) == 8
    assert abs((found.taken - server.world.now()).total_seconds()) < 3


def test_what_steering_has_added_to_pods_is_taken_off(server: FakeServer) -> None:
    """The next pod of their controller will not have it, and it holds none of their siblings."""
    owner = next(v for k, v in server.world.objects.items() if k[0] == "replicasets")
    owner["spec"]["template"] = {"spec": {"containers": []}}
    pod = server.world.objects["pods", "default", "web-1"]
    pod["spec"]["affinity"] = steered_affinity(None, ["n1", "n2"], require=True)
    found = {pod_object.metadata.name: pod_object.spec.affinity for pod_object in read(server).pods}
    assert found["web-1"] is None


def test_a_pod_that_is_gone_is_no_error(server: FakeServer) -> None:
    found = read(server, "web-77")
    assert found.pods == []
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("key", "missing"),
    [
        (("replicasets", "default", "web-1"), "controllers"),
        (("nodes", "", "n1"), "nodes"),
    ],
)
def test_what_does_not_exist_is_left_out(
    server: FakeServer, key: tuple[str, str, str], missing: str
) -> None:
    del server.world.objects[key]
    assert getattr(read(server), missing) == []


def test_another_owner_of_that_name_is_not_the_owner(server: FakeServer) -> None:
    server.world.objects["replicasets", "default", "web-1"]["metadata"]["uid"] = "another"
    assert read(server).controllers == []


def below(world: World, *kinds: str) -> None:
    """The Deployment `web` is run by an object of the first of these kinds, that by the next."""
    at = world.objects["deployments", "default", "web"]["metadata"]
    for kind in kinds:
        reference = {"kind": kind, "name": "top", "uid": f"uid-{kind}", "controller": True}
        at["ownerReferences"] = [reference]
        world.put(f"{kind.lower()}s", "default", "top", {"metadata": {"uid": f"uid-{kind}"}})
        at = world.objects[f"{kind.lower()}s", "default", "top"]["metadata"]


@pytest.mark.parametrize(
    "kinds", [("JobSet",), ("CronJob",), ("Pod", "LeaderWorkerSet"), ("StatefulSet", "JobSet")]
)
def test_what_is_above_its_controllers_is_read_too(
    server: FakeServer, kinds: tuple[str, ...]
) -> None:
    below(server.world, *kinds)
    found = read(server)
    above = [controller.kind for controller in (*found.controllers, *found.owners)]
    assert above == ["ReplicaSet", "Deployment", *kinds]
    assert found.owner_chain(found.pods[0].controller)[1] is None


def test_what_is_above_and_gone_or_of_a_kind_that_is_not_read_is_told(server: FakeServer) -> None:
    below(server.world, "JobSet", "TrainJob")
    found = read(server)
    assert [owner.kind for owner in found.owners] == ["JobSet"]
    (_, missing) = found.owner_chain(found.pods[0].controller)
    assert missing is not None
    assert missing.kind == "TrainJob"
    assert not any("trainjob" in path for _, path, _, _ in server.requests)
    del server.world.objects["jobsets", "default", "top"]
    assert read(server).owners == []


@pytest.mark.parametrize("status", [401, 403, 500])
def test_what_is_above_and_cannot_be_read_is_an_error(server: FakeServer, status: int) -> None:
    below(server.world, "JobSet")
    server.faults.append(Fault("GET", "jobsets/top", status, times=9))
    with pytest.raises(ClusterUnavailable):
        read(server)


def test_an_odd_budget_is_named_and_protects_its_namespace(server: FakeServer) -> None:
    server.world.objects["poddisruptionbudgets", "default", "b"]["status"] = {
        "disruptionsAllowed": "many"
    }
    (bad,) = read(server).undecodable
    assert (bad.kind, bad.namespace, bad.name) == ("PodDisruptionBudget", "default", "b")


def test_an_odd_node_is_named(server: FakeServer) -> None:
    server.world.objects["nodes", "", "n1"]["spec"] = {"unschedulable": "perhaps"}
    found = read(server)
    assert (found.nodes, [bad.name for bad in found.undecodable]) == ([], ["n1"])


def test_an_odd_pod_is_not_taken_for_one_that_is_gone(server: FakeServer) -> None:
    server.world.objects["pods", "default", "web-0"]["spec"]["priority"] = "high"
    with pytest.raises(ClusterUnavailable, match="pods/web-0 cannot be decoded"):
        read(server)


@pytest.mark.parametrize(
    "path",
    ["pods/web-0", "replicasets", "deployments", "nodes/n1", "budgets", "autoscalers", "pods?"],
)
@pytest.mark.parametrize("status", [401, 403, 500])
def test_what_cannot_be_read_is_an_error(server: FakeServer, path: str, status: int) -> None:
    server.faults.append(Fault("GET", path, status, times=9))
    if (path, status) == ("pods/web-0", 403):
        server.faults.append(Fault("GET", "pods", status, times=9))
    with pytest.raises(ClusterUnavailable) as told:
        read(server)
    assert isinstance(told.value, ObjectUnreadable) is (status == 403), "of this pod alone"


def test_a_pod_that_may_not_be_read_by_itself_is_read_with_its_namespace(
    server: FakeServer,
) -> None:
    """Else each run that plans to move it would end there."""
    whole = read(server)
    server.faults.append(Fault("GET", "pods/web-0", 403, times=9))
    found = read(server)
    assert names(found.pods) == names(whole.pods)
    assert (found.pods[0].node, found.taken is not None) == (whole.pods[0].node, True)
    del server.world.objects["pods", "default", "web-0"]
    assert read(server).pods == []


def test_an_unreadable_pod_that_cannot_be_decoded_is_not_gone(
    server: FakeServer,
) -> None:
    server.faults.append(Fault("GET", "pods/web-0", 403, times=9))
    server.world.objects["pods", "default", "web-0"]["spec"]["containers"] = "nonsense"
    with pytest.raises(ClusterUnavailable, match="pods/web-0 cannot be decoded"):
        read(server)


def test_a_kind_that_is_not_served_is_an_error(server: FakeServer) -> None:
    server.faults.append(Fault("GET", "horizontalpodautoscalers", 404))
    with pytest.raises(ClusterUnavailable, match="horizontalpodautoscalers answered 404"):
        read(server)


def test_pods_are_read_by_selector_or_by_name(server: FakeServer) -> None:
    connection = Connection(server.client(), "here")
    assert len(read_pods(connection, "default")) == 6
    assert names(read_pods(connection, "default", "app=other")) == ["other-1"]
    assert names(read_pods(connection, "default", name="web-2")) == ["web-2"]
    server.world.objects["pods", "default", "web-2"]["status"]["phase"] = "Failed"
    assert read_pods(connection, "default", name="web-2") == []


@pytest.mark.parametrize("status", [401, 403, 404, 500])
@pytest.mark.parametrize("selector", ["app=web", ""])
def test_a_pod_whose_name_alone_is_refused_is_read_by_labels(
    server: FakeServer, status: int, selector: str
) -> None:
    connection = Connection(server.client(), "here", attempts=1)
    server.faults.append(Fault("GET", "metadata.name", status, times=9))
    if status == 403:
        assert names(read_pods(connection, "default", selector, "web-2")) == ["web-2"]
        assert read_pods(connection, "default", "app=other", "web-2") == []
        server.faults.append(Fault("GET", "/pods", status, times=9))
    with pytest.raises(ClusterUnavailable, match=str(status)):
        read_pods(connection, "default", selector, "web-2")


def queued(world: World) -> dict[str, Any]:
    """Two Workloads, LocalQueues of two namespaces and a ClusterQueue; the first Workload."""
    for namespace in ("default", "elsewhere"):
        world.put("localqueues", namespace, "team", {"spec": {"clusterQueue": "all"}})
    world.put("clusterqueues", "", "all", {"spec": {}, "status": {"pendingWorkloads": 2}})
    made = [kueue.workload(name, f"uid-{name}", pods=3) for name in ("train", "done")]
    for workload in made:
        world.put("workloads", "default", workload["metadata"]["name"], workload)
    return made[0]


def test_one_workload_is_read_with_its_queues_and_nodes_and_no_more(server: FakeServer) -> None:
    name = queued(server.world)["metadata"]["name"]
    found = read_workload(Connection(server.client(), "here"), "default", name, ["n2", "gone"])
    assert [
        (gang_object.metadata.name, gang_object.group) for gang_object in found.gang_objects
    ] == [(name, "kueue.x-k8s.io")]
    assert [queue.metadata.namespace for queue in found.local_queues] == ["default"]
    assert [queue.status.pendingWorkloads for queue in found.cluster_queues] == [2]
    assert names(found.nodes) == ["n2"]
    assert len(server.requests) == 5


def test_workloads_that_have_finished_say_nothing(server: FakeServer) -> None:
    name = queued(server.world)["metadata"]["name"]
    for key, manifest in server.world.objects.items():
        if key[0] == "workloads" and key[2] != name:
            manifest["status"]["conditions"].append({"type": "Finished", "status": "True"})
    found = read_queues(Connection(server.client(), "here"))
    assert names(found.gang_objects) == [name]


def test_a_workload_that_is_gone_is_left_out(server: FakeServer) -> None:
    queued(server.world)
    found = read_workload(Connection(server.client(), "here"), "default", "other", [])
    assert found.gang_objects == []


def test_a_workload_that_cannot_be_decoded_is_named(server: FakeServer) -> None:
    name = queued(server.world)["metadata"]["name"]
    server.world.objects["workloads", "default", name]["spec"]["podSets"] = "three"
    found = read_workload(Connection(server.client(), "here"), "default", name, [])
    assert [(undecodable.kind, undecodable.name) for undecodable in found.undecodable] == [
        ("Workload.kueue.x-k8s.io", name)
    ]


@dataclass
class Timed(Connection):
    """Empty lists, and the seconds that each may take."""

    allowed: list[float] = field(default_factory=list)

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        most: int = 0,
    ) -> GetResponse:
        assert until is not None
        self.allowed.append(until - time.monotonic())
        now = datetime.now(UTC)
        return GetResponse(200, b'{"items": [], "kind": "List"}', now, now, now)


def test_all_workloads_may_take_long_and_one_may_not(server: FakeServer) -> None:
    connection = Timed(server.client(), "here")
    read_queues(connection)
    assert all(SECONDS * 2 < timeout <= DEADLINE for timeout in connection.allowed)
    connection.allowed.clear()
    read_workload(connection, "default", "train", ["n1", "n2"])
    assert all(timeout <= SECONDS for timeout in connection.allowed)
