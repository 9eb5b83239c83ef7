"""A series is about a node or pod only where the API server's objects bear it out."""

from typing import Any

import numpy as np
import pytest

from rescheduler.kube.objects import NodeAddress
from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.identity import Identity
from tests import cluster
from tests.cases import every
from tests.sources.metrics import Stub, read


def fleet() -> Snapshot:
    """n1 and n2 with addresses, an exporter's pod on n2, and the pods of the tests."""
    nodes = [cluster.node(f"n{k}", allocatable={"nvidia.com/gpu": "4"}) for k in (1, 2)]
    for number, node in enumerate(nodes, 1):
        node.status.addresses = [
            NodeAddress(type="InternalIP", address=f"10.0.0.{number}"),
            NodeAddress(type="InternalIP", address=f"fd00::{number}"),
            NodeAddress(type="Hostname", address=f"host-{number}.example"),
        ]
    daemon = cluster.controller("DaemonSet", "dcgm", namespace="gpu")
    pods = [
        cluster.pod("dcgm-x", "n2", namespace="gpu", owner=daemon),
        cluster.pod("web", "n1"),
        cluster.pod("train", "n1", requests={"nvidia.com/gpu": "2"}),
        cluster.pod("host", "n1", hostNetwork=True),
        cluster.pod("waiting", "n1", phase="Pending"),
        cluster.pod("unbound"),
    ]
    return cluster.snapshot(nodes, pods, controllers=[daemon])


INDEX = {pod.metadata.name: index for index, pod in enumerate(fleet().pods)}


@every(
    [
        ({"node": "n1"}, 0),
        ({"node": "0", "instance": "10.0.0.2:9100"}, 1),
        ({"kubernetes_node": "n2"}, 1),
        ({"instance": "10.0.0.1:9100"}, 0),
        ({"instance": "10.0.0.1"}, 0),
        ({"instance": "[fd00::2]:9100"}, 1),
        ({"instance": "fd00::2"}, 1),
        ({"instance": "n2:9100"}, 1),
        ({"instance": "n2"}, 1),
        ({"instance": "host-1.example:9100"}, 0),
        ({"namespace": "gpu", "pod": "dcgm-x", "instance": "10.244.0.9:9400"}, 1),
        ({"namespace": "gpu", "pod": "dcgm-x", "node": "n1"}, 0),
        ({"Hostname": "n1", "namespace": "gpu", "pod": "dcgm-x"}, 0),
        ({"hostname": "n1"}, 0),
        ({"Hostname": "dcgm-x"}, 1),
        ({"Hostname": "n1.example.org"}, 0),
        ({"Hostname": "N1"}, 0),
        ({"nodename": "n2.example.org"}, 1),
        ({"Hostname": "host-1"}, -1),
        ({"instance": "n1.example.org:9100"}, 0),
        ({"Hostname": "elsewhere", "instance": "10.244.0.9:9400"}, -1),
        ({"namespace": "default", "pod": "unbound"}, -1),
        ({"instance": "10.0.0.9:9100"}, -1),
        ({"instance": ""}, -1),
        ({}, -1),
    ]
)
def test_the_node_of_a_series(labels: dict[str, str], node: int) -> None:
    assert Identity(fleet()).node(labels) == node


def test_the_address_of_a_pod_is_that_of_its_node() -> None:
    """Exporters are scraped by their pods' addresses; `instance` is all that is left of it."""
    before = fleet()
    addresses = {
        "dcgm-x": "10.244.2.7",
        "web": "fd00:10:244::9",
        "train": "10.244.1.8",
        "host": "10.0.0.1",
        "waiting": "10.244.1.8",
        "unbound": "10.244.9.9",
    }
    for name, address in addresses.items():
        before.pods[INDEX[name]].status.podIP = address
    identity = Identity(before)
    assert identity.node({"instance": "10.244.2.7:9400"}) == 1
    assert identity.node({"instance": "10.244.2.7"}) == 1
    assert identity.node({"instance": "[fd00:10:244::9]:9100"}) == 0
    assert identity.node({"instance": "10.0.0.1:9100"}) == 0, "in its node's network"
    assert identity.node({"instance": "10.244.1.8:9100"}) == 0, "two pods of one node"
    assert identity.node({"instance": "10.244.9.9:9100"}) == -1, "it is on no node"
    assert identity.node({"instance": "10.244.2.7:9400", "node": "n1"}) == 0, "labels come first"
    assert identity.node({"Hostname": "10.244.2.7"}) == -1, "no target"


@pytest.mark.parametrize("other", ["web", "train"])
def test_an_address_that_two_nodes_have_is_of_neither(other: str) -> None:
    before = fleet()
    before.pods[INDEX["dcgm-x"]].status.podIP = "10.244.2.7"
    before.pods[INDEX[other]].status.podIP = "10.244.2.7"
    assert Identity(before).node({"instance": "10.244.2.7:9400"}) == -1
    before.pods[INDEX[other]].status.phase = "Succeeded"
    assert Identity(before).node({"instance": "10.244.2.7:9400"}) == 1, "it has ended"
    before.pods[INDEX["dcgm-x"]].status.podIP = "10.0.0.1"
    assert Identity(before).node({"instance": "10.0.0.1:9400"}) == -1, "n1 has it too"


@every(
    [
        ("phys-17", "phys-17.dc.example", 0),
        ("phys-17", "PHYS-17", 0),
        ("phys-17.dc.example", "phys-17", 0),
        ("phys-17.dc.example", "phys-17.other.example", -1),
        ("n1", "phys-17.dc.example", -1),
    ]
)
def test_a_host_may_have_another_name_than_its_node(label: str, said: str, found: int) -> None:
    node = cluster.node("n1", labels={"kubernetes.io/hostname": label})
    assert Identity(cluster.snapshot([node], [])).node({"node": said}) == found


def test_the_same_label_values_in_other_labels_are_not_mistaken() -> None:
    identity = Identity(fleet())
    assert identity.node({"namespace": "gpu", "pod": "dcgm-x"}) == 1
    assert identity.node({"namespace": "gpu", "pod": "other"}) == -1


@every(
    [
        ({"namespace": "default", "pod": "web", "node": "n1"}, "web"),
        ({"namespace": "default", "pod": "web"}, "web"),
        ({"namespace": "default", "pod": "web", "node": "n2"}, None),
        ({"namespace": "default", "pod": "web", "instance": "10.0.0.2:10250"}, None),
        ({"namespace": "default", "pod": "gone", "node": "n1"}, None),
        ({"namespace": "other", "pod": "web"}, None),
        (
            {
                "namespace": "gpu",
                "pod": "dcgm-x",
                "exported_namespace": "default",
                "exported_pod": "train",
                "Hostname": "n1",
            },
            "train",
        ),
        ({"exported_namespace": "default", "exported_pod": "train", "Hostname": "n2"}, None),
    ]
)
def test_the_pod_of_a_series(labels: dict[str, str], pod: str | None) -> None:
    assert Identity(fleet()).pod(labels).number == (-1 if pod is None else INDEX[pod])


def row(pod: str, node: str = "n1", **more: str) -> dict[str, str]:
    return {"namespace": "default", "pod": pod, "node": node, **more}


def pods(name: str, rows: list[tuple[dict[str, str], float]], **options: Any) -> Reading:
    """Rows of pods, whose freshness is that of their node's cAdvisor."""
    fresh = options.pop("fresh", [({"node": "n1"}, 9.0), ({"node": "n2"}, 9.0)])
    return read(Stub().series(name, rows, fresh=fresh), name, fleet(), **options)


def value(reading: Reading, pod: str) -> float | None:
    found = float(reading.values[INDEX[pod]])
    return None if np.isnan(found) else found


def test_pods_that_run_have_their_value() -> None:
    reading = pods("pod.cpu", [(row("web"), 0.7), (row("train"), 1.5)], min_coverage=0.5)
    assert (value(reading, "web"), value(reading, "train")) == (0.7, 1.5)
    assert (reading.unit, reading.capacity, reading.problem) == ("cores", None, None)
    wanted = {name for name, index in INDEX.items() if reading.expected[index]}
    assert wanted == {"dcgm-x", "web", "train", "host"}


def test_a_pod_of_the_same_name_on_another_node_inherits_nothing() -> None:
    reading = pods("pod.cpu", [(row("web", "n2"), 0.7)])
    assert value(reading, "web") is None
    assert any("left that node" in note for note in reading.notes)


def test_pods_of_a_node_with_a_silent_cadvisor_are_absent() -> None:
    reading = pods("pod.cpu", [(row("web"), 0.7)], fresh=[({"node": "n2"}, 9.0)])
    assert value(reading, "web") is None
    old = pods("pod.cpu", [(row("web"), 0.7)], fresh=[({"node": "n1"}, 500.0)])
    assert value(old, "web") is None
    assert any("RDG004" in note for note in old.notes)


def test_a_young_pod_has_no_rate_and_none_is_expected() -> None:
    snapshot = fleet()
    snapshot.pods[INDEX["web"]].status.startTime = cluster.NOW
    fresh = [({"node": "n1"}, 9.0)]
    rate = Stub().series("pod.cpu", [(row("web"), 0.1)], fresh=fresh)
    reading = read(rate, "pod.cpu", snapshot)
    assert value(reading, "web") is None
    assert not reading.expected[INDEX["web"]]
    gauge = Stub().series("pod.memory", [(row("web"), 1e9)], fresh=fresh)
    assert value(read(gauge, "pod.memory", snapshot), "web") == 1e9


def test_a_pod_in_the_hosts_network_has_no_traffic_of_its_own() -> None:
    reading = pods("pod.network.receive", [(row("host"), 9e9), (row("web"), 5.0)])
    assert (value(reading, "host"), value(reading, "web")) == (None, 5.0)
    assert not reading.expected[INDEX["host"]]


def attributed(pod: str, number: int, node: str = "n1") -> dict[str, str]:
    return {
        "Hostname": node,
        "UUID": f"GPU-{node}-{number}",
        "namespace": "gpu",
        "pod": "dcgm-x",
        "exported_namespace": "default",
        "exported_pod": pod,
    }


def honored(pod: str, number: int) -> dict[str, str]:
    return {"Hostname": "n1", "UUID": f"GPU-{number}", "namespace": "default", "pod": pod}


@pytest.mark.parametrize("labels", [attributed, honored])
def test_a_pods_gpus_are_summed_in_both_label_styles(labels: Any) -> None:
    idle = {"Hostname": "n1", "UUID": "GPU-9", "namespace": "gpu", "pod": "dcgm-x"}
    rows = [(labels("train", 0), 0.9), (labels("train", 1), 0.6), (idle, 0.0)]
    reading = read(Stub().series("pod.gpu", rows), "pod.gpu", fleet())
    assert value(reading, "train") == 1.5
    assert int(reading.expected.sum()) == 1
    assert (reading.problem, reading.notes) == (None, ())


@pytest.mark.parametrize("devices", [[0], [0, 1, 2]])
def test_a_pod_with_another_number_of_gpus_than_it_asked_for_is_absent(devices: list[int]) -> None:
    rows = [(attributed("train", number), 0.5) for number in devices]
    reading = read(Stub().series("pod.gpu", rows), "pod.gpu", fleet())
    assert value(reading, "train") is None
    assert reading.problem is not None
    assert any("another number of GPUs" in note for note in reading.notes)


def test_pods_that_share_a_gpu_are_absent() -> None:
    snapshot = fleet()
    other = cluster.pod("second", "n1", requests={"nvidia.com/gpu": "2"})
    shared = cluster.snapshot(snapshot.nodes, [*snapshot.pods, other])
    rows = [(attributed(name, number), 0.5) for name in ("train", "second") for number in (0, 1)]
    reading = read(Stub().series("pod.gpu", rows), "pod.gpu", shared)
    assert np.isnan(reading.values).all()
    assert any("share a GPU" in note for note in reading.notes)


def test_gpu_memory_of_a_pod_is_in_bytes() -> None:
    rows = [(attributed("train", number), 1000.0) for number in (0, 1)]
    reading = read(Stub().series("pod.gpu.memory", rows), "pod.gpu.memory", fleet())
    assert value(reading, "train") == 2000 * 2**20
