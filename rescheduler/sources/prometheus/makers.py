"""Accelerators of other makers than NVIDIA: which series are their load and memory.

Sources: AMD device-metrics-exporter 1.3 (docs/configuration/metricslist), Intel XPU Manager 2
(OpenTelemetry names), Intel Gaudi's metric exporter. A device that is partitioned (AMD's CPX, DPX)
reports its activity by its first partition, so that one stands for the device here.
"""

from rescheduler.kube.accelerators import AMD, GAUDI, INTEL
from rescheduler.sources.prometheus.definition import Source, gauge_of_devices

_PLACE = "cluster,job,instance,namespace,pod,node,hostname,exported_namespace,exported_pod"
_AMD = f"{_PLACE},serial_number,gpu_uuid,gpu_id"
_INTEL = f"{_PLACE},pci_bdf"
_GAUDI = f"{_PLACE},UUID,uuid,device"
_MIB = 2.0**20
"""AMD says MB, and an MI300X of 192 GiB reports 196,592 of them."""


_FIRST = 'gpu_partition_id=~"0?"'


def _amd(metric: str, scale: float) -> Source:
    return gauge_of_devices(metric, _AMD, scale, AMD, _FIRST)


def _mean(metric: str, key: str, scale: float, maker: str, only: str = "") -> Source:
    """The mean over the window of each device; of several parts the busiest. only: a matcher."""
    series = f"{metric}{{$match {only}}}" if only else f"{metric}{{$match}}"
    return Source(
        value=f"max by ({key}) (avg_over_time({series}[$window]))",
        fresh=f"max by ({key}) (timestamp({series}))",
        scale=scale,
        maker=maker,
    )


_INTEL_USED = 'hw_memory_usage_bytes{$match hw_memory_location="device"}'
_INTEL_SIZE = 'hw_memory_size_bytes{$match hw_memory_location="device"}'


def _all_of(series: str) -> str:
    """All memories of each device together."""
    return f"sum by ({_INTEL}) (avg_over_time({series}[$window]))"


OTHERS_LOAD = (
    _amd("gpu_gfx_activity", 0.01),
    _mean("hw_gpu_utilization_ratio", _INTEL, 1.0, INTEL, 'hw_gpu_task="compute-all"'),
    _mean("habanalabs_utilization", _GAUDI, 0.01, GAUDI),
)
OTHERS_MEMORY = (
    _amd("gpu_used_vram", _MIB),
    Source(
        value=_all_of(_INTEL_USED),
        fresh=f"max by ({_INTEL}) (timestamp({_INTEL_USED}))",
        maker=INTEL,
    ),
    _mean("habanalabs_memory_used_bytes", _GAUDI, 1.0, GAUDI),
)
OTHERS_MEMORY_FREE = (
    _amd("gpu_free_vram", _MIB),
    Source(
        value=f"{_all_of(_INTEL_SIZE)} - {_all_of(_INTEL_USED)}",
        fresh=f"max by ({_INTEL}) (timestamp({_INTEL_SIZE}))",
        maker=INTEL,
    ),
    _mean("habanalabs_memory_free_bytes", _GAUDI, 1.0, GAUDI),
)
