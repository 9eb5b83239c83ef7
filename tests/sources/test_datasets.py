"""A catalog of datasets: read, kept while it is down, and refused when it is odd."""

import json
import threading
from typing import Any

import pytest

from rescheduler.model.readings import Reading
from rescheduler.policies.locality.policy import Locality
from rescheduler.sources.datasets import Catalogs
from tests.cluster import snapshot
from tests.sources.server import Reply, Request, serving

GOOD = {"datasets": {"pile": {"zone": ["a", "b"]}, "images": {"host": ["n1"]}}}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def read(catalogs: Catalogs, url: str, **more: Any) -> Reading:
    data = {"catalog": url, **more}
    [request] = Locality(name="l", match={"all": True}, datasets=data).requests()
    [reading] = catalogs.read([request], snapshot([], []))
    return reading


def answering(body: Any, **more: Any) -> Any:
    return lambda _request: Reply(body=json.dumps(body).encode(), **more)


def test_where_data_is() -> None:
    with serving(answering(GOOD)) as served:
        reading = read(Catalogs(), served.url)
    assert reading.problem is None
    assert reading.pairs == (("images", "host=n1"), ("pile", "zone=a"), ("pile", "zone=b"))
    assert served.requests[0].method == "GET"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500),
        Reply(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        Reply(body=b"not json"),
        Reply(body=b"[]"),
        Reply(body=b'{"datasets": {"pile": "a"}}'),
        Reply(body=b"{}"),
    ],
)
def test_an_odd_answer_is_a_problem_and_nothing_else(reply: Reply) -> None:
    with serving(lambda _request: reply) as served:
        reading = read(Catalogs(), served.url)
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"
    assert reading.pairs == ()


def test_a_catalog_that_hangs_is_given_up() -> None:
    hanging = threading.Event()
    with serving(lambda _request: Reply(hang=hanging)) as served:
        reading = read(Catalogs(), served.url, timeout="0.1s")
        hanging.set()
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"


def test_the_last_answer_counts_for_a_while() -> None:
    clock = Clock()
    catalogs = Catalogs(clock)
    down = False

    def answer(request: Request) -> Reply:
        made: Reply = Reply(status=503) if down else answering(GOOD)(request)
        return made

    with serving(answer) as served:
        read(catalogs, served.url)
        down = True
        clock.now += 500
        kept = read(catalogs, served.url)
        clock.now += 200
        late = read(catalogs, served.url)
    assert kept.problem is None
    assert len(kept.pairs) == 3
    assert kept.age == pytest.approx(500)
    assert "is down" in kept.notes[0]
    assert late.problem is not None
