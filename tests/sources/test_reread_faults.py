"""What a pod hangs on is odd, large, late or refused: is it about this pod alone, or an outage?"""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.errors import ClusterUnavailable, ObjectLate, ObjectUnreadable
from rescheduler.sources.kubernetes.page_decoding import Sharing
from rescheduler.sources.kubernetes.pod_reread import read_surroundings
from rescheduler.sources.kubernetes.transport import Connection, GetResponse
from tests.fakes.apiserver import FakeServer, Fault
from tests.sources.pod_rereads import names, read, server

__all__ = ["server"]

ELSEWHERE = [
    "../../../../../../api/v1/secrets",
    "../../../../../../api/v1/namespaces/other/pods/x/log?follow=true",
    "?watch=true",
    "web-1/status",
    "web-1#",
    "web-1%2fstatus",
    "..",
    "",
]


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("of", ["pods", "replicasets"])
def test_the_name_of_an_owner_leads_nowhere_else(server: FakeServer, of: str, name: str) -> None:
    """The API server asks of it only that it is not empty."""
    owned = server.world.objects[of, "default", {"pods": "web-0"}.get(of, "web-1")]
    owned["metadata"]["ownerReferences"][0]["name"] = name
    with pytest.raises(ObjectUnreadable, match=r"can be no name in .*/(replicasets|deployments)"):
        read(server)
    asked = [path for _, path, _, _ in server.requests]
    known = ["/api/v1/namespaces/default/pods/web-0"]
    known += ["/apis/apps/v1/namespaces/default/replicasets/web-1"] if of == "replicasets" else []
    assert asked == known


def test_the_name_of_a_node_leads_nowhere_else(server: FakeServer) -> None:
    server.world.objects["pods", "default", "web-0"]["spec"]["nodeName"] = "../secrets"
    with pytest.raises(ObjectUnreadable, match="can be no name in /api/v1/nodes"):
        read(server)
    assert not any("secrets" in path for _, path, _, _ in server.requests)


def test_large_lists_are_read_page_by_page(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the snapshot reads them: else a pod is planned that can never be moved."""
    for number in range(120):
        server.world.add_budget(f"large-{number}", "nothing", allowed=1)
        large = server.world.objects["poddisruptionbudgets", "default", f"large-{number}"]
        large["metadata"]["annotations"] = {"note": "x" * 2_000}
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.MAX_PAGE", 150_000)
    found = read(server)
    assert names(found.budgets) == ["b", *(f"large-{number}" for number in range(120))]
    pages = [path for _, path, _, _ in server.requests if "/poddisruptionbudgets" in path]
    assert [path.endswith("limit=500") for path in pages] == [True, False, True, False, True]


def test_many_pods_of_one_controller_are_read_page_by_page(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.PAGE", 2)
    assert names(read(server).pods) == ["web-0", "web-1", "web-2", "web-3", "web-9"]
    pages = [path for _, path, _, _ in server.requests if "labelSelector" in path]
    assert len(pages) == 3


@pytest.mark.parametrize("most", [1_000, 10_000, 20_000])
def test_all_lists_together_have_so_many_bytes_at_most(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    for number in range(5):
        server.world.add_budget(f"large-{number}", "nothing", allowed=1)
        large = server.world.objects["poddisruptionbudgets", "default", f"large-{number}"]
        large["metadata"]["annotations"] = {"note": "x" * 2_000}
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.PAGE", 2)
    monkeypatch.setattr("rescheduler.sources.kubernetes.pod_reread.MOST", most)
    if most == 20_000:
        assert len(read(server).budgets) == 6
        return
    with pytest.raises(ObjectUnreadable, match="larger than"):
        read(server)


@pytest.mark.parametrize("status", [400, 410, 414, 422, 431])
@pytest.mark.parametrize("path", ["labelSelector", "poddisruptionbudgets", "replicasets/"])
def test_a_request_that_is_refused_itself_holds_this_pod_alone(
    server: FakeServer, path: str, status: int
) -> None:
    """As one whose selector is too long for a proxy."""
    server.faults.append(Fault("GET", path, status, times=9))
    with pytest.raises(ObjectUnreadable, match=f"answered {status}"):
        read(server)


@pytest.mark.parametrize("status", [401, 408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("path", ["labelSelector", "poddisruptionbudgets", "replicasets/"])
def test_what_tells_nothing_of_the_request_is_an_outage(
    server: FakeServer, path: str, status: int
) -> None:
    server.faults.append(Fault("GET", path, status, times=9))
    with pytest.raises(ClusterUnavailable) as told:
        read_surroundings(Connection(server.client(), "here", attempts=1), "default", "web-0")
    assert not isinstance(told.value, ObjectUnreadable)


@pytest.mark.parametrize(
    ("path", "late"), [("pods/web-0", False), ("replicasets", True), ("labelSelector", True)]
)
def test_what_is_late_once_others_were_answered_holds_this_pod_alone(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, path: str, late: bool
) -> None:
    monkeypatch.setattr("rescheduler.sources.kubernetes.pod_reread.SECONDS", 0.4)
    server.faults.append(Fault("GET", path, "hang", times=9))
    with pytest.raises(ClusterUnavailable) as told:
        read(server)
    assert isinstance(told.value, ObjectLate) is late


@pytest.mark.parametrize("path", ["pods/web-0", "replicasets", "labelSelector"])
def test_a_connection_that_breaks_is_an_outage(server: FakeServer, path: str) -> None:
    server.faults.append(Fault("GET", path, "drop-before", times=99))
    with pytest.raises(ClusterUnavailable) as told:
        read(server)
    assert not isinstance(told.value, ObjectUnreadable)


@pytest.mark.parametrize("path", ["pods/web-0", "poddisruptionbudgets", "labelSelector"])
def test_the_page_of_a_proxy_is_an_outage(server: FakeServer, path: str) -> None:
    server.faults.append(Fault("GET", path, "garbage", times=9))
    with pytest.raises(ClusterUnavailable, match="not what Kubernetes answers") as told:
        read(server)
    assert not isinstance(told.value, ObjectUnreadable)


class Repeating(Connection):
    """One page again and again."""

    def fetch(self, path: str, *more: Any, **named: Any) -> GetResponse:
        answer = Connection.fetch(self, path, *more, **named)
        again = answer.body.replace(b'"metadata": {}}', b'"metadata": {"continue": "7"}}')
        return replace(answer, body=again)


def test_a_list_without_an_end_is_an_outage(server: FakeServer) -> None:
    with pytest.raises(ClusterUnavailable, match="the same page again and again"):
        read_surroundings(Repeating(server.client(), "here"), "default", "web-0")


@pytest.mark.parametrize("error", [TypeError, OverflowError, RecursionError, ValueError])
@pytest.mark.parametrize("pod", ["web-0", "web-2"])
def test_a_pod_that_has_turned_odd_holds_this_pod_alone(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, pod: str, error: type[Exception]
) -> None:
    """Whatever fails in taking it in, as when the snapshot is read."""
    taken = Sharing.pod

    def fails(self: Sharing, pod_object: Pod) -> str | None:
        if pod_object.metadata.name == pod:
            raise error("too odd")
        return taken(self, pod_object)

    monkeypatch.setattr(Sharing, "pod", fails)
    with pytest.raises(ObjectUnreadable, match=f"{pod} cannot be decoded: {error.__name__}"):
        read(server)


def test_an_odd_selector_holds_this_pod_alone(server: FakeServer) -> None:
    odd = {"matchLabels": {"app": 5}}
    server.world.objects["replicasets", "default", "web-1"]["spec"]["selector"] = odd
    with pytest.raises(ObjectUnreadable, match="selector of ReplicaSet web-1 cannot be decoded"):
        read(server)
