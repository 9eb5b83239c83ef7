"""AMD GPUs by device-metrics-exporter 1.2 and later (ROCm/device-metrics-exporter).

What is not built in. MI2xx report their edge's temperature, others that of the junction; all report
the same power. `hostname`, `gpu_id` and `gpu_partition_id` cannot be switched off there. Of a
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


def _warmest(metric: str) -> str:
    return f"max by ({_KEY}) (avg_over_time({metric}{{{_FIRST}}}[$window]))"


AMD: dict[str, OwnReading] = {
    "node.gpu.temperature": OwnReading(
        value=f"{_warmest('gpu_junction_temperature')} or {_warmest('gpu_edge_temperature')}",
        fresh=f"{_newest('gpu_junction_temperature')} or {_newest('gpu_edge_temperature')}",
        unit="celsius",
        labels=_DEVICE,
        resources=_GPU,
    ),
    "node.gpu.power": OwnReading(
        value=_mean("gpu_power_usage"),
        fresh=_newest("gpu_power_usage"),
        unit="watts",
        labels=_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
}
