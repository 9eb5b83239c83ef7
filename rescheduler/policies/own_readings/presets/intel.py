"""Intel GPUs by XPU Manager 2 (`xpumd`), and Gaudi by its metric exporter.

What is not built in. XPU Manager's ServiceMonitor sets `node`; the node of Gaudi's exporter is that
of its pod. Gaudi's series are in percent and milliwatts.
"""

from rescheduler.policies.own_readings.definition import OwnReading, ReadingLabels

_XPU = ["gpu.intel.com/i915", "gpu.intel.com/xe"]
_GAUDI = ["habana.ai/gaudi"]
_WHERE = "cluster,job,instance,namespace,pod,node"
_DEVICE = ReadingLabels(device="device")


def _either(xpu: str, gaudi: str, scale: str) -> str:
    """Of each device whichever of both there is, with its label under one name."""
    one = f'label_replace(max by ({_WHERE},pci_bdf) ({xpu}), "device", "$1", "pci_bdf", "(.+)")'
    two = f'label_replace(max by ({_WHERE},UUID) ({gaudi}), "device", "$1", "UUID", "(.+)")'
    return f"{one} or {two}{scale}"


def _fresh(xpu: str, gaudi: str) -> str:
    return _either(f"timestamp({xpu})", f"timestamp({gaudi})", "")


def _mean(selector: str) -> str:
    return f"avg_over_time({selector}[$window])"


_HOT = 'hw_temperature_celsius{$match hw_sensor_location="gpu"}'
_POWER = "hw_power_watts{$match}"


INTEL: dict[str, OwnReading] = {
    "node.gpu.temperature": OwnReading(
        value=_either(_mean(_HOT), _mean("habanalabs_temperature_onchip{$match}"), ""),
        fresh=_fresh(_HOT, "habanalabs_temperature_onchip{$match}"),
        unit="celsius",
        labels=_DEVICE,
        resources=_XPU + _GAUDI,
    ),
    "node.gpu.power": OwnReading(
        value=_either(_mean(_POWER), _mean("habanalabs_power_mW{$match}"), " / 1000"),
        fresh=_fresh(_POWER, "habanalabs_power_mW{$match}"),
        unit="watts",
        labels=_DEVICE,
        combine="Total",
        resources=_XPU + _GAUDI,
    ),
}
