"""What series report about GPUs that pods share, about partitions, and about other makers' GPUs."""

import msgspec
import pytest

from rescheduler.kube.dra.devices import ResourceSlice
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import DeviceValue, Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.catalog import CATALOG, fill, holders_of
from tests import cluster
from tests.cases import every
from tests.sources.metrics import AT, WINDOW, Stub, read, sources_of

PROFILED, RUNNING, AMD, GAUDI, INTEL = range(5)
"""The sources of the load of GPUs, in their order in the catalogue."""
SHARES = {"nvidia.com/gpu.shared": "1"}


def pool(*pods: str, devices: int = 2, replicas: int = 4) -> Snapshot:
    """One node whose GPUs are shared by up to four pods each."""
    labels = {"nvidia.com/gpu.replicas": str(replicas), "nvidia.com/gpu.sharing-strategy": "mps"}
    room = {"nvidia.com/gpu.shared": str(devices * replicas)}
    node = cluster.node("n1", labels=labels, allocatable=room)
    return cluster.snapshot([node], [cluster.pod(name, "n1", requests=SHARES) for name in pods])


def device(number: int, pod: str = "", node: str = "n1", **labels: str) -> dict[str, str]:
    own = {"Hostname": node, "UUID": f"GPU-{number}", "gpu": str(number), "pod": "dcgm-x"}
    if pod:
        own |= {"exported_namespace": "default", "exported_pod": pod}
    return own | labels


def loads(reading: Reading) -> list[tuple[str, float, tuple[int, ...], tuple[float, ...]]]:
    return [(device.device, device.value, device.pods, device.used) for device in reading.devices]


def test_a_pool_of_shared_gpus_counts_devices_and_not_shares() -> None:
    rows = [(device(0, "a"), 0.9), (device(1, "b"), 0.1)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", pool("a", "b"))
    assert reading.problem is None
    assert reading.values[0] == pytest.approx(0.5)
    assert loads(reading) == [("GPU-0", 0.9, (0,), (0.9,)), ("GPU-1", 0.1, (1,), (0.1,))]
    assert reading.devices[0].index == "0"


def test_copies_of_a_devices_series_are_one_and_its_pods_have_equal_parts() -> None:
    rows = [(device(0, name), 0.9) for name in ("a", "b", "c")] + [(device(1), 0.2)]
    before = pool("a", "b", "c")
    assert loads(read(Stub().series("node.gpu", rows), "node.gpu", before)) == [
        ("GPU-0", 0.9, (0, 1, 2), ()),
        ("GPU-1", 0.2, (), ()),
    ]
    assert read(Stub().series("pod.gpu", rows), "pod.gpu", before).values == pytest.approx(0.3)


def test_a_devices_own_series_is_not_averaged_with_those_of_its_pods() -> None:
    rows = [(device(0), 95.0), (device(0, "a"), 60.0), (device(0, "b"), 32.0), (device(1), 0.0)]
    stub = Stub().series("node.gpu", rows, source=RUNNING)
    reading = read(stub, "node.gpu", pool("a", "b"))
    assert reading.values[0] == pytest.approx(0.95 / 2)
    assert reading.devices[0] == DeviceValue(0, "GPU-0", 0.95, "0", (0, 1), used=(0.6, 0.32))


def test_parts_of_pods_complete_a_profile_that_has_none() -> None:
    copies = [(device(0, name), 0.8) for name in ("a", "b")] + [(device(1), 0.0)]
    parts = [(device(0), 100.0), (device(0, "a"), 75.0), (device(0, "b"), 25.0), (device(1), 0.0)]
    stub = Stub().series("node.gpu", copies).series("node.gpu", parts, source=RUNNING)
    (shared, _) = read(stub, "node.gpu", pool("a", "b")).devices
    assert shared.value == 0.8
    assert shared.used == pytest.approx((0.6, 0.2))


def test_pods_series_that_differ_without_the_devices_own_are_no_load() -> None:
    rows = [(device(0, "a"), 60.0), (device(0, "b"), 30.0), (device(1), 0.0)]
    reading = read(Stub().series("node.gpu", rows, source=RUNNING), "node.gpu", pool("a", "b"))
    assert reading.problem is not None
    assert reading.problem.code == "RDG005"


def test_a_pool_without_reported_pods_silences_no_other_pods() -> None:
    whole = cluster.node("n2", allocatable={"nvidia.com/gpu": "1"})
    shared = pool("a", "b", "c")
    train = cluster.pod("train", "n2", requests={"nvidia.com/gpu": "1"})
    before = cluster.snapshot([*shared.nodes, whole], [*shared.pods, train])
    rows = [(device(0, "b"), 0.9), (device(1), 0.0), (device(2, "train", "n2"), 0.7)]
    reading = read(Stub().series("pod.gpu", rows), "pod.gpu", before)
    assert reading.problem is None
    assert reading.expected.tolist() == [False, False, False, True]
    assert reading.values[3] == 0.7
    assert any("RDG012" in note and "default/a" in note for note in reading.notes)


@every([(6, None), (8, None), (9, "RDG015"), (5, "RDG003")])
def test_withdrawn_gpus_report_and_those_of_other_clusters_are_refused(
    number: int, code: str | None
) -> None:
    node = cluster.node("n1", allocatable={"nvidia.com/gpu": "6"})
    node.status.capacity = {**(node.status.capacity or {}), "nvidia.com/gpu": "8"}
    rows = [(device(index), 1.0) for index in range(number)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", cluster.snapshot([node], []))
    assert (reading.problem and reading.problem.code) == code
    if code is None:
        assert reading.values.tolist() == [1.0]


@pytest.mark.parametrize("instances", [0, 3])
def test_partitions_of_claims_report_beside_the_whole_gpus_of_their_node(instances: int) -> None:
    """NVIDIA's driver of claims lists GPU 0 and what it could be partitioned into."""
    whole = [{"name": f"gpu-{n}", "attributes": {"type": {"string": "gpu"}}} for n in range(2)]
    parts = [
        {
            "name": f"gpu-0-mig-{n}",
            "attributes": {"type": {"string": "mig"}, "profile": {"string": "1g.10gb"}},
        }
        for n in range(7)
    ]
    spec = {
        "driver": "gpu.nvidia.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [*whole, *parts],
    }
    slices = [msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)]
    before = cluster.snapshot([cluster.node("n1")], [], resource_slices=slices)
    used = {"GPU_I_PROFILE": "1g.10gb"}
    rows = [(device(0, GPU_I_ID=str(7 + n), **used), 0.5) for n in range(instances)]
    rows += [(device(0), 0.5)] * (not instances) + [(device(1), 0.5)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", before)
    assert reading.problem is None
    assert reading.values.tolist() == [pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("resource", "source", "labels", "value"),
    [
        ("amd.com/gpu", AMD, {"hostname": "n1", "serial_number": "A", "gpu_id": "0"}, 95.0),
        ("gpu.intel.com/xe", INTEL, {"node": "n1", "pci_bdf": "0000:4d:00.0"}, 0.95),
        ("habana.ai/gaudi", GAUDI, {"node": "n1", "UUID": "01P0", "device": "0"}, 95.0),
    ],
)
def test_gpus_of_other_makers_have_a_load_too(
    resource: str, source: int, labels: dict[str, str], value: float
) -> None:
    node = cluster.node("n1", allocatable={resource: "1"})
    owner: Pod = cluster.pod("p", "n1", requests={resource: "1"})
    before = cluster.snapshot([node], [owner])
    owned = {**labels, "exported_namespace": "default", "exported_pod": "p"}
    stub = Stub().series("node.gpu", [(owned, value)], source=source)
    assert read(stub, "node.gpu", before).values[0] == pytest.approx(0.95)
    assert read(stub, "pod.gpu", before).values[0] == pytest.approx(0.95)
    silent = read(Stub(), "node.gpu", before)
    assert silent.problem is not None
    assert silent.problem.code == "RDG009"
    peak = read(Stub().series("node.gpu.peak", [(labels, value)], source=source),
                "node.gpu.peak", before)  # fmt: skip
    assert peak.values[0] == pytest.approx(0.95)


def test_gaudi_says_in_labels_of_its_own_who_has_a_device() -> None:
    node = cluster.node("n1", allocatable={"habana.ai/gaudi": "1"})
    before = cluster.snapshot([node], [cluster.pod("p", "n1", requests={"habana.ai/gaudi": "1"})])
    owner = {"pod_namespace": "default", "pod_name": "p"}
    labels = {"node": "n1", "namespace": "habana", "pod": "exporter", "UUID": "01P0", **owner}
    stub = Stub().series("node.gpu", [(labels, 80.0)], source=GAUDI)
    assert read(stub, "pod.gpu", before).values[0] == pytest.approx(0.8)
    assert "pod_namespace,pod_name" in fill(sources_of("pod.gpu")[GAUDI].value, WINDOW, "")


@pytest.mark.parametrize(
    ("resource", "source", "labels", "owner"),
    [
        (
            "amd.com/gpu",
            1,
            {"hostname": "n1", "serial_number": "A", "gpu_id": "0"},
            {"namespace": "default", "pod": "p"},  # its chart honors labels
        ),
        (
            "habana.ai/gaudi",
            2,
            {"node": "n1", "UUID": "01P0"},
            {"pod_namespace": "default", "pod_name": "p"},
        ),
    ],
)
def test_memory_errors_of_other_makers_count_too(
    resource: str, source: int, labels: dict[str, str], owner: dict[str, str]
) -> None:
    node = cluster.node("n1", allocatable={resource: "1"})
    before = cluster.snapshot([node], [cluster.pod("p", "n1", requests={resource: "1"})])
    stub = Stub().series("node.gpu.ecc", [(labels, 2.0)], source=source)
    holders = fill(holders_of(CATALOG["node.gpu.ecc"]), WINDOW, "")
    stub.rows[holders] = [({**labels, **owner}, AT - 10)]
    reading = read(stub, "node.gpu.ecc", before)
    assert (reading.problem, reading.values.tolist()) == (None, [2.0])
    assert [device.pods for device in reading.devices] == [(0,)]
    sound = read(Stub().series("node.gpu.ecc", [(labels, 0.0)], source=source),
                 "node.gpu.ecc", before)  # fmt: skip
    assert (sound.problem, sound.values.tolist()) == (None, [0.0])


def test_a_gpu_whose_pod_changed_has_the_mean_of_all_of_the_window() -> None:
    node = cluster.node("n1", allocatable={"amd.com/gpu": "1"})
    before = cluster.snapshot([node], [cluster.pod("new", "n1", requests={"amd.com/gpu": "1"})])
    device = {"hostname": "n1", "serial_number": "A", "gpu_id": "0", "namespace": "default"}
    rows = [(device | {"pod": "old"}, 100.0), (device | {"pod": "new"}, 50.0)]
    stub = Stub().series("node.gpu", rows, source=AMD, fresh=[(rows[1][0], 10.0)])
    assert read(stub, "node.gpu", before).values.tolist() == [0.75]
    assert read(stub, "pod.gpu", before).values.tolist() == [0.5]


def test_the_memory_of_intel_gpus_is_measured_too() -> None:
    node = cluster.node("n1", allocatable={"gpu.intel.com/xe": "1"})
    device = {"node": "n1", "pci_bdf": "0000:4d:00.0"}
    [used] = [n for n, series in enumerate(sources_of("node.gpu.memory")) if "hw_" in series.value]
    [free] = [
        own_reading.free
        for own_reading in CATALOG["node.gpu.memory"]
        if own_reading.free and "hw_" in own_reading.value
    ]
    stub = Stub().series("node.gpu.memory", [(device, 25e9)], source=used)
    stub.source(free, [(device, 75e9)], 10.0, None, 20.0)
    reading = read(stub, "node.gpu.memory", cluster.snapshot([node], []))
    assert reading.values.tolist() == [0.25]


def test_a_node_is_not_measured_by_the_series_of_another_maker() -> None:
    nodes = [
        cluster.node("n1", allocatable={"nvidia.com/gpu": "1"}),
        cluster.node("n2", allocatable={"amd.com/gpu": "1"}),
    ]
    stub = Stub().series("node.gpu", [(device(0), 0.5), (device(1, node="n2"), 0.7)])
    reading = read(stub, "node.gpu", cluster.snapshot(nodes, []), min_coverage=0.5)
    assert reading.values[0] == 0.5
    assert reading.values[1] != reading.values[1]
