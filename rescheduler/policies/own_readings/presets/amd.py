"""AMD GPUs by device-metrics-exporter 1.2 and later (ROCm/device-metrics-exporter).

What is not built in. `hostname`, `gpu_id` and `gpu_partition_id` cannot be switched off there. Of a
GPU in partitions only partition 0 reports activity, so that one is read.
"""

from rescheduler.policies.own_readings.definition import OwnReading, ReadingLabels

_GPU = ["amd.com/gpu"]
_FIRST = '$match gpu_partition_id=~"0?"'
_KEY = "cluster,hostname,gpu_id"
_DEVICE = ReadingLabels(node="hostname", device="gpu_id")


def _mean(metric: str) -> str:
    """The mean over the window, also of a GPU whose pod changes and whose series so ends."""
    samples = f"{metric}{{{_FIRST}}}[$window]"
    return (
        f"sum by ({_KEY}) (sum_over_time({samples})) / sum by ({_KEY}) (count_over_time({samples}))"
    )


def _newest(metric: str) -> str:
    return f"max by ({_KEY}) (timestamp({metric}{{{_FIRST}}}))"


AMD: dict[str, OwnReading] = {
    "node.gpu.temperature": OwnReading(
        value=f"max by ({_KEY}) (avg_over_time(gpu_junction_temperature{{{_FIRST}}}[$window]))",
        fresh=_newest("gpu_junction_temperature"),
        unit="celsius",
        labels=_DEVICE,
        resources=_GPU,
    ),
    "node.gpu.power": OwnReading(
        value=_mean("gpu_package_power"),
        fresh=_newest("gpu_package_power"),
        unit="watts",
        labels=_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
}
