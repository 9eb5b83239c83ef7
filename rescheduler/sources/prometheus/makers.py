"""Accelerators of other makers than NVIDIA: which series are their load and memory.

Sources: AMD device-metrics-exporter 1.3 (docs/configuration/metricslist), Intel XPU Manager 2
(OpenTelemetry names), Intel Gaudi's metric exporter. A device that is partitioned (AMD's CPX, DPX)
reports its activity by its first partition, so parts are one device here.
"""

from rescheduler.kube.accelerators import AMD, GAUDI, INTEL
from rescheduler.sources.prometheus.definition import Source

_PLACE = "cluster,job,instance,namespace,pod,node,hostname,exported_namespace,exported_pod"
_AMD = f"{_PLACE},serial_number,gpu_uuid,gpu_id"
_INTEL = f"{_PLACE},pci_bdf"
_GAUDI = f"{_PLACE},UUID,uuid,device"
_MIB = 2.0**20
"""AMD says MB, and an MI300X of 192 GiB reports 196,592 of them."""


def _mean(metric: str, key: str, scale: float, maker: str, only: str = "") -> Source:
    """The mean over the window of each device; of several parts the busiest. only: a matcher."""
    series = f"{metric}{{$match {only}}}" if only else f"{metric}{{$match}}"
    return Source(
        value=f"max by ({key}) (avg_over_time({series}[$window]))",
        fresh=f"max by ({key}) (timestamp({series}))",
        scale=scale,
        maker=maker,
    )


OTHERS_LOAD = (
    _mean("gpu_gfx_activity", _AMD, 0.01, AMD),
    _mean("hw_gpu_utilization_ratio", _INTEL, 1.0, INTEL, 'hw_gpu_task="compute-all"'),
    _mean("habanalabs_utilization", _GAUDI, 0.01, GAUDI),
)
OTHERS_MEMORY = (
    _mean("gpu_used_vram", _AMD, _MIB, AMD),
    _mean("habanalabs_memory_used_bytes", _GAUDI, 1.0, GAUDI),
)
OTHERS_MEMORY_FREE = (
    _mean("gpu_free_vram", _AMD, _MIB, AMD),
    _mean("habanalabs_memory_free_bytes", _GAUDI, 1.0, GAUDI),
)
