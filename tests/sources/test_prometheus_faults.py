"""Whatever is wrong with a metric source, its readings say so, and no value is made up."""

import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.errors import SettingsError
from rescheduler.sources.prometheus.http.access import Access
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.cases import every
from tests.sources.metrics import AT, Stub, answer, read, vector
from tests.sources.server import Reply, Request, serving
from tests.sources.two_nodes import NAMES, two_nodes


def memory(*values: object) -> Stub:
    rows = [({"instance": name}, value) for name, value in zip(NAMES, values, strict=True)]
    return Stub().series("node.memory", rows)


def test_a_healthy_source() -> None:
    reading = read(memory(0.25, 0.5), "node.memory", two_nodes())
    assert reading.values.tolist() == [0.25, 0.5]
    assert reading.ages.tolist() == [10, 10]
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [32 * 2**30] * 2
    assert (reading.problem, reading.notes, reading.coverage) == (None, (), 1.0)
    assert "[300s]" in reading.query


def test_queries_travel_in_the_body_and_share_one_instant() -> None:
    stub = memory(0.25, 0.5)
    with serving(stub) as served:
        prometheus = Prometheus(served.url + "/prefix/", selector='cluster="a"')
        wanted = [ReadingRequest("node.memory"), ReadingRequest("node.cpu")]
        read_readings(prometheus, wanted, two_nodes())
        prometheus.close()
    first, *rest = served.requests
    assert "time" not in first.query
    assert {request.query["time"] for request in rest} == {repr(AT)}
    assert all(request.method == "POST" for request in served.requests)
    assert {request.path for request in served.requests} == {"/prefix/api/v1/query"}
    assert all('cluster="a"' in request.query["query"] for request in rest)
    assert len({request.query["query"] for request in rest}) == len(rest)


def error(status: int, kind: str, message: str) -> Reply:
    document = {"status": "error", "errorType": kind, "error": message}
    return Reply(json.dumps(document).encode(), status, {"Retry-After": "0"})


@every(
    [
        (Reply(b"<html>Log in</html>"), "not a Prometheus answer: '<html>Log in</html>'"),
        (Reply(b'{"status": "success", "data": '), "not a Prometheus answer"),
        (Reply(b"{}"), "not a Prometheus answer"),
        (Reply(b"[1, 2]"), "not a Prometheus answer"),
        (Reply(b"", 401), "answered 401"),
        (Reply(b"<html>", 502, {"Retry-After": "0"}), "answered 502"),
        (Reply(b"", 302, {"Location": "/login"}), "answered 302: go to /login"),
        (Reply(b"garbage", headers={"Content-Encoding": "gzip"}), "garbles its answers"),
        (Reply(b"x" * 4000, cut=True), "Maybe"),
        (error(200, "execution", "it broke"), "answered 200, execution: it broke"),
        (error(400, "bad_data", "parse error"), "answered 400, bad_data: parse error"),
        (error(422, "execution", "many-to-many"), "answered 422, execution: many-to-many"),
        (error(503, "unavailable", "starting"), "answered 503, unavailable: starting"),
        (answer({"resultType": "scalar", "result": [AT, "1"]}), "'scalar' instead of a vector"),
        (answer({"resultType": "matrix", "result": []}), "'matrix' instead of a vector"),
        (answer(None), "'nothing' instead of a vector"),
        (answer({"resultType": "vector", "result": [{"metric": 1}]}), "garbled vector"),
        (answer({"resultType": "vector", "result": [{"metric": {}, "value": ["", 1]}]}), "garbled"),
    ]
)
def test_an_answer_that_cannot_be_used_is_a_problem(broken: Reply, words: str) -> None:
    stub = memory(0.25, 0.5)
    stub.fail = lambda request: None if request.query["query"] == "vector(1)" else broken
    reading = read(stub, "node.memory", two_nodes())
    assert np.isnan(reading.values).all()
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"
    assert words in reading.problem.message
    assert reading.expected.all()


def test_a_source_that_is_not_there() -> None:
    prometheus = Prometheus("http://127.0.0.1:9")
    wanted = [ReadingRequest("node.memory"), ReadingRequest("pod.cpu"), ReadingRequest("node.what")]
    readings = read_readings(prometheus, wanted, two_nodes())
    codes = {reading.name: reading.problem.code for reading in readings.entries if reading.problem}
    assert codes == {"node.memory": "RDG001", "pod.cpu": "RDG001", "node.what": "RDG008"}


def test_a_source_that_says_nothing_is_asked_once() -> None:
    end, stub = threading.Event(), memory(0.25, 0.5)
    stub.fail = lambda _request: Reply(hang=end)
    with serving(stub) as served:
        prometheus = Prometheus(served.url, timeout=0.2)
        wanted = [ReadingRequest("node.memory"), ReadingRequest("node.cpu")]
        readings = read_readings(prometheus, wanted, two_nodes())
        end.set()
        prometheus.close()
    assert [reading.problem and reading.problem.code for reading in readings.entries] == [
        "RDG001"
    ] * 2
    assert all("did not answer in time" in str(reading.problem) for reading in readings.entries)
    assert len(served.requests) == 1


def test_a_cycle_has_a_deadline() -> None:
    stub = memory(0.25, 0.5)
    reading = read(stub, "node.memory", two_nodes(), deadline=0.0)
    assert reading.problem is not None
    assert "the time for this cycle's queries is up" in reading.problem.message


@pytest.mark.parametrize("status", [429, 502, 503])
def test_asked_to_try_again_it_does(status: int) -> None:
    stub = memory(0.25, 0.5)
    refused: list[Request] = []

    def fail(request: Request) -> Reply | None:
        if len(refused) < 2:
            refused.append(request)
            return error(status, "unavailable", "wait")
        return None

    stub.fail = fail
    assert read(stub, "node.memory", two_nodes()).problem is None


@every([(503, "timeout"), (422, "execution"), (400, "bad_data"), (500, "internal")])
def test_what_would_fail_again_is_not_tried_again(status: int, kind: str) -> None:
    stub = memory(0.25, 0.5)
    stub.fail = lambda _request: error(status, kind, "no")
    with serving(stub) as served:
        prometheus = Prometheus(served.url)
        read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
        prometheus.close()
    assert len(served.requests) == 1


def test_a_source_that_knows_no_post_is_asked_by_get() -> None:
    stub = memory(0.25, 0.5)
    stub.fail = lambda request: Reply(b"", 405) if request.method == "POST" else None
    with serving(stub) as served:
        prometheus = Prometheus(served.url)
        readings = read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
        prometheus.close()
    assert readings.entries[0].problem is None
    assert [request.method for request in served.requests].count("POST") == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"warnings": ["store 7 is down"]}, "store 7 is down"),
        ({"isPartial": True}, "flagged as partial"),
    ],
)
def test_a_partial_answer_keeps_its_values_and_has_a_problem(
    flags: dict[str, object], words: str
) -> None:
    stub = memory(0.25, 0.5)
    stub.extra = flags
    reading = read(stub, "node.memory", two_nodes())
    assert reading.values.tolist() == [0.25, 0.5]
    assert reading.problem is not None
    assert reading.problem.code == "RDG002"
    assert words in reading.problem.message


@pytest.mark.parametrize(
    "said",
    [
        {"infos": ["PromQL info: metric might not be a counter"]},
        {"warnings": ['PromQL info: metric might not be a counter: "node_time_seconds" (1:6)']},
    ],
)
def test_an_info_is_harmless(said: dict[str, object]) -> None:
    """Thanos puts the infos of its engine among the warnings."""
    stub = memory(0.25, 0.5)
    stub.extra = said
    assert read(stub, "node.memory", two_nodes()).problem is None


def test_an_info_hides_no_warning_beside_it() -> None:
    stub = memory(0.25, 0.5)
    stub.extra = {"warnings": ["PromQL info: odd", "PromQL warning: odder", "store 7 is down"]}
    reading = read(stub, "node.memory", two_nodes())
    assert reading.problem is not None
    assert reading.problem.code == "RDG002"
    assert reading.problem.message == "the source warns: PromQL warning: odder; store 7 is down"


def test_no_answer_may_come_from_a_cache_of_the_source() -> None:
    """VictoriaMetrics leaves out the newest half minute unless it is told so."""
    stub = memory(0.25, 0.5)
    with serving(stub) as served:
        prometheus = Prometheus(served.url)
        read_readings(prometheus, [ReadingRequest("node.memory", span=60.0)], two_nodes())
        prometheus.close()
    assert {request.path[-6:] for request in served.requests} == {"/query", "_range"}
    assert {request.query.get("nocache") for request in served.requests} == {"1"}


def test_what_is_not_a_prometheus_is_reported_by_its_first_answer() -> None:
    stub = memory(0.25, 0.5)
    stub.fail = lambda _request: vector([])
    reading = read(stub, "node.memory", two_nodes())
    assert reading.problem is not None
    assert "vector(1) is not 1 there" in reading.problem.message


def test_a_token_is_read_again_for_each_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    stub = memory(0.25, 0.5)
    with serving(stub) as served:
        prometheus = Prometheus(served.url, access=Access(token_file=token))
        read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
        token.write_text("second")
        read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
        token.unlink()
        readings = read_readings(prometheus, [ReadingRequest("node.memory")], two_nodes())
        prometheus.close()
    sent = [request.headers["authorization"] for request in served.requests]
    count = len(sent) // 2
    assert sent == ["Bearer first"] * count + ["Bearer second"] * count
    assert readings.entries[0].problem is not None
    assert readings.entries[0].problem.code == "RDG001"


@every(
    [
        ("http://user:secret@host:9090", "holds credentials"),
        ("ftp://host", "is not an http or https URL"),
        ("host:9090", "is not an http or https URL"),
        ("http://", "is not an http or https URL"),
        ("http://host:port", "is not a URL"),
        ("http://host/?query=up", "has a query or a fragment"),
    ]
)
def test_an_address_that_cannot_be_used(url: str, words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)) as caught:
        Prometheus(url)
    assert "secret" not in str(caught.value)


def test_other_settings_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="in the clear"):
        Prometheus("http://prometheus:9090", access=Access(token_file=tmp_path / "token"))
    with pytest.raises(SettingsError, match="does not exist"):
        Access(ca_file=tmp_path / "ca")
    with pytest.raises(SettingsError, match="is not a list of label matchers"):
        Prometheus("https://prometheus", selector='a="b"} or up{')
