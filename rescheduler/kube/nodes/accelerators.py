"""Accelerators as device plugins offer them: the maker, whole or shared, and of how many devices.

Sources: k8s-device-plugin 0.18 (docs/gpu-feature-discovery, `sharing` and `renameByDefault`), GKE's
node labels for shared GPUs, AMD's device plugin (resource naming strategy), Intel's device plugins
(cmd/gpu_plugin, `-shared-dev-num`; labels of the NFD rules), Habana's device plugin.
"""

import functools
import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rescheduler.kube.objects import Labels, Resources
from rescheduler.kube.quantity import units

NVIDIA, AMD, INTEL, GAUDI = "nvidia", "amd", "intel", "gaudi"
SHARED = ".shared"
"""How NVIDIA's plugin ends the name of a resource whose replicas it renames."""

_MIG = "nvidia.com/mig-"
_SLICES = 7
"""Of an A100, H100, H200 or B200, as of every GPU below whose profiles are not listed here."""
_FEWER_SLICES = {
    **dict.fromkeys(("1g.6gb", "2g.12gb", "4g.24gb"), 4),  # A30
    **dict.fromkeys(("2g.48gb", "4g.96gb"), 4),  # RTX PRO 6000 Blackwell
    **dict.fromkeys(("1g.16gb", "2g.32gb"), 2),  # RTX PRO 4500 Blackwell
}
"""Profile to how many slices its GPU has: NVIDIA's MIG user guide, "Supported MIG Profiles", and
its tables of MIG-backed vGPU types. An RTX PRO 6000 has four of `1g.24gb`, as H100s of 94 GB have
it too: it counts as a seventh, for less than it may be."""
_PROFILE = re.compile(r"(\d)g\.\d+gb")
_MAKERS = (
    (re.compile(r"nvidia\.com/(gpu|mig-[0-9a-z.+]+?)(\.shared)?"), NVIDIA),
    (re.compile(r"amd\.com/(gpu|[sdqct]px(_nps[0-9])?)"), AMD),
    (re.compile(r"gpu\.intel\.com/(i915|xe)"), INTEL),
    (re.compile(r"habana\.ai/gaudi[0-9]*"), GAUDI),
)
_MAKER_OF_DRIVER = {
    "gpu.nvidia.com": NVIDIA,
    "gpu.amd.com": AMD,
    "gpu.intel.com": INTEL,
    "gaudi.intel.com": GAUDI,
}
_GKE_CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"
_GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_INTEL_COUNT = re.compile(r"gpu\.intel\.com/device-id\.[0-9a-f-]+\.count")


@functools.lru_cache(maxsize=1024)
def maker(resource: str) -> str:
    """Who makes the devices that this resource counts; "" where it counts none that we know.

    A cluster has few resources, and every node and pod names some.
    """
    for pattern, name in _MAKERS:
        if pattern.fullmatch(resource):
            return name
    return ""


def maker_of_driver(driver: str) -> str:
    """Who makes the devices of this driver of resource claims; "" where that is not known."""
    return _MAKER_OF_DRIVER.get(driver, "")


def gpus_among(resources: Iterable[str]) -> list[str]:
    """Those of these extended resources that are GPUs or the like."""
    return [name for name in resources if maker(name)]


class AcceleratorOffer(NamedTuple):
    """One resource of a node that counts accelerators.

    units: how much of it pods can ask for. replicas: how many pods at most share one device, 1
    where each has it whole, 0 where they share it and nobody reports how many. profile: of the
    partitions (MIG), such as `1g.10gb`; "" for whole devices.
    """

    resource: str
    maker: str
    units: int
    replicas: int
    profile: str

    @property
    def shared(self) -> bool:
        """Whether a device of it may have several pods."""
        return self.replicas != 1

    @property
    def devices(self) -> int:
        """How many devices, or partitions of some, are behind it; at least that many."""
        return -(-self.units // self.replicas) if self.replicas else min(self.units, 1)


def offers(resources: Resources | None, labels: Labels | None) -> list[AcceleratorOffer]:
    """What a node with these allocatable resources and labels offers, by the resources' names."""
    node_offers = []
    for name in sorted(resources or ()):
        made_by = maker(name)
        amount = units((resources or {})[name]) if made_by else 0
        if amount > 0:
            profile = name.removeprefix(_MIG).removesuffix(SHARED) if name.startswith(_MIG) else ""
            replicas = _replicas(name, made_by, amount, labels or {})
            node_offers.append(AcceleratorOffer(name, made_by, amount, replicas, profile))
    return node_offers


def offer_of(offered: Iterable[AcceleratorOffer], device: str) -> AcceleratorOffer | None:
    """What a device of the node belongs to, by its identity: `UUID`, or `UUID/ID/PROFILE`.

    With MIG's strategy `single` partitions are offered as whole GPUs are.
    """
    profile = device.partition("/")[2].partition("/")[2]
    plain = None
    for offer in offered:
        if offer.profile and offer.profile == profile:
            return offer
        if not offer.profile:
            plain = offer
    return plain


def part_of_gpu(profile: str) -> float:
    """What a partition (MIG) is of a GPU: of `2g.20gb` two of seven slices; 1 for a whole one.

    NaN where the profile does not name it.
    """
    if not profile:
        return 1.0
    match = _PROFILE.search(profile)
    return int(match[1]) / _FEWER_SLICES.get(match[0], _SLICES) if match else math.nan


def profile_of_all(labels: Labels | None) -> str:
    """Of which partitions a node's GPUs are where they are offered as GPUs; "" for whole ones.

    So with MIG's strategy `single`, where the product is such as `NVIDIA-A100-MIG-1g.5gb`; and GKE.
    """
    label_values = labels or {}
    if label_values.get("nvidia.com/mig.strategy") == "single":
        product_of_part = label_values.get("nvidia.com/gpu.product", "").removesuffix("-SHARED")
        return product_of_part.partition("-MIG-")[2]
    return label_values.get(_GKE_PARTITION, "")


def requested_accelerators(resources: Resources | None) -> dict[str, int]:
    """The accelerators that a container asks for, by resource."""
    return {name: units(amount) for name, amount in (resources or {}).items() if maker(name)}


def product(labels: Labels | None) -> str:
    """The model of the node's devices as its maker's labels name it; "" where nobody does."""
    label_values = labels or {}
    for label in ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.intel.com/product"):
        if label in label_values:
            return label_values[label].removesuffix("-SHARED")
    return ""


def _replicas(resource: str, made_by: str, amount: int, labels: Mapping[str, str]) -> int:
    if made_by == NVIDIA:
        plain = resource.removesuffix(SHARED)
        replicas = max(_number(labels, f"{plain}.replicas"), _number(labels, _GKE_CLIENTS))
        strategy = labels.get(f"{plain}.sharing-strategy", "none")
        if replicas > 1:
            return replicas
        return 0 if resource != plain or strategy not in ("", "none") else 1
    if made_by == INTEL:
        devices = _number(labels, "gpu.intel.com/device.count") or sum(
            _number(labels, label) for label in labels if _INTEL_COUNT.fullmatch(label)
        )
        return -(-amount // devices) if 0 < devices < amount else 1
    return 1


def _number(labels: Mapping[str, str], label: str) -> int:
    text = labels.get(label, "")
    return int(text) if text.isdecimal() else 0
