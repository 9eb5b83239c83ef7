"""AMD GPUs by device-metrics-exporter 1.2 and later (ROCm/device-metrics-exporter).

`hostname`, `gpu_id`, `pod`, `namespace` and `gpu_partition_id` cannot be switched off there. Its
chart scrapes with honorLabels, so `pod` and `namespace` are of the pod that has the GPU; without,
they come as `exported_pod` and `exported_namespace`. Of a GPU in partitions only partition 0
reports activity. Memory is in MiB, activity in percent.
"""

from rescheduler.policies.own_readings.definition import Capacity, OwnReading, ReadingLabels

_GPU = ["amd.com/gpu"]
_FIRST = '$match gpu_partition_id=~"0?"'
_KEY = "cluster,hostname,gpu_id"
_POD_KEY = f"{_KEY},exported_namespace,exported_pod,namespace,pod"
_DEVICE = ReadingLabels(node="hostname", device="gpu_id")
_POD_DEVICE = ReadingLabels(device="gpu_id")
_MIB = "1048576"


def _mean(metric: str, key: str) -> str:
    """The mean over the window, also of a GPU whose pod changes and whose series so ends."""
    samples = f"{metric}{{{_FIRST}}}[$window]"
    return (
        f"sum by ({key}) (sum_over_time({samples})) / sum by ({key}) (count_over_time({samples}))"
    )


def _newest(metric: str, key: str) -> str:
    return f"max by ({key}) (timestamp({metric}{{{_FIRST}}}))"


AMD: dict[str, OwnReading] = {
    "node.gpu": OwnReading(
        value=f"{_mean('gpu_gfx_activity', _KEY)} / 100",
        fresh=_newest("gpu_gfx_activity", _KEY),
        unit="ratio",
        capacity=Capacity(allocatable=True),
        labels=_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
    "node.gpu.memory": OwnReading(
        value=f"{_mean('gpu_used_vram', _KEY)} * {_MIB}",
        fresh=_newest("gpu_used_vram", _KEY),
        unit="bytes",
        capacity=Capacity(query=f"{_mean('gpu_total_vram', _KEY)} * {_MIB}"),
        labels=_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
    "pod.gpu": OwnReading(
        value=f"{_mean('gpu_gfx_activity', _POD_KEY)} / 100",
        fresh=_newest("gpu_gfx_activity", _POD_KEY),
        unit="GPUs",
        labels=_POD_DEVICE,
        resources=_GPU,
    ),
    "pod.gpu.memory": OwnReading(
        value=f"{_mean('gpu_used_vram', _POD_KEY)} * {_MIB}",
        fresh=_newest("gpu_used_vram", _POD_KEY),
        unit="bytes",
        labels=_POD_DEVICE,
        resources=_GPU,
    ),
    "node.gpu.ecc": OwnReading(
        value=f"max by ({_KEY}) (increase(gpu_ecc_uncorrect_total{{{_FIRST}}}[$window]))",
        fresh=_newest("gpu_ecc_uncorrect_total", _KEY),
        unit="count",
        labels=_DEVICE,
        resources=_GPU,
    ),
    "node.gpu.temperature": OwnReading(
        value=f"max by ({_KEY}) (avg_over_time(gpu_junction_temperature{{{_FIRST}}}[$window]))",
        fresh=_newest("gpu_junction_temperature", _KEY),
        unit="celsius",
        labels=_DEVICE,
        resources=_GPU,
    ),
    "node.gpu.power": OwnReading(
        value=_mean("gpu_package_power", _KEY),
        fresh=_newest("gpu_package_power", _KEY),
        unit="watts",
        labels=_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
}
