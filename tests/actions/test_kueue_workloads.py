"""Workloads of Kueue, deleted with the real client on a server that answers as the API server."""

from collections.abc import Iterator
from typing import Any

import pytest

from rescheduler.actions.api_call import call
from rescheduler.actions.kueue_workloads import KueueWorkloads
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import was_stopped
from rescheduler.model.errors import ActionError, ClusterUnavailable, ObjectUnreadable
from tests.fakes import kueue
from tests.fakes.apiserver import FakeServer, Fault, serving

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


def client(server: FakeServer) -> KueueWorkloads:
    api = server.client()
    return KueueWorkloads(lambda method, path, body: call(api, method, path, body, timeout=0.5))


def stored(server: FakeServer, job: str = "train") -> dict[str, Any]:
    made = kueue.workload(job, f"uid-{job}", pods=2)
    return server.world.put("workloads", "default", made["metadata"]["name"], made)


def the_workload(server: FakeServer) -> dict[str, Any]:
    (found,) = [v for (kind, _, _), v in server.world.objects.items() if kind == "workloads"]
    return found


def read(server: FakeServer) -> GangObject:
    found = client(server).read("default", stored(server)["metadata"]["name"])
    assert found is not None
    return found


def test_one_is_read_by_its_name_with_the_right_to_list_only(server: FakeServer) -> None:
    stored(server, "other")
    found = read(server)
    assert (found.group, found.minimum, found.spec.active) == ("kueue.x-k8s.io", 2, True)
    assert found.metadata.resourceVersion
    ((method, path),) = {(m, p.partition("?")[0]) for m, p, _, _ in server.requests}
    assert (method, path) == ("GET", WORKLOADS)
    assert client(server).read("default", "gone") is None


def test_it_is_deleted_as_it_was_read_and_no_other(server: FakeServer) -> None:
    found = read(server)
    answer = client(server).restart(found)
    assert (answer.result, answer.code, answer.stops) == ("evicted", "ACT001", False)
    (body,) = server.sent("DELETE", WORKLOADS)
    assert body is not None
    assert body["preconditions"] == {
        "uid": found.metadata.uid,
        "resourceVersion": found.metadata.resourceVersion,
    }
    assert server.world.kueue.stopped == [found.metadata.uid]
    now = client(server).read("default", found.metadata.name)
    assert was_stopped(now, found.metadata.uid)


def test_one_that_has_changed_since_is_not_deleted(server: FakeServer) -> None:
    found = read(server)
    server.world.put("workloads", "default", found.metadata.name, the_workload(server))
    answer = client(server).restart(found)
    assert (answer.result, answer.otherwise) == ("unknown", "ACT021")
    assert server.world.kueue.stopped == []
    now = client(server).read("default", found.metadata.name)
    assert not was_stopped(now, found.metadata.uid)


@pytest.mark.parametrize(
    ("kind", "result", "code", "stops"),
    [
        (401, "refused", "ACT022", False),
        (403, "refused", "ACT022", False),
        (404, "unknown", "ACT009", False),
        (409, "unknown", "ACT009", False),
        (408, "unknown", "ACT009", False),
        (422, "refused", "ACT008", False),
        (429, "refused", "ACT005", True),
        (500, "unknown", "ACT009", False),
        (503, "unknown", "ACT009", False),
        ("drop-before", "unknown", "ACT009", False),
        ("drop-after", "unknown", "ACT009", False),
        ("hang", "unknown", "ACT009", False),
        ("malformed", "unknown", "ACT009", False),
    ],
)
def test_every_answer_has_its_meaning_and_none_is_asked_for_twice(
    server: FakeServer, kind: Any, result: str, code: str, stops: bool
) -> None:
    found = read(server)
    server.faults.append(Fault("DELETE", "/workloads/", kind))
    answer = client(server).restart(found)
    assert (answer.result, answer.code, answer.stops) == (result, code, stops)
    assert len(server.sent("DELETE", WORKLOADS)) == 1


@pytest.mark.parametrize("kind", [403, 500, "drop-before", "malformed"])
def test_what_cannot_be_read_is_not_taken_for_one_that_is_gone(
    server: FakeServer, kind: Any
) -> None:
    server.faults.append(Fault("GET", "/workloads", kind))
    with pytest.raises(ClusterUnavailable):
        read(server)


def test_one_that_cannot_be_decoded_is_an_error(server: FakeServer) -> None:
    stored(server)["spec"]["podSets"] = "three"
    with pytest.raises(ObjectUnreadable, match="cannot be decoded"):
        client(server).read(
            "default", kueue.workload("train", "uid-train", pods=2)["metadata"]["name"]
        )


@pytest.mark.parametrize(("status", "sure"), [(404, True), (403, False), (500, False)])
def test_a_kind_that_is_not_served_is_no_api_server_without_an_answer(
    server: FakeServer, status: int, sure: bool
) -> None:
    server.faults.append(Fault("GET", "/workloads", status))
    with pytest.raises(ClusterUnavailable) as told:
        client(server).read("default", "any")
    assert isinstance(told.value, ObjectUnreadable) is sure


def test_whether_we_may_is_asked_of_the_api_server(server: FakeServer) -> None:
    assert client(server).may_delete()
    (body,) = server.sent("POST", "selfsubjectaccessreviews")
    assert body is not None
    assert body["spec"]["resourceAttributes"] == {
        "verb": "delete",
        "group": "kueue.x-k8s.io",
        "resource": "workloads",
    }
    server.world.kueue.may = False
    assert not client(server).may_delete()
    server.faults.append(Fault("POST", "selfsubjectaccessreviews", 500))
    with pytest.raises(ActionError):
        client(server).may_delete()
