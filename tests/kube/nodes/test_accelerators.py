"""Which accelerators a node offers, whole or shared, by its resources and labels."""

import math

import pytest

from rescheduler.kube.nodes.accelerators import maker, offer_of, offers, part_of_gpu
from tests.cases import every


@every(
    [
        ("nvidia.com/gpu", {}, 8, False),
        ("nvidia.com/gpu", {"nvidia.com/gpu.replicas": "1"}, 8, False),
        ("nvidia.com/gpu", {"nvidia.com/gpu.sharing-strategy": "none"}, 8, False),
        ("nvidia.com/gpu", {"nvidia.com/gpu.replicas": "4"}, 2, True),
        ("nvidia.com/gpu", {"nvidia.com/gpu.sharing-strategy": "mps"}, 1, True),
        ("nvidia.com/gpu.shared", {"nvidia.com/gpu.replicas": "2"}, 4, True),
        ("nvidia.com/gpu.shared", {}, 1, True),
        ("nvidia.com/mig-1g.10gb", {}, 8, False),
        ("nvidia.com/mig-1g.10gb", {"nvidia.com/gpu.replicas": "4"}, 8, False),
        ("nvidia.com/mig-1g.10gb.shared", {"nvidia.com/mig-1g.10gb.replicas": "4"}, 2, True),
        ("nvidia.com/gpu", {"cloud.google.com/gke-max-shared-clients-per-gpu": "8"}, 1, True),
        ("amd.com/gpu", {}, 8, False),
        ("gpu.intel.com/i915", {}, 8, False),
        ("gpu.intel.com/xe", {"gpu.intel.com/device.count": "2"}, 2, True),
        ("gpu.intel.com/i915", {"gpu.intel.com/device-id.0300-56c0.count": "8"}, 8, False),
        ("habana.ai/gaudi", {}, 8, False),
    ]
)
def test_devices_are_whole_unless_the_node_says_that_they_are_shared(
    resource: str, labels: dict[str, str], devices: int, shared: bool
) -> None:
    (offer,) = offers({"cpu": "64", resource: "8"}, labels)
    assert (offer.devices, offer.shared) == (devices, shared)


@every(["cpu", "nvidia.com/gpumem", "amd.com/other", "x/gpu"])
def test_other_resources_are_no_accelerators(resource: str) -> None:
    assert maker(resource) == ""
    assert offers({resource: "8"}, {}) == []


def test_a_partition_belongs_to_the_offer_of_its_profile() -> None:
    found = offers({"nvidia.com/gpu": "2", "nvidia.com/mig-3g.40gb": "2"}, {})
    part, whole = offer_of(found, "GPU-1/5/3g.40gb"), offer_of(found, "GPU-2")
    assert part is not None
    assert whole is not None
    assert (part.profile, whole.resource) == ("3g.40gb", "nvidia.com/gpu")
    single = offers({"nvidia.com/gpu": "14"}, {})
    assert offer_of(single, "GPU-1/5/1g.10gb") == single[0]
    assert offer_of([], "GPU-1") is None


@every(
    [
        ("", 1.0),
        ("1g.10gb", 1 / 7),
        ("7g.80gb", 1.0),
        ("1g.6gb", 1 / 4),
        ("1g.6gb.me", 1 / 4),
        ("2g.12gb+me", 2 / 4),
        ("4g.24gb", 1.0),
        ("4g.96gb", 1.0),
        ("2g.32gb", 1.0),
        ("1g.12gb", 1 / 7),
        ("2g.24gb", 2 / 7),
    ]
)
def test_a_partition_is_the_part_that_its_slices_are_of_its_gpu(profile: str, part: float) -> None:
    assert part_of_gpu(profile) == pytest.approx(part)


def test_a_partition_without_a_profile_is_of_unknown_size() -> None:
    assert math.isnan(part_of_gpu("?"))
