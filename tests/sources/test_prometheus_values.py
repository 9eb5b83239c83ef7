"""Which rows become values of nodes, and what becomes of the rest."""

import math
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.objects import Node, NodeAddress
from rescheduler.model.cluster.readings import LinkSpeed
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.catalog import CATALOG, fill
from rescheduler.sources.prometheus.series_values import ReadingProblems, Row, Trust
from tests import cluster
from tests.cases import every
from tests.draws import tries
from tests.sources.metrics import Rows, Stub, read

MIB = 2**20


def nodes(count: int, *, gpus: int = 0) -> Snapshot:
    room = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    made = [cluster.node(f"n{number}", allocatable=room) for number in range(1, count + 1)]
    return cluster.snapshot(made, [])


def memory(rows: Rows, **more: Any) -> Stub:
    return Stub().series("node.memory", rows, **more)


def by_name(*values: object) -> list[tuple[dict[str, str], object]]:
    return [({"instance": f"n{number}"}, value) for number, value in enumerate(values, 1)]


@every(["NaN", "+Inf", "-Inf", "-0.3", "1.3", "9.2e18", "", "many"])
def test_a_value_that_cannot_be_is_absent_and_never_zero(bad: str) -> None:
    reading = read(memory(by_name(0.5, bad)), "node.memory", nodes(2), min_coverage=0.5)
    assert reading.values[0] == 0.5
    assert math.isnan(reading.values[1])
    assert math.isnan(reading.ages[1])
    assert reading.problem is None
    assert "RDG006" in reading.notes[0]
    assert "n2" in reading.notes[0]


@every([(-0.01, 0.0), (1.02, 1.0), (0, 0.0), (1, 1.0)])
def test_rounding_past_the_ends_is_clamped(value: float, kept: float) -> None:
    assert read(memory(by_name(value)), "node.memory", nodes(1)).values.tolist() == [kept]


def test_mostly_bad_values_are_the_problem() -> None:
    reading = read(memory(by_name(0.5, "NaN", "NaN")), "node.memory", nodes(3))
    assert reading.problem is not None
    assert reading.problem.code == "RDG006"


def test_half_of_the_nodes_missing_is_a_problem_and_so_is_everything() -> None:
    half = read(memory(by_name(0.5, 0.5)), "node.memory", nodes(4))
    assert half.problem is not None
    assert half.problem.code == "RDG003"
    assert "2 of 4 nodes have a value" in half.problem.message
    nothing = read(Stub(), "node.memory", nodes(4))
    assert nothing.problem is not None
    assert nothing.problem.code == "RDG009"


def test_coverage_just_met_is_no_problem() -> None:
    rows = by_name(*[0.5] * 9)
    assert read(memory(rows), "node.memory", nodes(10)).problem is None
    assert read(memory(rows[:8]), "node.memory", nodes(10)).problem is not None


def test_duplicates_that_agree_are_one_and_those_that_differ_are_none() -> None:
    twice = {"instance": "n1", "job": "other"}
    same = read(memory([*by_name(0.5), (twice, 0.52)]), "node.memory", nodes(1))
    assert same.values.tolist() == [0.52]
    assert any("agree" in note for note in same.notes)
    assert any('job="" 1, job="other" 1' in note for note in same.notes)
    differ = read(memory([*by_name(0.5), (twice, 0.9)]), "node.memory", nodes(1))
    assert np.isnan(differ.values).all()
    assert differ.problem is not None
    assert differ.problem.code == "RDG005"


def test_a_dead_duplicate_does_not_count() -> None:
    twice = {"instance": "n1", "job": "old"}
    stub = memory([*by_name(0.5), (twice, 0.9)], fresh=[({"instance": "n1"}, 10)])
    assert read(stub, "node.memory", nodes(1)).values.tolist() == [0.5]


@pytest.mark.parametrize("age", [181.0, 4000.0, -61.0])
def test_an_old_value_is_absent(age: float) -> None:
    stub = memory(by_name(0.5, 0.5), fresh=[({"instance": "n1"}, 20.0), ({"instance": "n2"}, age)])
    reading = read(stub, "node.memory", nodes(2))
    assert reading.values[0] == 0.5
    assert math.isnan(reading.values[1])
    assert reading.problem is not None
    assert reading.problem.code == "RDG004"


def test_a_value_whose_series_has_ended_is_absent() -> None:
    stub = memory(by_name(0.5, 0.5), fresh=[({"instance": "n1"}, 20.0)])
    assert np.isnan(read(stub, "node.memory", nodes(2)).values[1])


def test_a_value_of_a_node_that_nobody_expects_is_left_out() -> None:
    snapshot = nodes(2)
    sick = snapshot.nodes[1].status.conditions
    assert sick is not None
    snapshot.nodes[1].status.conditions = [msgspec.structs.replace(sick[0], status="Unknown")]
    reading = read(memory(by_name(0.5, 0.5)), "node.memory", snapshot)
    assert reading.expected.tolist() == [True, False]
    assert np.isnan(reading.values[1])
    assert reading.problem is None


def test_rows_of_strangers_are_noted() -> None:
    stub = memory([*by_name(0.5), ({"instance": "10.9.9.9:9100"}, 0.5), ({}, 0.5)])
    reading = read(stub, "node.memory", nodes(1))
    assert reading.problem is None
    assert "name no node of this cluster (2, such as" in reading.notes[0]


def test_the_kubelet_stands_in_where_node_exporter_is_missing() -> None:
    stub = Stub().series("node.cpu", by_name(0.5))
    stub.series("node.cpu", [({"node": "n1"}, 4.8), ({"node": "n2"}, 2.0)], source=1)
    reading = read(stub, "node.cpu", nodes(2))
    assert reading.values.tolist() == [0.5, 0.25]
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [8, 8]


def test_a_node_whose_exporters_disagree_is_not_asked_elsewhere() -> None:
    stub = Stub().series("node.cpu", [*by_name(0.5), ({"instance": "n1", "job": "b"}, 0.9)])
    stub.series("node.cpu", [({"node": "n1"}, 2.0)], source=1)
    assert np.isnan(read(stub, "node.cpu", nodes(1)).values[0])


def device(node: str, number: int, **more: str) -> dict[str, str]:
    return {"Hostname": node, "UUID": f"GPU-{node}-{number}", "gpu": str(number), **more}


def test_gpus_are_averaged_over_what_the_node_can_allocate() -> None:
    rows = [(device("n1", 0), 0.9), (device("n1", 1), 0.1)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", nodes(1, gpus=2))
    assert reading.values.tolist() == [0.5]
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [2]


def test_kernel_time_stands_in_for_devices_without_a_profile() -> None:
    stub = Stub().series("node.gpu", [(device("n1", 0), 0.9)])
    stub.series("node.gpu", [(device("n1", 0), 99), (device("n1", 1), 10)], source=1)
    assert read(stub, "node.gpu", nodes(1, gpus=2)).values.tolist() == [0.5]


@pytest.mark.parametrize("labels", [{}, {"UUID": ""}])
def test_a_profile_that_has_stopped_is_no_value(labels: dict[str, str]) -> None:
    """Whether the GPU has an identity of its own or is known by its node and number."""
    gpus = [{**device(f"n{n}", 0), **labels} for n in (1, 2, 3)]
    stub = Stub().series("node.gpu", list(zip(gpus, (0.95, 0.0, 0.0), strict=True)))
    stub.series("node.gpu", list(zip(gpus, (95, 97, 0), strict=True)), source=1)
    reading = read(stub, "node.gpu", nodes(3, gpus=1))
    assert np.isnan(reading.values).tolist() == [False, True, False]
    [missing] = reading.missing
    assert (missing.code, missing.subjects) == ("RDG005", (1,))
    said = "0% by DCGM_FI_PROF_GR_ENGINE_ACTIVE, 97% by DCGM_FI_DEV_GPU_UTIL"
    assert missing.details[0].endswith(said)


@pytest.mark.parametrize(
    "fresh", [[(device("n1", 0), 5.0)], [(device("n1", n), 5 + 999 * n) for n in (0, 1)]]
)
def test_a_gpu_without_a_fresh_value_makes_its_node_absent(fresh: Rows) -> None:
    rows = [(device("n1", 0), 0.9), (device("n1", 1), 0.1)]
    reading = read(Stub().series("node.gpu", rows, fresh=fresh), "node.gpu", nodes(1, gpus=2))
    assert np.isnan(reading.values).all()
    assert reading.problem is not None
    assert reading.problem.code == "RDG004"


def test_a_gpu_that_changed_its_pod_counts_by_its_samples() -> None:
    old = device("n1", 0, pod="before")
    new = device("n1", 0, pod="after")
    stub = Stub().series("node.gpu", [(old, 1.0), (new, 0.0)], fresh=[(new, 5.0)])
    assert read(stub, "node.gpu", nodes(1, gpus=1)).values.tolist() == [0.5]


def test_partitioned_gpus_are_not_guessed() -> None:
    rows = [(device("n1", 0, GPU_I_ID=str(part)), 0.5) for part in (1, 2)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", nodes(1, gpus=2))
    assert np.isnan(reading.values).all()
    assert any("MIG" in note for note in reading.notes)


def test_gpus_are_expected_only_where_there_are_some() -> None:
    reading = read(Stub(), "node.gpu", nodes(3))
    assert (reading.problem, reading.coverage) == (None, 1.0)
    assert not reading.expected.any()


def test_gpu_memory_is_the_share_of_all_that_the_node_has() -> None:
    used = [(device("n1", 0), 100), (device("n1", 1), 300)]
    free = [(device("n1", 0), 700), (device("n1", 1), 500)]
    stub = Stub().series("node.gpu.memory", used).beside("node.gpu.memory", free)
    reading = read(stub, "node.gpu.memory", nodes(1, gpus=2))
    assert reading.values.tolist() == [0.25]
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [1600 * MIB]


def link(device: str) -> dict[str, str]:
    return {"instance": "n1", "device": device}


def test_the_busiest_link_counts_for_the_node() -> None:
    stub = Stub().series("node.network.receive", [(link("eth0"), 2e8), (link("eth1"), 9e8)])
    stub.beside("node.network.receive", [(link("eth0"), 1.25e9), (link("eth1"), 1.25e10)])
    reading = read(stub, "node.network.receive", nodes(1))
    assert reading.values.tolist() == [0.16]
    assert reading.capacity is not None
    assert reading.capacity.tolist() == [1.25e9]


@every(
    [
        (9e8, {}, None),
        (9e8, {"eth0": 1e6}, None),
        (0.0, {}, None),
        (9e8, {"eth0": 1.25e9, "eth1": 1.0}, 0.72),
    ]
)
def test_a_link_needs_a_speed_that_can_be(
    traffic: float, speeds: dict[str, float], kept: float | None
) -> None:
    stub = Stub().series("node.network.receive", [(link("eth0"), traffic), (link("eth1"), 0)])
    stub.beside("node.network.receive", [(link(name), speed) for name, speed in speeds.items()])
    reading = read(stub, "node.network.receive", nodes(1))
    assert reading.values.tolist() == [kept] if kept else np.isnan(reading.values).all()


def test_a_node_of_idle_links_without_a_speed_is_reported() -> None:
    stub = Stub().series("node.network.receive", [(link("ens5"), 0.0)])
    reading = read(stub, "node.network.receive", nodes(2))
    assert reading.problem is not None
    assert reading.problem.code == "RDG003"
    assert (
        "RDG003: only links that report no speed, with no linkSpeed declared (1, such as n1)"
        in reading.notes
    )


@pytest.mark.parametrize("direction", ["receive", "transmit"])
def test_a_speed_that_was_declared_stands_in_for_one_that_is_not_reported(direction: str) -> None:
    name = f"node.network.{direction}"
    links = (
        LinkSpeed((("size", "In", ("big",)),), 5e9),
        LinkSpeed((("size", "In", ("odd",)),), 0.0),
        LinkSpeed((), 1.25e9),
    )
    snapshot = nodes(4)
    snapshot.nodes[0].metadata.labels = {"size": "big"}
    snapshot.nodes[1].metadata.labels = {"size": "odd"}
    stub = Stub().series(
        name, [({"instance": f"n{n}", "device": "ens5"}, 1e9) for n in range(1, 5)]
    )
    stub.beside(name, [({"instance": "n4", "device": "ens5"}, 2e9)])
    reading = read(stub, name, snapshot, links=links)
    assert reading.values.tolist() == pytest.approx([0.2, np.nan, 0.8, 0.5], nan_ok=True)
    assert reading.capacity is not None
    assert reading.capacity.tolist() == pytest.approx([5e9, np.nan, 1.25e9, 2e9], nan_ok=True)


def test_speeds_that_differ_are_not_replaced_by_a_declared_one() -> None:
    stub = Stub().series("node.network.receive", [(link("ens5"), 1e9)])
    speeds = [
        ({**link("ens5"), "job": job}, speed) for job, speed in (("a", 1.25e9), ("b", 1.25e8))
    ]
    stub.beside("node.network.receive", speeds)
    reading = read(stub, "node.network.receive", nodes(1), links=(LinkSpeed((), 1.25e9),))
    assert np.isnan(reading.values).all()


@every([
        ("eth0", True), ("ens5", True), ("eno1", True), ("enp1s0f1np1", True), ("enP2p33s0", True),
        ("enx001122334455", True), ("end0", True), ("bond0", True), ("ib0", True), ("ibs1", True),
        ("eni1234567890a", False), ("enic0", False), ("lo", False), ("cali12ab", False),
        ("veth12ab", False), ("cni0", False), ("docker0", False), ("lxc12", False),
    ])  # fmt: skip
def test_links_are_the_nodes_own(device: str, physical: bool) -> None:
    query = fill(CATALOG["node.network.receive"][0].dated, 300, "")
    [pattern] = re.findall(r'device=~"([^"]+)"', query)
    assert bool(re.fullmatch(pattern, device)) == physical


def test_clocks_that_differ_are_noted() -> None:
    snapshot = nodes(1)
    later = Snapshot(
        taken=snapshot.taken.replace(hour=11),
        cluster=snapshot.cluster,
        nodes=snapshot.nodes,
        pods=[],
    )
    reading = read(memory(by_name(0.5)), "node.memory", later)
    assert any("clock differs from the API server's by 3600 s" in note for note in reading.notes)


ROWS = st.lists(
    st.builds(
        Row,
        value=st.one_of(st.floats(), st.floats(0, 1)),
        weight=st.one_of(st.just(0.0), st.just(math.nan), st.floats(1, 100)),
        age=st.one_of(st.none(), st.floats(), st.floats(0, 300)),
        labels=st.just({}),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=tries(500))
@given(ROWS)
def test_whatever_the_rows_a_value_is_legal_fresh_and_explained(rows: list[Row]) -> None:
    problems = ReadingProblems()
    found = Trust(1.0, 180.0, problems).values({(0, ""): rows})
    if (0, "") not in found:
        assert problems.codes[0] in {"RDG004", "RDG005", "RDG006"}
        assert problems.notes()
        return
    value, age, _ = found[0, ""]
    assert 0 <= value <= 1
    assert 0 <= age <= 180
    live = [row.value for row in rows if row.age is not None and -60 <= row.age <= 180]
    assert max(live) - min(live) <= 0.05 + 1e-9


def test_nodes_share_no_address() -> None:
    made: list[Node] = []
    for name in ("n1", "n2", "n3"):
        made.append(cluster.node(name))
        ip = "10.0.0.3" if name == "n3" else "10.0.0.1"
        made[-1].status.addresses = [NodeAddress(type="InternalIP", address=ip)]
    rows = [({"instance": "10.0.0.1:9100"}, 0.5), ({"instance": "10.0.0.3:9100"}, 0.7)]
    reading = read(memory(rows), "node.memory", cluster.snapshot(made, []))
    assert np.isnan(reading.values).tolist() == [True, True, False]


def test_two_sources_that_differ_are_no_value_and_both_are_named() -> None:
    stub = Stub().series("node.cpu", by_name(0.9, 0.1, 0.4))
    kubelet = [({"node": "n1"}, 0.8), ({"node": "n2"}, 1.2), ({"node": "n3"}, 5.2)]
    reading = read(stub.series("node.cpu", kubelet, source=1), "node.cpu", nodes(3))
    assert np.isnan(reading.values).tolist() == [True, False, False]
    assert [(value.code, value.subjects) for value in reading.missing] == [("RDG005", (0,))]
    [detail] = reading.missing[0].details
    assert detail == (
        "sources that differ: n1: 90% by node_cpu_seconds_total, "
        "10% by node_cpu_usage_seconds_total"
    )


@pytest.mark.parametrize("age", [500.0, -500.0])
def test_what_is_no_longer_reported_contradicts_nobody(age: float) -> None:
    stub = Stub().series("node.cpu", by_name(0.9))
    stub.series("node.cpu", [({"node": "n1"}, 0.8)], source=1, age=age)
    assert read(stub, "node.cpu", nodes(1)).values.tolist() == [0.9]


def test_two_series_that_differ_are_named_by_what_they_differ_in() -> None:
    rows = [*by_name(0.5), ({**by_name(0.5)[0][0], "job": "tenant"}, 0.9)]
    reading = read(memory(rows), "node.memory", nodes(1))
    [missing] = reading.missing
    assert missing.details == (
        'several series that differ: 0.5 by {}, 0.9 by {job="tenant"} of {instance="n1"}',
    )
