"""A catalog of datasets: read, kept while it is down, and refused when it is odd."""

import json
import threading
from typing import Any

import pytest

from rescheduler.model.cluster.readings import Reading
from rescheduler.policies.locality.policy import Datasets, Locality
from rescheduler.policies.match import Match
from rescheduler.sources.datasets import Catalogs
from tests.cluster import snapshot
from tests.sources.server import Reply, Request, serving

GOOD = {"datasets": {"pile": {"zone": ["a", "b"]}, "images": {"host": ["n1"]}}}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def at(url: str) -> Catalogs:
    return Catalogs({"lake": url})


def read(catalogs: Catalogs, name: str = "lake", **more: Any) -> Reading:
    data = Datasets.model_validate({"catalog": name, **more})
    [request] = Locality(name="l", match=Match(all=True), datasets=data).requests()
    [reading] = catalogs.read([request], snapshot([], []))
    return reading


def answering(body: Any, **more: Any) -> Any:
    return lambda _request: Reply(body=json.dumps(body).encode(), **more)


def test_where_data_is() -> None:
    with serving(answering(GOOD)) as served:
        reading = read(at(served.url))
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
        reading = read(at(served.url))
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"
    assert reading.pairs == ()


def test_a_catalog_that_hangs_is_given_up() -> None:
    hanging = threading.Event()
    with serving(lambda _request: Reply(hang=hanging)) as served:
        reading = read(at(served.url), timeout="0.1s")
        hanging.set()
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"


def test_the_last_answer_counts_for_a_while() -> None:
    clock = Clock()
    down = False

    def answer(request: Request) -> Reply:
        made: Reply = Reply(status=503) if down else answering(GOOD)(request)
        return made

    with serving(answer) as served:
        catalogs = Catalogs({"lake": served.url}, clock)
        read(catalogs)
        down = True
        clock.now += 500
        kept = read(catalogs)
        clock.now += 200
        late = read(catalogs)
    assert kept.problem is None
    assert len(kept.pairs) == 3
    assert kept.age == pytest.approx(500)
    assert "is down" in kept.notes[0]
    assert late.problem is not None


def test_a_policy_cannot_choose_the_address() -> None:
    with pytest.raises(ValueError, match="catalog"):
        Locality.model_validate(
            {
                "name": "l",
                "match": {"all": True},
                "datasets": {"catalog": "http://169.254.169.254/"},
            }
        )
    reading = read(Catalogs({"other": "http://127.0.0.1:1"}))
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"
    assert "--dataset-catalogs" in reading.problem.message


def test_the_address_of_a_catalog_is_shown_nowhere() -> None:
    url = "http://127.0.0.1:1/secret-path"
    reading = read(at(url))
    assert reading.problem is not None
    assert "secret-path" not in repr(reading)
    assert "catalog lake" in reading.problem.message
