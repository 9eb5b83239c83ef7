"""A kind that cannot be listed is never taken for one of which there are none."""

from pathlib import Path

import pytest

from rescheduler.kube.controllers import READ_OWNERS
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.sources.kubernetes import surroundings
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.listed_kinds import (
    CONTROLLERS,
    GANG_OBJECTS,
    LISTS,
    OWNERS,
    POD,
)
from tests.sources.objects import Api, node, pod, refusal
from tests.sources.server import Reply, Request
from tests.sources.test_kubernetes import NODES, PODS, connected

DEVICES = {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
GANGS = {kind.name for kind in GANG_OBJECTS}
QUEUES = {"ClusterQueue", "LocalQueue"}
RUNNERS = {"JobSet", "LeaderWorkerSet"}
EXTENSIONS = {
    kind.path: kind.name for kind in (*LISTS.values(), *GANG_OBJECTS, *OWNERS) if kind.extension
}
BUILT_IN = [PODS, NODES] + [
    kind.path for kind in (*LISTS.values(), *CONTROLLERS, *OWNERS) if not kind.extension
]


def test_of_what_is_listed_above_pods_it_is_known_that_it_is_read() -> None:
    assert {each.name for each in (*CONTROLLERS, *OWNERS, POD)} == READ_OWNERS


def test_owners_are_read_again_where_they_are_listed() -> None:
    """But for DaemonSets: their pods are never moved."""
    again = {
        kind: f"{api}/{resource}"
        for kind, (api, resource) in {**surroundings._CONTROLLERS, **surroundings._OWNERS}.items()
    }
    listed = {each.name: each.path for each in (*CONTROLLERS, *OWNERS, POD)}
    assert again == {kind: path for kind, path in listed.items() if kind != "DaemonSet"}


def refusing(path: str, status: int) -> Api:
    api = Api({PODS: [pod("web-0", "n1")], NODES: [node("n1")]})
    api.fail = lambda request: refusal(status, "no") if request.path == path else None
    return api


def fault_of(api: Api, folder: Path) -> str:
    with connected(api, folder) as (connection, _):
        connection.attempts = 1
        with pytest.raises(ClusterUnavailable) as caught:
            read_cluster(connection)
    return str(caught.value)


def test_extensions_are_what_a_supported_cluster_may_lack() -> None:
    assert set(EXTENSIONS.values()) == DEVICES | GANGS | QUEUES | RUNNERS | {"NodeResourceTopology"}


@pytest.mark.parametrize("status", [403, 404, 500, 503])
@pytest.mark.parametrize("path", BUILT_IN)
def test_a_built_in_kind_that_cannot_be_listed_is_an_error(
    path: str, status: int, tmp_path: Path
) -> None:
    fault = fault_of(refusing(path, status), tmp_path)
    assert f"{path} answered {status}: no" in fault
    if status == 403:
        resource = path.rsplit("/", 1)[1]
        assert f"grant the right to list {resource}" in fault
        assert "cannot be listed" in fault


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("path", EXTENSIONS)
def test_an_extension_that_is_served_and_cannot_be_listed_is_an_error(
    path: str, status: int, tmp_path: Path
) -> None:
    fault = fault_of(refusing(path, status), tmp_path)
    assert f"{path} answered {status}: no" in fault


@pytest.mark.parametrize("status", [403, 404])
def test_an_extension_that_is_not_served_is_not_missed(status: int, tmp_path: Path) -> None:
    api = refusing("", status)
    api.served = {}
    api.fail = lambda request: refusal(status, "no") if request.path in EXTENSIONS else None
    with connected(api, tmp_path) as (connection, served):
        unread = read_cluster(connection).unread
    assert set(unread) == DEVICES
    assert [each.path for each in served.requests].count("/apis") == 1


def test_a_group_that_lacks_the_resource_does_not_serve_it(tmp_path: Path) -> None:
    api = refusing("/apis/resource.k8s.io/v1/resourceslices", 404)
    api.served["resource.k8s.io/v1"].remove("resourceslices")
    with connected(api, tmp_path) as (connection, _):
        assert read_cluster(connection).unread == ["ResourceSlice"]


def test_a_kind_that_is_served_in_another_version_alone_is_not_absent(tmp_path: Path) -> None:
    """As Kueue does once it serves no v1beta1: its jobs must not be taken for ungoverned ones."""
    api = refusing("/apis/kueue.x-k8s.io/v1beta1/workloads", 404)
    del api.served["kueue.x-k8s.io/v1beta1"]
    api.served["kueue.x-k8s.io/v1beta2"] = ["workloads"]
    with connected(api, tmp_path) as (connection, _):
        assert read_cluster(connection).unread == ["Workload.kueue.x-k8s.io"]


@pytest.mark.parametrize(
    "answer",
    [
        refusal(403, "no"),
        refusal(404, "404 page not found"),
        refusal(503, "no"),
        Reply(b"<html>Log in</html>"),
        Reply(b"{}"),
        Reply(b'{"kind": "Status", "groups": []}'),
    ],
)
def test_without_discovery_nothing_is_taken_for_absent(answer: Reply, tmp_path: Path) -> None:
    api = refusing("", 404)

    def fail(request: Request) -> Reply | None:
        if request.path == "/apis":
            return answer
        return refusal(404, "404 page not found") if request.path in EXTENSIONS else None

    api.fail = fail
    assert "/apis" in fault_of(api, tmp_path)
