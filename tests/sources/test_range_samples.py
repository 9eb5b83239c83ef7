"""The past of a reading, as a real range query's answer has it: absent is never zero."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading, ReadingRequest, instants, seconds_held
from rescheduler.sources.prometheus import range_samples
from rescheduler.sources.prometheus.catalog import fill
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests.cases import every
from tests.cluster import NOW, node, pod, snapshot
from tests.sources.metrics import WINDOW, Rows, answer, sources_of, vector
from tests.sources.server import Reply, Request, Served, serving

AT = NOW.timestamp()
CPU = sources_of("node.cpu")
N1 = {"instance": "n1"}

Then = Callable[[str, float], Rows]
"""The rows of a query at a time."""


def history(series: dict[str, Callable[[float], float | None]], age: float = 10.0) -> Then:
    """CPU of each node as a function of the seconds before now; None where there is no sample."""

    def rows(query: str, at: float) -> Rows:
        values = {name: tell(AT - at) for name, tell in series.items()}
        found = [({"instance": n}, v) for n, v in values.items() if v is not None]
        if query == fill(CPU[0].value, WINDOW, ""):
            return found
        if query == fill(CPU[0].dated, WINDOW, ""):
            return [(labels, at - age) for labels, _ in found]
        return []

    return rows


def matrix(then: Then, query: dict[str, str]) -> Reply:
    """As Prometheus answers a range query: one series of all evaluations that had a value."""
    start, end, step = (float(query[name]) for name in ("start", "end", "step"))
    found: dict[str, tuple[dict[str, str], list[Any]]] = {}
    at = start
    while at <= end + 1e-6:
        for labels, value in then(query["query"], at):
            row = found.setdefault(str(sorted(labels.items())), (labels, []))
            row[1].append([round(at, 3), str(value)])
        at += step
    result = [{"metric": labels, "values": values} for labels, values in found.values()]
    return answer({"resultType": "matrix", "result": result})


def read(
    then: Then,
    span: float = 600.0,
    fail: Callable[[Request], Reply | None] = lambda _: None,
    names: tuple[str, ...] = ("n1",),
) -> tuple[Reading, Served]:
    def reply(request: Request) -> Reply:
        failed = fail(request)
        if failed is not None:
            return failed
        query = request.query
        if query["query"].endswith("vector(1)"):
            return vector([({}, 1)])
        if request.path.endswith("/query_range"):
            return matrix(then, query)
        return vector(then(query["query"], AT))

    with serving(reply) as served:
        prometheus = Prometheus(served.url)
        try:
            wanted = ReadingRequest("node.cpu", WINDOW, span=span)
            cluster = snapshot([node(name) for name in names], [])
            return read_readings(prometheus, [wanted], cluster).entries[0], served
        finally:
            prometheus.close()


def samples_of(reading: Reading) -> list[list[float]]:
    assert reading.range_samples is not None
    return [[round(float(sample), 3) for sample in row] for row in reading.range_samples.T]


def test_a_range_of_minutes_is_one_query_for_each_template() -> None:
    reading, served = read(history({"n1": lambda ago: 0.9 - ago / 1000}), span=180.0)
    assert samples_of(reading) == [[0.72, 0.78, 0.84, 0.9]]
    assert reading.values.tolist() == [0.9]
    asked = [request.query for request in served.requests if request.path.endswith("/query_range")]
    assert {query["query"] for query in asked} == {
        fill(CPU[0].value, WINDOW, ""),
        fill(CPU[0].dated, WINDOW, ""),
    }
    assert len(asked) == 2
    assert {(float(e["start"]), float(e["end"]), float(e["step"])) for e in asked} == {
        (AT - 180, AT - 60, 60.0)
    }


def test_nothing_is_asked_where_no_policy_waits() -> None:
    reading, served = read(history({"n1": lambda _: 0.9}), span=0.0)
    assert reading.range_samples is None
    assert not [request for request in served.requests if request.path.endswith("/query_range")]


def test_a_series_that_is_younger_than_the_span_is_absent_before() -> None:
    reading, _ = read(history({"n1": lambda ago: 0.9 if ago <= 240 else None}), span=600.0)
    (row,) = samples_of(reading)
    assert np.isnan(row[:6]).all()
    assert row[6:] == [0.9] * 5
    assert seconds_held(np.array([row]).T > 0.8, 600.0).tolist() == [240.0]


def test_a_gap_in_the_middle_is_absent_and_not_passed_over() -> None:
    """`min_over_time` of a subquery would answer 0.9 here."""
    gap = history({"n1": lambda ago: None if ago == 300 else 0.9})
    reading, _ = read(gap, span=600.0)
    (row,) = samples_of(reading)
    assert [index for index, value in enumerate(row) if np.isnan(value)] == [5]
    assert seconds_held(np.array([row]).T > 0.8, 600.0).tolist() == [240.0]


def test_a_value_that_was_stale_then_is_absent_then() -> None:
    """A rate goes on answering for its window after the exporter died."""

    def then(query: str, at: float) -> Rows:
        age = 400.0 if AT - at == 120 else 10.0
        return history({"n1": lambda _: 0.9}, age)(query, at)

    reading, _ = read(then, span=180.0)
    (row,) = samples_of(reading)
    assert np.isnan(row[1])
    assert [row[0], *row[2:]] == [0.9] * 3


def test_each_node_has_its_own_past() -> None:
    then = history({"n1": lambda _: 0.9, "n2": lambda ago: 0.9 if ago < 100 else 0.1})
    reading, _ = read(then, span=180.0, names=("n1", "n2"))
    assert samples_of(reading) == [[0.9] * 4, [0.1, 0.1, 0.9, 0.9]]


def test_pods_have_a_past_too() -> None:
    """A pod that shares its node with one that used nothing; then both as now."""
    load = sources_of("pod.gpu")[0]
    gpu = {"nvidia.com/gpu": "1"}

    def rows(query: str, at: float) -> Rows:
        ago = AT - at
        found = [
            ({"Hostname": "n1", "UUID": u, "exported_namespace": "default", "exported_pod": p}, v)
            for u, p, v in (("A", "a", 0.0), ("B", "b", 1.0 if 200 < ago < 400 else 0.02))
        ]
        answers: dict[str, Rows] = {
            fill(load.value, WINDOW, ""): [(labels, value * 10) for labels, value in found],
            fill(load.count or "", WINDOW, ""): [(labels, 10) for labels, _ in found],
            fill(load.dated, WINDOW, ""): [(labels, at - 5) for labels, _ in found],
        }
        return answers.get(query, [])

    def reply(request: Request) -> Reply:
        if request.query["query"].endswith("vector(1)"):
            return vector([({}, 1)])
        if request.path.endswith("/query_range"):
            return matrix(rows, request.query)
        return vector(rows(request.query["query"], AT))

    pods = [pod("a", "n1", requests=gpu), pod("b", "n1", requests=gpu)]
    before = snapshot([node("n1", allocatable={"nvidia.com/gpu": "2"})], pods)
    with serving(reply) as served:
        prometheus = Prometheus(served.url)
        try:
            wanted = ReadingRequest("pod.gpu", WINDOW, span=600.0)
            reading = read_readings(prometheus, [wanted], before).entries[0]
        finally:
            prometheus.close()
    assert reading.range_samples is not None
    assert reading.range_samples[:, 0].tolist() == [0.0] * 11
    assert reading.range_samples[:, 1].tolist() == pytest.approx(
        [0.02] * 4 + [1.0] * 3 + [0.02] * 4
    )


def refuse_range(status: int) -> Callable[[Request], Reply | None]:
    return lambda request: Reply(b"{}", status) if request.path.endswith("range") else None


def test_without_a_past_the_reading_stands_and_says_so() -> None:
    reading, _ = read(history({"n1": lambda _: 0.9}), fail=refuse_range(404))
    assert reading.problem is None
    assert reading.values.tolist() == [0.9]
    assert reading.range_samples is None
    assert "what it was in the last 600 s is not known" in reading.notes[-1]


def test_a_past_that_is_partial_is_not_known() -> None:
    def warn(request: Request) -> Reply | None:
        if not request.path.endswith("range"):
            return None
        return answer({"resultType": "matrix", "result": []}, warnings=["a store is down"])

    reading, _ = read(history({"n1": lambda _: 0.9}), fail=warn)
    assert reading.range_samples is None
    assert "a store is down" in reading.notes[-1]


def aligned(request: Request) -> dict[str, str]:
    """The query as Thanos' query frontend passes it on: at multiples of the step."""
    step = float(request.query["step"])
    times = {parameter: float(request.query[parameter]) for parameter in ("start", "end")}
    return {**request.query, **{name: str(at - at % step) for name, at in times.items()}}


@pytest.mark.parametrize("span", [20.0, 180.0, 7200.0])
def test_a_source_that_moves_instants_to_multiples_of_the_step_has_a_past(span: float) -> None:
    """As the query frontends of Thanos and others do by default, to make use of a cache."""
    then = history({"n1": lambda ago: ago / 1e4})

    def align(request: Request) -> Reply | None:
        if not request.path.endswith("range"):
            return None
        return matrix(history({"n1": lambda _: 0.9}), aligned(request))

    reading, served = read(then, span=span, fail=align)
    assert samples_of(reading)[0][:-1] == [0.9] * (len(instants(span)) - 1)
    plain, direct = read(then, span=span)
    past = [
        request.query for request in (*served.requests, *direct.requests) if "step" in request.query
    ]
    step = instants(span)[-2]
    assert {float(query["start"]) % step for query in past} == {0.0}
    # None is nearer than it counts for, and none further away than one step more.
    assert plain.range_samples is not None
    seconds = plain.range_samples[:, 0] * 1e4 - instants(span)
    assert (seconds[:-1] > -1e-6).all()
    assert (seconds[:-1] < step).all()


def test_evaluations_at_other_times_than_were_asked_for_are_no_past() -> None:
    def shift(request: Request) -> Reply | None:
        if not request.path.endswith("range"):
            return None
        times = {
            parameter: str(float(request.query[parameter]) - 13) for parameter in ("start", "end")
        }
        return matrix(history({"n1": lambda _: 0.9}), {**request.query, **times})

    reading, _ = read(history({"n1": lambda _: 0.9}), span=180.0, fail=shift)
    assert reading.values.tolist() == [0.9]
    assert reading.range_samples is None
    assert "it evaluates at other times than requested" in reading.notes[-1]


def test_two_values_of_one_series_for_one_instant_are_no_past() -> None:
    def doubled(request: Request) -> Reply | None:
        if not request.path.endswith("range"):
            return None
        reply = matrix(history({"n1": lambda _: 0.9}), request.query)
        answer = json.loads(reply.body)
        for series in answer["data"]["result"]:
            series["values"].append([series["values"][-1][0] + 0.001, "0.1"])
        return Reply(json.dumps(answer).encode())

    reading, _ = read(history({"n1": lambda _: 0.9}), span=180.0, fail=doubled)
    assert reading.values.tolist() == [0.9]
    assert reading.range_samples is None


def test_evaluations_that_are_missing_are_said() -> None:
    then = history({"n1": lambda ago: 0.9 if ago < 170 else None})
    reading, _ = read(then, span=600.0)
    assert reading.problem is None
    assert "at 8 of 10 instants of the last 600 s nothing was measured" in reading.notes[-1]
    whole, _ = read(history({"n1": lambda _: 0.9}), span=600.0)
    assert whole.notes == ()


def test_many_rows_are_asked_for_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = read(history({"n1": lambda ago: ago / 1000}), span=600.0)
    monkeypatch.setattr(range_samples, "MOST_ROWS", 3)
    pieces, served = read(history({"n1": lambda ago: ago / 1000}), span=600.0)
    assert samples_of(pieces) == samples_of(whole)
    asked = [request for request in served.requests if request.path.endswith("/query_range")]
    assert len(asked) == 8, "two templates for each of 3, 3, 3 and 1 instants"


@every([(20, 2, 20), (60, 2, 60), (90, 2, 90), (600, 11, 60), (7200, 30, 249), (86400, 30, 2980)])
def test_instants_cover_the_span_with_few_evaluations(span: float, count: int, step: float) -> None:
    found = instants(span)
    assert len(found) == count
    assert found[-1] == 0
    assert span <= found[0] <= span + count
    assert set(np.diff(found).tolist()) == {-step}


def test_the_past_is_asked_for_after_all_readings() -> None:
    """Where the time does not do for both, the policies still have their say."""
    then = history({"n1": lambda _: 0.9})

    def reply(request: Request) -> Reply:
        query = request.query
        if query["query"].endswith("vector(1)"):
            return vector([({}, 1)])
        ranged = request.path.endswith("/query_range")
        return matrix(then, query) if ranged else vector(then(query["query"], AT))

    with serving(reply) as served:
        prometheus = Prometheus(served.url)
        wanted = [ReadingRequest(name, WINDOW, span=60.0) for name in ("node.cpu", "node.memory")]
        read_readings(prometheus, wanted, snapshot([node("n1")], []))
        prometheus.close()
        ranged = [request.path.endswith("/query_range") for request in served.requests]
    assert True in ranged
    assert ranged == sorted(ranged)
