"""What one pod shows of its eviction, however odd the rest of it is, and who may not read it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from rescheduler.actions.api_call import ApiResponse, call
from rescheduler.actions.seen_pod import ANY_POD, SeenPod, older, read_pod, was_evicted
from rescheduler.model.errors import ClusterUnavailable, ObjectUnreadable
from rescheduler.planning.limits.guards import MOST_CLOCK_SKEW
from tests.cases import every, numbered
from tests.cluster import pod as whole_pod
from tests.fakes.apiserver import FakeServer, serving

POD = "/api/v1/namespaces/default/pods/web-1"
LIST = "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb-1"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


def web(server: FakeServer, kind: str = "ReplicaSet") -> dict[str, Any]:
    return server.world.add_pod("web-1", "n1", owner=(kind, "rs-1"), app="web")


def seen(server: FakeServer, **refused: int) -> SeenPod | None:
    """What is read; refused: the status instead of the answer to `pod`, `named` or `any`."""
    asked = {POD: "pod", LIST: "named", ANY_POD: "any"}
    real = partial(call, server.client(), "GET", timeout=5.0)

    def get(path: str) -> ApiResponse:
        status = refused.get(asked[path])
        return real(path) if status is None else ApiResponse(status, message=f"{path}: {status}")

    return read_pod(get, "default", "web-1")


def test_what_shows_that_an_eviction_took_effect(server: FakeServer) -> None:
    pod = web(server)
    uid = pod["metadata"]["uid"]
    found = seen(server)
    assert found is not None
    assert found.grace == timedelta(seconds=30)
    assert not was_evicted(found, uid)
    assert was_evicted(found, "another")
    assert was_evicted(None, uid)
    pod["status"]["conditions"].append(
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    )
    assert not was_evicted(seen(server), uid)
    pod["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    assert was_evicted(seen(server), uid), "it is on its way"
    del pod["metadata"]["deletionTimestamp"]
    pod["status"]["conditions"][-1]["reason"] = "EvictionByEvictionAPI"
    assert was_evicted(seen(server), uid)


def test_a_pod_that_was_there_before_shows_nothing(server: FakeServer) -> None:
    """A StatefulSet gives the same name again; only a cache that lags shows the pod before it."""
    web(server, "StatefulSet")
    found = seen(server)
    assert found is not None
    born = found.born
    assert born is not None
    longer = MOST_CLOCK_SKEW + timedelta(seconds=1)
    assert older(found, "another", born + longer)
    assert not older(found, "another", born + MOST_CLOCK_SKEW), "clocks may differ so much"
    assert not older(found, found.uid, born + longer), "it is the one that was meant"
    assert not older(None, "another", born + longer), "there is none"


def test_a_pod_that_was_read_whole_shows_the_same() -> None:
    pod = whole_pod("web-1", "n1")
    pod.spec.terminationGracePeriodSeconds = 7
    metadata = pod.metadata
    expected = SeenPod(metadata.uid, metadata.creationTimestamp, False, timedelta(seconds=7))
    assert SeenPod.from_pod(pod) == expected


def _status(pod: dict[str, Any]) -> None:
    pod["status"] = "nonsense"


def _conditions(pod: dict[str, Any]) -> None:
    pod["status"]["conditions"] = ["nonsense", {"type": ["DisruptionTarget"]}, 7]


def _spec(pod: dict[str, Any]) -> None:
    pod["spec"] = {"nodeName": 7, "terminationGracePeriodSeconds": 10**30}


def _metadata(pod: dict[str, Any]) -> None:
    pod["metadata"] |= {"labels": 7, "ownerReferences": "x", "creationTimestamp": "long ago"}


@every(numbered([_status, _conditions, _spec, _metadata]))
def test_what_is_odd_elsewhere_in_a_pod_hides_nothing(odd: Callable[[Any], None]) -> None:
    with serving() as server:
        pod = web(server)
        uid = pod["metadata"]["uid"]
        odd(pod)
        found = seen(server)
        assert found is not None
        assert found.grace == (timedelta(days=365) if odd is _spec else timedelta(seconds=30))
        assert not was_evicted(found, uid)
        pod["metadata"]["deletionTimestamp"] = {"odd": "too"}
        assert was_evicted(seen(server), uid)
        assert was_evicted(found, "another")


def test_a_pod_without_a_uid_that_can_be_read_is_about_that_pod_alone(server: FakeServer) -> None:
    pod = web(server)
    pod["metadata"]["uid"] = 7
    with pytest.raises(ObjectUnreadable, match="default/web-1 cannot be decoded: it has no UID"):
        seen(server)


@every(numbered([{}, {"metadata": "x"}, {"metadata": {"uid": "u"}, "kind": "Status"}]))
def test_an_answer_that_is_no_pod_comes_from_a_proxy(body: dict[str, Any]) -> None:
    with pytest.raises(ClusterUnavailable, match="is no pod") as told:
        read_pod(lambda _: ApiResponse(200, body), "default", "web-1")
    assert not isinstance(told.value, ObjectUnreadable)


def test_a_pod_that_may_not_be_read_by_itself_is_read_in_the_list(server: FakeServer) -> None:
    pod = web(server)
    server.world.add_pod("web-10", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    found = seen(server, pod=403)
    assert found is not None
    assert found.uid == pod["metadata"]["uid"]
    server.world.swap("default", "web-1")
    assert seen(server, pod=403) is None


def test_a_pod_that_alone_may_not_be_read_is_told_from_one_of_many(server: FakeServer) -> None:
    web(server)
    with pytest.raises(ObjectUnreadable, match="default/web-1 may not be read, though others may"):
        seen(server, pod=403, named=403)


@every(
    numbered(
        [
            {"pod": 403, "named": 403, "any": 403},
            {"pod": 403, "any": 500},
            {"pod": 403, "named": 500},
            {"pod": 403, "named": 0},
            {"pod": 403, "named": 404},
            {"pod": 500},
            {"pod": 429},
            {"pod": 401},
            {"pod": 0},
        ]
    )
)
def test_an_outage_tells_nothing_of_a_pod(refused: dict[str, int]) -> None:
    with serving() as server:
        web(server)
        with pytest.raises(ClusterUnavailable) as told:
            seen(server, **refused)
        assert not isinstance(told.value, ObjectUnreadable)


def test_a_right_that_was_taken_away_is_named(server: FakeServer) -> None:
    with pytest.raises(ClusterUnavailable, match=r"no pod may be read: .*: 403") as told:
        seen(server, pod=403, any=403)
    assert "grant the right to list pods" in told.value.hint


@every(numbered([None, "x", [None, {"metadata": {"name": 7}}]]))
def test_a_list_is_one_or_says_nothing(items: Any) -> None:
    def get(path: str) -> ApiResponse:
        return ApiResponse(403) if path == POD else ApiResponse(200, {"items": items})

    if isinstance(items, list):
        assert read_pod(get, "default", "web-1") is None
        return
    with pytest.raises(ClusterUnavailable, match="no list of pods"):
        read_pod(get, "default", "web-1")
