"""Readings that operators define: guarded like the built-in ones."""

import math
from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.own_readings.readings_document import preset_of
from rescheduler.sources.prometheus.catalog import fill
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.cases import every
from tests.sources.metrics import AT, WINDOW, Rows, Stub
from tests.sources.server import serving

QUEUE = "avg_over_time(queue{$match}[$window])"
CAPACITY = "max by (node) (queue_limit{$match})"
AMD = {"amd.com/gpu": "2"}


def own(**spec: Any) -> OwnReading:
    return OwnReading.model_validate({"value": QUEUE, "unit": "count", **spec})


def put(stub: Stub, reading: OwnReading, rows: Rows, ages: Rows | None = None) -> Stub:
    """What a definition's queries answer; all samples are 10 s old unless `ages` says otherwise."""
    rows = list(rows)
    stub.rows[fill(reading.value, WINDOW, "")] = rows
    dated = [(labels, 10.0) for labels, _ in rows] if ages is None else ages
    stub.rows[fill(reading.dated, WINDOW, "")] = [(labels, AT - age) for labels, age in dated]
    return stub


def read(stub: Stub, name: str, owns: tuple[OwnReading, ...], before: Snapshot) -> Reading:
    request = ReadingRequest(name, WINDOW, min_coverage=0.5, own=owns)
    with serving(stub) as served:
        prometheus = Prometheus(served.url)
        try:
            return read_readings(prometheus, [request], before).entries[0]
        finally:
            prometheus.close()


def of_nodes(reading: OwnReading, rows: Rows, ages: Rows | None = None, count: int = 2) -> Reading:
    nodes = [cluster.node(f"n{n}", allocatable=AMD) for n in range(1, count + 1)]
    return read(
        put(Stub(), reading, rows, ages), "node.queue", (reading,), cluster.snapshot(nodes, [])
    )


def at(node: str, **more: str) -> dict[str, str]:
    return {"node": node, **more}


def notes(reading: Reading) -> str:
    return "; ".join(reading.notes)


def test_a_value_without_capacity_is_as_it_is_reported() -> None:
    reading = of_nodes(own(), [(at("n1"), 7), (at("n2"), 0)])
    assert (reading.values.tolist(), reading.unit) == ([7, 0], "count")
    assert reading.ages.tolist() == [10, 10]
    assert reading.capacity is None
    assert reading.problem is None
    assert reading.query == "avg_over_time(queue{}[300s])"


def test_a_declared_capacity_makes_it_a_share_that_may_pass_it() -> None:
    reading = of_nodes(own(capacity={"fixed": 100}), [(at("n1"), 250), (at("n2"), 10)])
    assert (reading.values.tolist(), reading.unit) == ([2.5, 0.1], "ratio")
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [100, 100]


def test_a_measured_capacity_may_not_be_passed() -> None:
    own_reading = own(capacity={"query": CAPACITY})
    stub = put(Stub(), own_reading, [(at("n1"), 51), (at("n2"), 300), (at("n3"), 1)])
    stub.rows[fill(CAPACITY, WINDOW, "")] = [(at("n1"), 50), (at("n2"), 50)]
    nodes = [cluster.node(f"n{n}") for n in (1, 2, 3)]
    reading = read(stub, "node.queue", (own_reading,), cluster.snapshot(nodes, []))
    assert reading.values[0] == 1.0  # rounding
    assert np.isnan(reading.values[1:]).all()
    assert "RDG006: more than the capacity (1, such as 600% of n2)" in notes(reading)
    assert "RDG003: nodes without a capacity (1, such as n3)" in notes(reading)


def test_more_tasks_may_wait_than_a_node_has_cpus() -> None:
    load = preset_of("node-exporter").readings["node.load"]
    rows: Rows = [({"instance": "n1:9100"}, 3.76), ({"instance": "n2:9100"}, 0.4)]
    nodes = [cluster.node("n1"), cluster.node("n2")]
    reading = read(put(Stub(), load, rows), "node.load", (load,), cluster.snapshot(nodes, []))
    assert (reading.values.tolist(), reading.problem) == ([3.76, 0.4], None)


@every(["NaN", "+Inf", -1, 1e13])
def test_a_value_that_cannot_be_is_absent_and_never_zero(bad: object) -> None:
    reading = of_nodes(own(), [(at("n1"), bad), (at("n2"), 1)])
    assert math.isnan(reading.values[0])
    assert "RDG006" in notes(reading)


def test_its_age_is_that_of_its_oldest_series() -> None:
    dated = [(at("n1", shard="0"), 20), (at("n1", shard="1"), 500), (at("n2"), 30)]
    reading = of_nodes(own(), [(at("n1"), 1), (at("n2"), 1)], dated)
    assert math.isnan(reading.values[0])
    assert reading.ages[1] == 30
    assert "RDG004" in notes(reading)


def test_without_a_present_sample_there_is_no_value() -> None:
    reading = of_nodes(own(), [(at("n1"), 1), (at("n2"), 1)], [(at("n2"), 5)])
    assert math.isnan(reading.values[0])
    assert "RDG004: series without a present sample" in notes(reading)


def test_two_series_of_one_node_must_agree() -> None:
    reading = of_nodes(own(), [(at("n1", a="1"), 1), (at("n1", a="2"), 9), (at("n2"), 1)])
    assert math.isnan(reading.values[0])
    assert "RDG005" in notes(reading)


def test_series_of_two_clusters_are_refused() -> None:
    rows = [(at("n1", cluster="a"), 1), (at("n2", cluster="b"), 1)]
    reading = of_nodes(own(), rows)
    assert reading.problem is not None
    assert reading.problem.code == "RDG020"


def test_its_labels_may_have_any_names() -> None:
    own_reading = own(labels={"node": "host", "link": "port"})
    rows = [
        ({"host": "n1", "node": "n2", "port": "1"}, 3),
        ({"host": "n1", "node": "n2", "port": "2"}, 5),
        ({"host": "n2"}, 5),
        ({"host": "n9", "port": "1"}, 5),
    ]
    reading = of_nodes(own_reading, rows)
    assert reading.values[0] == 5
    assert math.isnan(reading.values[1])
    assert "series without the link label `port`" in notes(reading)
    assert "series that name no node of this cluster" in notes(reading)
    assert [device.device for device in reading.devices] == ["1", "2"]


def test_a_zone_may_be_in_the_label_that_else_names_the_node() -> None:
    own_reading = own(labels={"node": "instance", "zone": "node"}, unit="ratio")
    rows = [({"instance": "n1", "node": "0"}, 0.2), ({"instance": "n1", "node": "1"}, 0.9)]
    reading = of_nodes(own_reading, rows, count=1)
    assert reading.values.tolist() == [0.9]
    assert reading.devices == ()


def test_parts_together_are_their_sum_over_what_they_can_have() -> None:
    rows = [(at("n1", gpu="0"), 30), (at("n1", gpu="1"), 60)]
    labels = {"device": "gpu"}
    total = of_nodes(own(labels=labels, combine="Total"), rows, count=1)
    assert total.values.tolist() == [90]
    share = of_nodes(own(labels=labels, combine="Total", capacity={"fixed": 100}), rows, count=1)
    assert share.values.tolist() == [pytest.approx(0.45)]
    assert share.capacity is not None
    assert share.capacity.tolist() == [200]
    mean = own(labels=labels, combine="Total", unit="ratio")
    halves = [(at("n1", gpu="0"), 0.3), (at("n1", gpu="1"), 0.6)]
    assert of_nodes(mean, halves, count=1).values.tolist() == [pytest.approx(0.45)]


@pytest.mark.parametrize(("count", "code"), [(1, "RDG003"), (3, "RDG015")])
def test_each_device_that_the_node_offers_must_be_there_and_no_other(count: int, code: str) -> None:
    own_reading = own(labels={"device": "gpu"}, resources=["amd.com/gpu"])
    reading = of_nodes(own_reading, [(at("n1", gpu=str(n)), 1) for n in range(count)], count=1)
    assert math.isnan(reading.values[0])
    assert code in notes(reading)


SLICED = {"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"}


@every(
    [
        ("nvidia.com/gpu", SLICED, 2, True),
        ("nvidia.com/gpu", SLICED, 8, False),
        ("nvidia.com/gpu", {}, 8, True),
        ("nvidia.com/gpu.shared", {}, 2, True),
    ]
)
def test_a_device_that_pods_share_counts_once(
    resource: str, labels: dict[str, str], series: int, told: bool
) -> None:
    own_reading = own(labels={"device": "gpu"}, resources=[resource])
    rows = [(at("n1", gpu=str(n)), 60) for n in range(series)]
    nodes = [cluster.node("n1", allocatable={resource: "8"}, labels=labels)]
    reading = read(
        put(Stub(), own_reading, rows), "node.queue", (own_reading,), cluster.snapshot(nodes, [])
    )
    assert math.isnan(reading.values[0]) is not told


def amd(reading: str) -> OwnReading:
    labels = {"device": "gpu_id"} | ({"node": "hostname"} if reading == "node.gpu" else {})
    spec: dict[str, Any] = {"labels": labels, "resources": list(AMD), "unit": "GPUs"}
    if reading == "node.gpu":
        spec |= {"unit": "ratio", "capacity": {"allocatable": True}, "combine": "Total"}
    return own(**spec)


def test_an_own_definition_for_some_devices_leaves_others_built_in() -> None:
    nodes = [
        cluster.node("a", allocatable=AMD),
        cluster.node("n", allocatable={"nvidia.com/gpu": "1"}),
        cluster.node("c"),
    ]
    stub = Stub().series("node.gpu", [({"Hostname": "n", "UUID": "U", "gpu": "0"}, 0.3)])
    rows = [({"hostname": "a", "gpu_id": str(n)}, load) for n, load in enumerate((0.9, 1.0))]
    put(stub, amd("node.gpu"), rows)
    before = cluster.snapshot(nodes, [])
    reading = read(stub, "node.gpu", (amd("node.gpu"),), before)
    assert reading.values[:2].tolist() == [pytest.approx(0.95), 0.3]
    assert math.isnan(reading.values[2])
    assert reading.expected.tolist() == [True, True, False]
    assert reading.capacity is not None
    assert reading.capacity[:2].tolist() == [2, 1]
    assert (reading.unit, reading.problem) == ("ratio", None)


def gpu_pod(name: str, node: str, gpus: str = "1") -> Any:
    return cluster.pod(name, node, requests={"amd.com/gpu": gpus})


def test_pods_have_what_their_devices_do() -> None:
    nodes = [cluster.node("a", allocatable=AMD), cluster.node("b", allocatable=AMD)]
    pods = [gpu_pod("one", "a"), gpu_pod("two", "b", "2"), gpu_pod("less", "a", "2")]
    own_reading = amd("pod.gpu")
    rows = [
        ({"hostname": "a", "gpu_id": "0", "namespace": "default", "pod": "one"}, 0.5),
        ({"hostname": "b", "gpu_id": "0", "namespace": "default", "pod": "two"}, 0.5),
        ({"hostname": "b", "gpu_id": "1", "namespace": "default", "pod": "two"}, 0.75),
        ({"hostname": "a", "gpu_id": "1", "namespace": "default", "pod": "less"}, 0.5),
    ]
    reading = read(
        put(Stub(), own_reading, rows), "pod.gpu", (own_reading,), cluster.snapshot(nodes, pods)
    )
    assert reading.values[:2].tolist() == [0.5, 1.25]
    assert math.isnan(reading.values[2])
    assert "pods with another number of devices than they request" in notes(reading)


def test_pods_that_share_a_device_are_absent() -> None:
    nodes = [cluster.node("a", allocatable=AMD)]
    pods = [gpu_pod("one", "a"), gpu_pod("two", "a")]
    own_reading = amd("pod.gpu")
    rows = [
        ({"hostname": "a", "gpu_id": "0", "namespace": "default", "pod": name}, 0.5)
        for name in ("one", "two")
    ]
    reading = read(
        put(Stub(), own_reading, rows), "pod.gpu", (own_reading,), cluster.snapshot(nodes, pods)
    )
    assert np.isnan(reading.values).all()


def test_only_the_pods_that_are_named_ought_to_have_a_value() -> None:
    pods = [
        cluster.pod("a", "n1", labels={"app": "infer"}),
        cluster.pod("b", "n1", labels={"app": "other"}),
    ]
    before = cluster.snapshot([cluster.node("n1")], pods)
    own_reading = own(
        pods={"labels": {"matchLabels": {"app": "infer"}}},
        labels={"namespace": "ns", "pod": "name", "node": "host"},
    )
    rows = [
        ({"ns": "default", "name": "a", "host": "n1"}, 4),
        ({"ns": "default", "name": "b", "host": "n1"}, 6),
    ]
    reading = read(put(Stub(), own_reading, rows), "pod.queue", (own_reading,), before)
    assert reading.expected.tolist() == [True, False]
    assert reading.values[0] == 4
    assert math.isnan(reading.values[1])
    away = [({"ns": "default", "name": "a", "host": "n9"}, 4), *rows[1:]]
    assert read(put(Stub(), own_reading, away), "pod.queue", (own_reading,), before).values[0] == 4
    two = cluster.snapshot([cluster.node("n1"), cluster.node("n9")], pods)
    moved = read(put(Stub(), own_reading, away), "pod.queue", (own_reading,), two)
    assert math.isnan(moved.values[0])
    assert "pods that have left that node" in notes(moved)


def test_the_age_of_pods_may_be_told_by_node() -> None:
    pods = [cluster.pod("a", "n1"), cluster.pod("b", "n2")]
    before = cluster.snapshot([cluster.node("n1"), cluster.node("n2")], pods)
    own_reading = own(fresh="max by (node) (timestamp(queue{$match}))")
    rows = [({"namespace": "default", "pod": name}, 1) for name in ("a", "b")]
    stub = put(Stub(), own_reading, rows, [(at("n1"), 15), (at("n2"), 400)])
    reading = read(stub, "pod.queue", (own_reading,), before)
    assert reading.ages[0] == 15
    assert math.isnan(reading.values[1])


def test_a_reading_whose_source_is_down_has_no_value() -> None:
    own_reading = own()
    request = ReadingRequest("node.queue", WINDOW, own=(own_reading,))
    prometheus = Prometheus("http://127.0.0.1:9")
    nodes = cluster.snapshot([cluster.node("n1")], [])
    [reading] = read_readings(prometheus, [request], nodes).entries
    assert reading.problem is not None
    assert reading.problem.code == "RDG001"
    assert np.isnan(reading.values).all()


def test_two_definitions_of_one_node_must_agree() -> None:
    """Of all that operators define for a name, as presets do, each is held against the others."""
    nodes = cluster.snapshot([cluster.node(f"n{n}") for n in (1, 2, 3)], [])
    other = own(value="avg_over_time(backlog{$match}[$window])")
    stub = put(Stub(), own(), [(at("n1"), 10), (at("n2"), 10)])
    put(stub, other, [(at("n1"), 12), (at("n2"), 20), (at("n3"), 5)])
    reading = read(stub, "node.queue", (own(), other), nodes)
    assert reading.values[[0, 2]].tolist() == [10, 5]
    [missing] = reading.missing
    assert (missing.code, missing.subjects) == ("RDG005", (1,))
    assert missing.details == ("sources that differ: n2: 10 by queue, 20 by backlog",)
