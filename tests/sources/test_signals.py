"""Readings beside the load itself: what is broken, contended or sent by RDMA."""

import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rescheduler.kube.dra.devices import ResourceSlice
from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.model.cluster.readings import DeviceValue, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.catalog import CATALOG, fill, holders_of
from rescheduler.sources.recording import load, save
from tests import cluster
from tests.sources.metrics import AT, WINDOW, Stub, read, sources_of


def gpu_nodes(count: int, gpus: int = 2) -> Snapshot:
    room = {"nvidia.com/gpu": str(gpus)}
    made = [cluster.node(f"n{number}", allocatable=room) for number in range(1, count + 1)]
    return cluster.snapshot(made, [])


def device(node: int, gpu: int) -> dict[str, str]:
    return {"Hostname": f"n{node}", "UUID": f"GPU-{node}-{gpu}", "gpu": str(gpu)}


def test_the_worst_device_counts_for_its_node() -> None:
    rows = [(device(1, 0), 0), (device(1, 1), 79), (device(2, 0), 0), (device(2, 1), 0)]
    reading = read(Stub().series("node.gpu.xid", rows), "node.gpu.xid", gpu_nodes(2))
    assert reading.problem is None
    assert reading.values.tolist() == [79, 0]


def test_silence_of_a_device_is_no_health() -> None:
    # A GPU that fell off the bus has no series; one that reports its error is enough.
    rows = [(device(1, 0), 0), (device(2, 0), 79)]
    stub = Stub().series("node.gpu.xid", rows)
    reading = read(stub, "node.gpu.xid", gpu_nodes(2), min_coverage=0.5)
    assert math.isnan(reading.values[0])
    assert reading.values[1] == 79
    assert any("devices have no fresh value (1, such as 1 of 2)" in n for n in reading.notes)


def test_a_broken_node_reports_of_its_devices_and_who_has_them() -> None:
    asking = {"nvidia.com/gpu": "1"}
    before = gpu_nodes(2)
    before.pods.extend([cluster.pod("train", "n1", requests=asking), cluster.pod("exporter", "n1")])
    rows = [(device(1, 0), 0), (device(1, 1), 79), (device(2, 0), 0), (device(2, 1), 0)]
    stub = Stub().series("node.gpu.xid", rows)
    owner = {"exported_namespace": "default", "exported_pod": "train"}
    exporter = {"namespace": "default", "pod": "exporter"}
    holders = [
        ({**device(1, 1), **owner}, AT - 10),
        ({**device(1, 0), **exporter}, AT - 10),  # idle
        ({**device(1, 0), **owner}, AT - 900),  # it had this one before
        ({**device(1, 0), **owner, "exported_pod": "gone"}, AT - 10),
    ]
    stub.rows[fill(holders_of(CATALOG["node.gpu.xid"]), WINDOW, "")] = holders
    reading = read(stub, "node.gpu.xid", before)
    assert reading.problem is None
    assert reading.devices == (
        DeviceValue(0, "GPU-1-0", 0.0, "0"),
        DeviceValue(0, "GPU-1-1", 79.0, "1", (0,)),
    )
    sound = Stub().series("node.gpu.xid", [(labels, 0) for labels, _ in rows])
    assert read(sound, "node.gpu.xid", before).devices == ()


def test_gpus_that_only_claims_can_have_are_expected_too() -> None:
    before = gpu_nodes(0)
    before.nodes.append(cluster.node("n1"))
    before.resource_slices.append(
        msgspec.convert(
            {
                "spec": {
                    "driver": "gpu.nvidia.com",
                    "nodeName": "n1",
                    "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {"name": name, "attributes": {"type": {"string": sort}}}
                        for name, sort in (("gpu-0", "gpu"), ("gpu-1", "gpu"), ("part", "mig"))
                    ],
                }
            },
            ResourceSlice,
        )
    )
    ill = read(Stub().series("node.gpu.xid", [(device(1, 1), 79)]), "node.gpu.xid", before)
    assert ill.values.tolist() == [79]
    half = read(Stub().series("node.gpu.xid", [(device(1, 1), 0)]), "node.gpu.xid", before)
    assert half.problem is not None
    assert half.problem.code == "RDG003"


def test_an_interface_is_a_device_too(tmp_path: Path) -> None:
    rows = [
        ({"instance": "n1", "device": "eth0"}, 0.0),
        ({"instance": "n1", "device": "eth1"}, 0.03),
    ]
    before = gpu_nodes(1)
    found = read(Stub().series("node.network.drops", rows), "node.network.drops", before)
    assert [(device.device, device.value, device.pods) for device in found.devices] == [
        ("eth0", 0.0, ()),
        ("eth1", 0.03, ()),
    ]
    save(replace(before, readings=Readings((found,))), tmp_path / "s")
    assert load(tmp_path / "s").readings.entries[0].devices == found.devices


def test_partitions_count_as_their_share_of_a_gpu() -> None:
    room = {"nvidia.com/mig-1g.10gb": "1", "nvidia.com/mig-3g.40gb": "2"}
    parts = [("1", "1g.10gb", 0.7), ("2", "3g.40gb", 1.0), ("3", "3g.40gb", 0.0)]
    asking = {"nvidia.com/mig-3g.40gb": "1"}
    before = cluster.snapshot(
        [cluster.node("n1", allocatable=room)], [cluster.pod("p", "n1", requests=asking)]
    )
    rows = [
        ({**device(1, 0), "GPU_I_ID": part, "GPU_I_PROFILE": profile}, busy)
        for part, profile, busy in parts
    ]
    load = read(Stub().series("node.gpu", rows), "node.gpu", before)
    assert load.problem is None, load.problem
    assert load.values[0] == pytest.approx((0.7 * 1 + 1.0 * 3) / 7)
    assert load.capacity is not None
    assert load.capacity[0] == pytest.approx(1.0)
    owned = [({**rows[1][0], "exported_namespace": "default", "exported_pod": "p"}, 1.0)]
    assert read(Stub().series("pod.gpu", owned), "pod.gpu", before).values[0] == pytest.approx(
        3 / 7
    )


def test_the_worst_interface_counts_for_its_node() -> None:
    rows = [
        ({"instance": "n1", "device": "eth0"}, 0.0),
        ({"instance": "n1", "device": "eth1"}, 0.03),
    ]
    stub = Stub().series("node.network.drops", rows)
    assert read(stub, "node.network.drops", gpu_nodes(1)).values.tolist() == [0.03]


def test_rdma_is_expected_where_a_plugin_offers_it() -> None:
    nodes = [
        cluster.node("n1", allocatable={"rdma/hca_shared_devices_a": "8"}),
        cluster.node("n2"),
    ]
    asking = [{"name": "c", "resources": {"limits": {"rdma/hca_a": "1"}}}]
    pods = [cluster.pod("p1", "n1", containers=asking), cluster.pod("p2", "n2")]
    before = cluster.snapshot(nodes, pods)
    stub = Stub().series("node.rdma.receive", [({"instance": "n1", "device": "mlx5_0"}, 5e9)])
    stub.beside("node.rdma.receive", [({"instance": "n1", "device": "mlx5_0"}, 1e10)])
    nodes_reading = read(stub, "node.rdma.receive", before)
    assert nodes_reading.expected.tolist() == [True, False]
    assert nodes_reading.values[0] == 0.5
    assert read(Stub(), "pod.rdma.receive", before).expected.tolist() == [True, False]


def test_errors_of_applications_are_left_out_of_the_query() -> None:
    query = fill(sources_of("node.gpu.xid")[0].value, 600, "")
    for code in (13, 31, 43, 45, 68, 109):
        assert f" != {code}" in query
    assert "[600s]" in query


def test_a_peak_is_a_quantile_over_ten_short_rates() -> None:
    query = fill(sources_of("node.cpu.peak")[0].value, 1800, 'cluster="a",')
    assert query.startswith("quantile_over_time(0.95, (1 - avg")
    assert query.endswith("[1800s:180s])")
    assert 'rate(node_time_seconds{cluster="a",}[360s])' in query


def test_topologies_are_recorded(tmp_path: Path) -> None:
    reported = {
        "metadata": {"name": "n1"},
        "attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}],
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 10}],
                "resources": [
                    {"name": "cpu", "capacity": 8, "allocatable": "8", "available": "7500m"}
                ],
            }
        ],
    }
    before = cluster.snapshot(
        [cluster.node("n1")], [], topologies=[msgspec.convert(reported, NodeResourceTopology)]
    )
    save(before, tmp_path / "s")
    after = load(tmp_path / "s")
    assert after.topologies == before.topologies
    assert after.topologies[0].kubelet == ("restricted", "container")
    assert np.array_equal(after.pod_node, before.pod_node)


def test_the_deprecated_field_reports_policy_and_scope() -> None:
    old = NodeResourceTopology(topologyPolicies=["SingleNUMANodePodLevel"])
    assert old.kubelet == ("single-numa-node", "pod")
    assert NodeResourceTopology().kubelet == ("", "")
