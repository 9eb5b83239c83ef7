"""Accelerators of other makers than NVIDIA: which series are their load, memory and errors.

Sources: AMD device-metrics-exporter 1.3 (docs/configuration/metricslist), Intel XPU Manager 2
(OpenTelemetry names), Intel Gaudi's metric exporter (its labels are Serial, UUID, device, id,
pod_namespace, pod_name). A device that is partitioned (AMD's CPX, DPX) reports its activity by its
first partition, so that one stands for the device here. AMD's `gpu_afid_errors` is no counterpart
of XIDs, as it holds corrected errors too; nor are XPU Manager's uncorrectable errors, whose
categories hold those of drivers and programs beside those of the hardware.
"""

from rescheduler.kube.nodes.accelerators import AMD, GAUDI, INTEL
from rescheduler.sources.prometheus.definition import Source, gauge_of_devices, growth_of_devices

_PLACE = "cluster,job,instance,namespace,pod,node,hostname,exported_namespace,exported_pod"
_AMD = f"{_PLACE},serial_number,gpu_uuid,gpu_id"
_INTEL = f"{_PLACE},pci_bdf"
_GAUDI = f"{_PLACE},pod_namespace,pod_name,UUID,uuid,device"
_AMD_DEVICE = "cluster,job,instance,node,hostname,serial_number,gpu_uuid,gpu_id"
_GAUDI_DEVICE = "cluster,job,instance,namespace,pod,node,UUID,uuid"
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
    gauge_of_devices("habanalabs_utilization", _GAUDI, 0.01, GAUDI),
)
OTHERS_MEMORY = (
    _amd("gpu_used_vram", _MIB),
    Source(
        value=_all_of(_INTEL_USED),
        fresh=f"max by ({_INTEL}) (timestamp({_INTEL_USED}))",
        maker=INTEL,
    ),
    gauge_of_devices("habanalabs_memory_used_bytes", _GAUDI, 1.0, GAUDI),
)
OTHERS_MEMORY_FREE = (
    _amd("gpu_free_vram", _MIB),
    Source(
        value=f"{_all_of(_INTEL_SIZE)} - {_all_of(_INTEL_USED)}",
        fresh=f"max by ({_INTEL}) (timestamp({_INTEL_SIZE}))",
        maker=INTEL,
    ),
    gauge_of_devices("habanalabs_memory_free_bytes", _GAUDI_DEVICE, 1.0, GAUDI),
)


def _quantile(
    metric: str, key: str, quantile: float, scale: float, maker: str, only: str = ""
) -> Source:
    """What samples of the window are below for that share of them, whichever pod had the device."""
    series = f"{metric}{{$match {only}}}" if only else f"{metric}{{$match}}"
    return Source(
        value=f"max by ({key}) (quantile_over_time({quantile:g}, {series}[$window]))",
        fresh=f"max by ({key}) (timestamp({series}))",
        scale=scale,
        maker=maker,
    )


def others_peak(peak: float) -> tuple[Source, ...]:
    """Their load at that quantile."""
    compute = 'hw_gpu_task="compute-all"'
    return (
        _quantile("gpu_gfx_activity", _AMD_DEVICE, peak, 0.01, AMD, _FIRST),
        _quantile("hw_gpu_utilization_ratio", _INTEL, peak, 1.0, INTEL, compute),
        _quantile("habanalabs_utilization", _GAUDI_DEVICE, peak, 0.01, GAUDI),
    )


def others_memory_peak(peak: float) -> tuple[Source, ...]:
    """The memory that they use at that quantile."""
    return (
        _quantile("gpu_used_vram", _AMD_DEVICE, peak, _MIB, AMD, _FIRST),
        _quantile("habanalabs_memory_used_bytes", _GAUDI_DEVICE, peak, 1.0, GAUDI),
    )


def others_memory_free(quantile: float) -> tuple[Source, ...]:
    """The memory that is free at that quantile."""
    return (
        _quantile("gpu_free_vram", _AMD_DEVICE, quantile, _MIB, AMD, _FIRST),
        _quantile("habanalabs_memory_free_bytes", _GAUDI_DEVICE, quantile, 1.0, GAUDI),
    )


_AMD_ECC = "gpu_ecc_uncorrect_total"
_GAUDI_ECC = "habanalabs_pending_rows_with_double_bit_ecc_errors"


def _growth(metric: str, key: str, maker: str) -> Source:
    return Source(
        value=growth_of_devices(metric, key, key),
        fresh=f"max by ({key}) (timestamp({metric}{{$match}}))",
        maker=maker,
    )


OTHERS_ECC = (
    _growth(_AMD_ECC, _AMD_DEVICE, AMD),
    _growth(_GAUDI_ECC, _GAUDI_DEVICE, GAUDI),
)
OTHERS_ECC_HOLDERS = (
    f"max by ({_AMD}) (timestamp({_AMD_ECC}{{$match}}))"
    f" or max by ({_GAUDI}) (timestamp({_GAUDI_ECC}{{$match}}))"
)
"""Which pods have the devices whose errors are counted."""
