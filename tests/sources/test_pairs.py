"""Traffic between workloads: what counts, what does not, and what is said about it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.locality.traffic_fields import TrafficFields
from rescheduler.policies.match import Match
from rescheduler.sources.prometheus.catalog import fill
from rescheduler.sources.prometheus.pairs import queries
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from rescheduler.sources.recording import load, save
from tests.cases import every
from tests.cluster import deployment, node, pod, snapshot
from tests.sources.metrics import AT, Stub
from tests.sources.server import Reply, Request, serving

END = {"namespace": "src_ns", "name": "src"}
OTHER = {"namespace": "dst_ns", "name": "dst"}


def wanted(**more: Any) -> ReadingRequest:
    traffic = {"series": "sent_total", "source": END, "destination": OTHER, "window": "5m", **more}
    if "destinationDomain" in traffic:
        del traffic["destination"]
    asked = TrafficFields.model_validate(traffic)
    [request] = Locality(name="l", match=Match(all=True), traffic=asked).requests()
    return request


def talkers() -> Snapshot:
    owners = {name: deployment(name) for name in ("web", "db")}
    pods = [pod(f"{name}-0", "n1", owner=pair[1]) for name, pair in owners.items()]
    controllers = [controller for pair in owners.values() for controller in pair]
    return snapshot([node("n1")], pods, controllers=controllers)


def row(src: str, dst: str, value: Any) -> tuple[dict[str, str], Any]:
    return ({"src_ns": "default", "src": src, "dst_ns": "default", "dst": dst}, value)


def read(
    rows: list[tuple[dict[str, str], Any]],
    request: ReadingRequest | None = None,
    ages: list[float] | None = None,
    **extra: Any,
) -> Reading:
    request = request or wanted()
    stub = Stub()
    stub.extra = extra
    value, fresh = (fill(query, request.window, "") for query in queries(request))
    stub.rows[value] = rows
    dated = [10.0] * len(rows) if ages is None else ages
    stub.rows[fresh] = [(r[0], AT - age) for r, age in zip(rows, dated, strict=False)]
    with serving(stub) as served:
        [reading] = read_readings(Prometheus(served.url), [request], talkers()).entries
    return reading


def test_the_query_is_made_from_the_series_and_its_labels() -> None:
    assert queries(wanted()) == (
        "sum by (src_ns,src,dst_ns,dst) (rate(sent_total[$window]))",
        "max by (src_ns,src,dst_ns,dst) (timestamp(sent_total))",
    )
    assert queries(wanted(query="my_rule"))[0] == "my_rule"


@every(
    [
        ("sent_total", None, "sent_total"),
        ("sent_total{$match}", "my_rule", "my_rule"),
        ("sent_total", "my_rule{$match}", "sent_total"),
        ("sent_total{$match}", "my_rule{$match}", None),
    ]
)
def test_what_would_read_other_clusters_too_is_not_asked(
    series: str, query: str | None, blamed: str | None
) -> None:
    request = wanted(series=series, query=query)
    stub = Stub()
    with serving(stub) as served:
        source = Prometheus(served.url, selector='cluster="eu-1"')
        [reading] = read_readings(source, [request], talkers()).entries
    assert reading.problem is not None
    if blamed is None:
        assert reading.problem.code == "RDG009"
    else:
        assert reading.problem.code == "RDG011"
        assert reading.problem.message.startswith(f"{blamed} has no $match")
        assert 'cluster="eu-1"' in reading.problem.message


def test_rows_become_pairs_with_ages() -> None:
    reading = read([row("web", "db", 5), row("db", "web", 2)], ages=[3.0, 20.0])
    assert reading.pairs == (("default/db", "default/web"), ("default/web", "default/db"))
    assert reading.values.tolist() == [2, 5]
    assert reading.ages.tolist() == pytest.approx([20, 3])
    assert reading.problem is None
    assert reading.coverage == 1


def test_an_end_outside_of_the_cluster_is_noted_and_counts_for_nothing() -> None:
    reading = read([row("web", "db", 5), row("internet", "web", 500)])
    assert reading.pairs == (("default/web", "default/db"),)
    assert "not in the cluster" in reading.notes[0]
    assert reading.problem is None


@every(["NaN", "+Inf", "-1", "1e30", "", "many"])
def test_a_value_that_cannot_be_is_absent(bad: str) -> None:
    reading = read([row("web", "db", 5), row("db", "web", bad)], wanted(minCoverage=0.5))
    assert math.isnan(reading.values[0])
    assert reading.values[1] == 5
    assert reading.problem is None


@pytest.mark.parametrize(
    ("ages", "code"), [([10.0, 900.0], "RDG004"), ([10.0], "RDG004"), ([10.0, -100.0], "RDG004")]
)
def test_stale_ended_and_future_series_leave_too_little(ages: list[float], code: str) -> None:
    reading = read([row("web", "db", 5), row("db", "web", 2)], ages=ages)
    assert reading.problem is not None
    assert reading.problem.code == code
    assert "50% of 2 pairs" in reading.problem.message


def test_pods_of_a_pair_add_up_and_one_that_is_unknown_spoils_it() -> None:
    pods = {"namespace": "src_ns", "name": "src", "kind": "Pod"}
    request = wanted(source=pods, minCoverage=0)
    reading = read([row("web-0", "db", 5), row("nobody", "db", 5)], request)
    assert reading.pairs == (("default/web", "default/db"),)
    assert reading.values.tolist() == [5]


def test_domains_are_taken_as_they_are() -> None:
    request = wanted(destinationDomain="zone")
    reading = read([({"src_ns": "default", "src": "web", "zone": "a"}, 7)], request)
    assert reading.pairs == (("default/web", "a"),)


def between(*rows: tuple[dict[str, str], Any]) -> Reading:
    far = {"series": "rtt", "query": "avg_rtt", "source": "from", "destination": "to"}
    spec: dict[str, Any] = {"match": {"all": True}, "podAffinity": True, "distances": far}
    [request] = Locality(name="l", **spec).requests()
    assert queries(request) == ("avg_rtt", "max by (from,to) (timestamp(rtt))")
    return read(list(rows), request)


def test_distances_lie_between_domains() -> None:
    reading = between(({"from": "a", "to": "b"}, 0.5), ({"from": "a", "to": ""}, 7))
    assert reading.pairs == (("a", "b"),)
    assert reading.values.tolist() == [0.5]
    assert reading.ages.tolist() == pytest.approx([10])
    assert "not in the cluster" in reading.notes[0]
    assert reading.problem is None


def test_distances_do_not_add_up_as_traffic_does() -> None:
    rows = [({"from": "a", "to": "b", "probe": probe}, 0.5) for probe in "xy"]
    reading = between(*rows, ({"from": "b", "to": "a", "probe": "x"}, 0.25))
    assert math.isnan(reading.values[0])
    assert reading.values[1] == 0.25
    assert "RDG005: several rows of one pair" in reading.notes[0]


def test_warnings_mean_partial() -> None:
    reading = read([row("web", "db", 5)], warnings=["a store is down"])
    assert reading.problem is not None
    assert reading.problem.code == "RDG002"


def test_no_series_and_no_answer_are_reported() -> None:
    empty = read([])
    assert empty.problem is not None
    assert empty.problem.code == "RDG009"

    def down(_request: Request) -> Reply:
        return Reply(status=500)

    with serving(down) as served:
        [reading] = read_readings(Prometheus(served.url), [wanted()], talkers()).entries
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"


def test_a_recording_keeps_pairs(tmp_path: Any) -> None:
    reading = read([row("web", "db", 5), row("db", "web", 2)])
    before = talkers()
    file = tmp_path / "cluster.snapshot"
    save(replace(before, readings=type(before.readings)((reading,))), file)
    [kept] = load(file).readings.entries
    assert kept.request == reading.request
    assert kept.pairs == reading.pairs
    np.testing.assert_array_equal(kept.values, reading.values)
