"""NVIDIA GPUs by dcgm-exporter, beside what is built in: temperature, power, engines and PCIe.

Fields of its default list of counters, but `DCGM_FI_PROF_PCIE_*`, `DCGM_FI_PROF_DRAM_ACTIVE` and
`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`, which need a GPU with profiling fields.
"""

from typing import Literal

from rescheduler.policies.own_readings.definition import OwnReading, ReadingLabels, Unit

_KEY = "cluster,job,instance,node,Hostname,hostname,UUID"
"""Without the pod: of a GPU whose pod changes there are two series in one window."""
_DEVICE = ReadingLabels(device="UUID")


def _gauge(
    metric: str, unit: Unit, combine: Literal["Largest", "Total"], more: str = ""
) -> OwnReading:
    terms = [f"avg_over_time({each}{{$match}}[$window])" for each in (metric, more) if each]
    return OwnReading(
        value=f"max by ({_KEY}) ({' + '.join(terms)})",
        fresh=f"max by ({_KEY}) (timestamp({metric}{{$match}}))",
        unit=unit,
        labels=_DEVICE,
        combine=combine,
        resources=["nvidia.com/gpu"],
    )


DCGM: dict[str, OwnReading] = {
    "node.gpu.temperature": _gauge("DCGM_FI_DEV_GPU_TEMP", "celsius", "Largest"),
    "node.gpu.memory.temperature": _gauge("DCGM_FI_DEV_MEMORY_TEMP", "celsius", "Largest"),
    "node.gpu.power": _gauge("DCGM_FI_DEV_POWER_USAGE", "watts", "Total"),
    "node.gpu.tensor": _gauge("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "ratio", "Total"),
    "node.gpu.memory.bandwidth": _gauge("DCGM_FI_PROF_DRAM_ACTIVE", "ratio", "Total"),
    # Both are bytes a second already: gauges, and no counters.
    "node.gpu.pcie": _gauge(
        "DCGM_FI_PROF_PCIE_RX_BYTES", "bytes/s", "Total", more="DCGM_FI_PROF_PCIE_TX_BYTES"
    ),
}
