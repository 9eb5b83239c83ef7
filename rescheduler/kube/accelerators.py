"""Which extended resources and drivers of resource claims are of GPUs and accelerators."""

from collections.abc import Iterable

GPUS = (
    "nvidia.com/gpu",
    "nvidia.com/mig-",
    "amd.com/gpu",
    "amd.com/cpx",
    "amd.com/spx",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
)
"""How the names of extended resources of GPUs begin: those of the makers' device plugins."""

DRIVERS = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gaudi.intel.com")
"""Drivers of dynamic resource allocation that have GPUs."""

_NO_DEVICES = ("gpu.intel.com/i915_monitoring", "gpu.intel.com/xe_monitoring")
"""Resources of Intel's plugin that only let a pod look at the GPUs."""


def gpus_among(resources: Iterable[str]) -> list[str]:
    """Those of these extended resources that are GPUs."""
    return [
        name for name in resources if name.startswith(GPUS) and not name.startswith(_NO_DEVICES)
    ]
