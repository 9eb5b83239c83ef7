"""Which of a device's series counts, whatever the source and the exporter make of them."""

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from tests import cluster
from tests.cases import every
from tests.sources.metrics import Stub, read

TARGET = {"job": "dcgm", "instance": "10.244.0.9:9400"}
"""One exporter; all series of one of its scrapes have one time."""
EXPORTER = {"namespace": "gpu", "pod": "dcgm-x"}


def device(number: int, **more: str) -> dict[str, str]:
    return {**TARGET, "Hostname": "n1", "UUID": f"GPU-{number}", "gpu": str(number), **more}


def held(number: int, pod: str, **more: str) -> dict[str, str]:
    """As with honorLabels false."""
    workload = {"exported_namespace": "default", "exported_pod": pod}
    return device(number, **EXPORTER, **workload, **more)


def fleet(gpus: int, **asked: int) -> Snapshot:
    """One node, and the pods that ask for so many GPUs."""
    node = cluster.node("n1", allocatable={"nvidia.com/gpu": str(gpus)})
    pods = [
        cluster.pod(name, "n1", requests={"nvidia.com/gpu": str(count)})
        for name, count in asked.items()
    ]
    return cluster.snapshot([node], pods)


@pytest.mark.parametrize("ago", [25.0, 100.0])
def test_what_a_newer_scrape_lacks_has_ended(
    ago: float,
) -> None:
    """VictoriaMetrics answers with the last sample of a series that has ended, for minutes."""
    old, new = device(0, pod="before"), device(0, pod="after")
    fresh = [(old, ago), (new, 10.0)]
    stub = Stub().series("node.gpu", [(old, 1.0), (new, 0.0)], fresh=fresh)
    reading = read(stub, "node.gpu", fleet(1))
    assert reading.problem is None
    # The mean over the window's samples, half of which are those of before.
    assert reading.values.tolist() == [0.5]
    assert reading.ages.tolist() == [10.0]


def test_series_of_one_scrape_that_differ_are_no_value() -> None:
    rows = [(device(0, pod="one"), 1.0), (device(0, pod="other"), 0.0)]
    reading = read(Stub().series("node.gpu", rows), "node.gpu", fleet(1))
    assert reading.problem is not None
    assert reading.problem.code == "RDG005"


@pytest.mark.parametrize("other", [{"instance": "10.244.0.8:9400"}, {"job": "again"}])
def test_of_two_exporters_neither_ends_the_others_series(other: dict[str, str]) -> None:
    one, second = device(0), {**device(0), **other}
    fresh = [(one, 40.0), (second, 10.0)]
    stub = Stub().series("node.gpu", [(one, 1.0), (second, 0.0)], fresh=fresh)
    reading = read(stub, "node.gpu", fleet(1))
    assert reading.problem is not None
    assert reading.problem.code == "RDG005"


def test_series_without_a_target_are_not_taken_for_ended() -> None:
    rows = [({"Hostname": "n1", "UUID": "GPU-0", "pod": pod}, float(pod)) for pod in ("1", "0")]
    fresh = [(labels, 40.0 - 30 * n) for n, (labels, _) in enumerate(rows)]
    reading = read(Stub().series("node.gpu", rows, fresh=fresh), "node.gpu", fleet(1))
    assert reading.problem is not None
    assert reading.problem.code == "RDG005"


def test_a_pod_that_came_again_on_another_device_has_that_one_alone() -> None:
    """The device that it had is another pod's now, and its own is none of two."""
    before, now, other = held(0, "train"), held(1, "train"), held(0, "next")
    fresh = [(before, 60.0), (now, 10.0), (other, 10.0)]
    rows = [(before, 0.9), (now, 0.4), (other, 0.2)]
    reading = read(
        Stub().series("pod.gpu", rows, fresh=fresh), "pod.gpu", fleet(2, train=1, next=1)
    )
    assert reading.problem is None
    assert reading.values.tolist() == [0.4, 0.2]


def test_a_pod_is_none_of_a_devices_holders_once_it_is_idle() -> None:
    before, idle, now = held(0, "train"), device(0, **EXPORTER), held(1, "train")
    fresh = [(before, 60.0), (idle, 10.0), (now, 10.0)]
    stub = Stub().series("pod.gpu", [(before, 0.9), (idle, 0.0), (now, 0.4)], fresh=fresh)
    assert read(stub, "pod.gpu", fleet(2, train=1)).values.tolist() == [0.4]


def test_a_device_is_as_busy_as_its_own_series_says() -> None:
    """With virtual GPUs, newer exporters add a series for each pod's processes to the device's."""
    rows = [
        (device(0, **EXPORTER), 95.0),
        (held(0, "one", vgpu="0"), 70.0),
        (held(0, "other", vgpu="1"), 25.0),
    ]
    stub = Stub().series("node.gpu", rows, source=1)
    reading = read(stub, "node.gpu", fleet(1))
    assert reading.problem is None
    assert reading.values.tolist() == [pytest.approx(0.95)]


def test_a_device_with_only_copies_is_as_busy_as_they_agree() -> None:
    """With virtual GPUs, older exporters copy the device's value for each of its pods."""
    copies = [(held(0, pod, vgpu=n), 95.0) for n, pod in (("0", "one"), ("1", "other"))]
    reading = read(Stub().series("node.gpu", copies, source=1), "node.gpu", fleet(1))
    assert reading.values.tolist() == [pytest.approx(0.95)]
    differ = [(held(0, "one", vgpu="0"), 95.0), (held(0, "other", vgpu="1"), 20.0)]
    doubted = read(Stub().series("node.gpu", differ, source=1), "node.gpu", fleet(1))
    assert doubted.problem is not None
    assert np.isnan(doubted.values).all()


@every(
    [
        {"exported_namespace": "default", "exported_pod": "train", **EXPORTER},
        {"namespace": "default", "pod": "train"},
        # dcgm-exporter --use-old-namespace.
        {"pod_namespace": "default", "pod_name": "train", **EXPORTER},
        # Collectors that set only one of the two themselves, as Google's may.
        {"namespace": "gpu", "exported_namespace": "default", "pod": "train"},
        {"pod": "dcgm-x", "exported_pod": "train", "namespace": "default"},
    ]
)
def test_the_pod_of_a_device_is_found_under_each_name_of_its_labels(
    workload: dict[str, str],
) -> None:
    idle = {**device(1), **{key: EXPORTER[key] for key in EXPORTER if key in workload}}
    stub = Stub().series("pod.gpu", [(device(0, **workload), 0.8), (idle, 0.0)])
    reading = read(stub, "pod.gpu", fleet(2, train=1))
    assert reading.problem is None
    assert reading.values.tolist() == [0.8]
    for label in workload:
        assert label in stub.query("pod.gpu")


def test_devices_whose_labels_name_no_pod_are_the_reason_for_having_none() -> None:
    rows = [(device(0, **EXPORTER, workload="default/train"), 0.8)]
    reading = read(Stub().series("pod.gpu", rows), "pod.gpu", fleet(1, train=1))
    assert reading.problem is not None
    assert reading.problem.code == "RDG003"
    assert "series of devices that name no pod with GPUs (1, such as {" in reading.problem.message
