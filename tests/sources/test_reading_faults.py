"""Each fault of a server, on each kind of read: an error that says so, soon, and nothing made up.

The reads: a whole cluster, one object, one object of our own state, and a query.
"""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rescheduler.actions.api_call import call
from rescheduler.model.errors import ClusterUnavailable, MetricsUnavailable
from rescheduler.sources.kubernetes import transport
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster, read_pods
from rescheduler.sources.prometheus.http import http_api
from rescheduler.sources.prometheus.http.http_api import Prometheus
from tests.sources.connected import NODES, PODS, connected, kubeconfig
from tests.sources.objects import Api, node, pod, refusal, reply
from tests.sources.server import Reply, Request, serving

TIMEOUT = 0.4
SOON = 4.0
"""Seconds; retries included."""
_NEVER = threading.Event()
BOMB = gzip.compress(bytes(20 * 2**20))
"""More than any answer may have here, which is 16 MiB."""
LIST = json.dumps({"metadata": {}, "items": []}).encode()


def _slow(body: bytes = LIST) -> Reply:
    return Reply(body * 50, drip=0.02)


FAULTS: dict[str, Reply] = {
    "hang": Reply(hang=_NEVER),
    "slow drip": _slow(),
    "truncated JSON": Reply(b'{"kind": "PodList", "items": [{"metadata"'),
    "cut off": Reply(LIST * 100, cut=True),
    "empty 200": Reply(b""),
    "an empty object": Reply(b"{}", headers={"Content-Type": "application/json"}),
    "401": refusal(401, "Unauthorized"),
    "403": refusal(403, "no"),
    "410": refusal(410, "expired"),
    "429, wait for a day": refusal(429, "slow down", **{"Retry-After": "86400"}),
    "429, wait for nan": refusal(429, "slow down", **{"Retry-After": "nan"}),
    "429, wait for a date": refusal(
        429, "slow", **{"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}
    ),
    "503": refusal(503, "unavailable", **{"Retry-After": "0"}),
    "redirect": Reply(b"", 302, {"Location": "http://169.254.169.254/"}),
    "a page of HTML": Reply(b"<html>Log in</html>", headers={"Content-Type": "text/html"}),
    "gzip bomb": Reply(BOMB, headers={"Content-Encoding": "gzip"}),
    "garbled gzip": Reply(b"\x1f\x8bgarbage", headers={"Content-Encoding": "gzip"}),
    "nested without end": Reply(b'{"items": ' + b"[" * 100_000),
    "a date that overflows": refusal(503, "no", Date="Fri, 31 Dec 9999 23:59:59 -2359"),
}


def _snapshot(folder: Path, url: str) -> str:
    connection = connect(kubeconfig(folder, url), None)
    connection.read_timeout, connection.attempts = TIMEOUT, 2
    with pytest.raises(ClusterUnavailable) as caught:
        read_cluster(connection)
    return str(caught.value)


def _namespace(folder: Path, url: str) -> str:
    connection = connect(kubeconfig(folder, url), None)
    connection.read_timeout, connection.attempts = TIMEOUT, 2
    with pytest.raises(ClusterUnavailable) as caught:
        read_pods(connection, "team")
    return str(caught.value)


def _own_state(folder: Path, url: str) -> str:
    answer = call(connect(kubeconfig(folder, url), None).api, "GET", "/o", timeout=TIMEOUT)
    assert not answer.ok
    return answer.message


def _query(_folder: Path, url: str) -> str:
    prometheus = Prometheus(url, timeout=TIMEOUT)
    with pytest.raises(MetricsUnavailable) as caught:
        prometheus.query("up", None, time.monotonic() + 2 * TIMEOUT)
    return str(caught.value)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Less to wait for, and less than the bomb to inflate."""
    monkeypatch.setattr(transport, "MAX_WAIT", 0.1)
    monkeypatch.setattr(http_api, "MAX_WAIT", 0.1)
    monkeypatch.setattr(http_api, "MAX_BODY", 2**24)
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.MAX_PAGE", 2**24)
    _NEVER.clear()
    yield
    _NEVER.set()


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (read, fault)
        for read in (_snapshot, _namespace, _own_state, _query)
        for fault in FAULTS
        # What an object of our own must hold is asked by those who own it, not by the transport.
        if (read, fault) != (_own_state, "an empty object")
    ],
)
def test_a_fault_is_an_error_and_soon(
    read: Callable[[Path, str], str], fault: str, tmp_path: Path
) -> None:
    with serving(lambda _request: FAULTS[fault]) as served:
        began = time.monotonic()
        message = read(tmp_path, served.url)
        assert time.monotonic() - began < SOON
        _NEVER.set()
    assert message
    assert all(request.path != "/" for request in served.requests), "a redirect was followed"


@pytest.mark.parametrize("read", [_snapshot, _namespace, _own_state, _query])
def test_nobody_there_is_an_error(read: Callable[[Path, str], str], tmp_path: Path) -> None:
    assert "refused" in read(tmp_path, "http://127.0.0.1:9")


def test_the_answer_that_is_too_large_says_what_and_how_large(tmp_path: Path) -> None:
    bomb = FAULTS["gzip bomb"]
    with serving(lambda _request: bomb) as served:
        assert "/api/v1/pods cannot be read: the answer is larger than 16 MiB" in _snapshot(
            tmp_path, served.url
        )
        assert "no answer (TooLarge: the answer is larger than 8 MiB)" in _own_state(
            tmp_path, served.url
        )
        assert "the answer is larger than 16 MiB" in _query(tmp_path, served.url)


@contextmanager
def watched(
    api: Api, folder: Path, change: Callable[[Request], Reply | None]
) -> Iterator[transport.Connection]:
    api.fail = change
    with connected(api, folder) as (connection, _):
        yield connection


def test_pages_of_huge_objects_are_read_in_small_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.MAX_PAGE", 200_000)
    pods = [pod(f"web-{n}", "n1") for n in range(500)]
    api = Api({PODS: pods, NODES: [node("n1")]})

    def small_pages(request: Request) -> Reply | None:
        api.page = int(request.query.get("limit", 500))
        return None

    with watched(api, tmp_path, small_pages) as connection:
        assert len(read_cluster(connection).pods) == 500


@pytest.mark.parametrize(
    ("path", "twice", "words"),
    [
        (NODES, node("n1"), "node n1 is listed 2 times"),
        (PODS, pod("web-0", "n1"), "pod with UID uid-web-0 is listed 2 times"),
    ],
)
def test_what_is_listed_twice_is_no_cluster(
    path: str, twice: dict[str, object], words: str, tmp_path: Path
) -> None:
    api = Api({PODS: [pod("web-0", "n1")], NODES: [node("n1")]})
    api.lists[path].append(twice)
    problem = pytest.raises(ClusterUnavailable, match=words)
    with connected(api, tmp_path) as (connection, _), problem:
        read_cluster(connection)


def test_a_page_without_end_is_left(tmp_path: Path) -> None:
    page = {"metadata": {"continue": "again"}, "items": []}
    problem = pytest.raises(ClusterUnavailable, match="the same page again and again")
    with watched(Api({}), tmp_path, lambda _request: reply(page)) as connection, problem:
        read_cluster(connection)
