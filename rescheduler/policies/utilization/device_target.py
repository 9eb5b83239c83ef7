"""When a GPU that pods share is too full: its target, its peaks, and when it was so before."""

from dataclasses import dataclass, replace

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.loads.load import mean_share
from rescheduler.policies.shared.node_signal import read_signal
from rescheduler.policies.utilization.shared_gpus import SharedGpus


@dataclass(frozen=True, slots=True)
class DeviceTarget:
    """When a device is too full. resource: as the policy names it.

    high, low, ceiling: (nodes,) shares of each of the node's devices; NaN where it has no target;
    ceiling is `high` itself, whatever the mean is. elsewhere: up to where pods may fill devices of
    nodes without a target. hidden: (d,) what peaks take beyond the mean; NaN is not known.
    heat: (instants, d) whether each was hot in the past; None where that is not known.
    """

    resource: str
    high: FloatArray
    low: FloatArray
    ceiling: FloatArray
    elsewhere: float
    hidden: FloatArray
    heat: BoolArray | None


def bound_target(
    target: DeviceTarget,
    gpus: SharedGpus,
    wanted: BoolArray,
    balance: tuple[float, float] | None,
) -> DeviceTarget:
    """The target with its past, and bounded by the mean of the devices where they are balanced.

    wanted: (nodes,) which count. balance: how far a device may be above the mean, and the share of
    the devices that must be known for there to be one.
    """
    where = gpus.node
    highs = target.high[where]
    past = gpus.range_samples
    high, low = target.high, target.low
    if past is not None:
        highs = np.broadcast_to(highs, past.shape)
    if balance is not None:
        tolerance, least = balance
        counted = gpus.load_known & wanted[where]
        mean = mean_share(gpus.load, np.ones(len(where)), counted, 0.0)
        high, low = np.minimum(high, mean + tolerance), np.minimum(low, mean)
        if past is not None:
            means = [mean_share(then, np.ones(len(where)), counted, least) for then in past]
            highs = np.minimum(highs, np.array(means)[:, None] + tolerance)
    heat = None if past is None else np.asarray(past > highs)
    return replace(target, high=high, low=low, heat=heat)


def read_device_peaks(
    snapshot: Snapshot, request: ReadingRequest, gpus: SharedGpus, wanted: BoolArray
) -> FloatArray | Problem:
    """(d,) what the peaks of each device take beyond its mean; NaN is not known."""
    signal = read_signal(snapshot, request, wanted & gpus.sharing, highest=1.1)
    if isinstance(signal, Problem):
        return signal
    peaks = {
        (device.node, device.device): device.value
        for devices in signal.devices.values()
        for device in devices
    }
    keys = zip(gpus.node.tolist(), gpus.name, strict=True)
    peak_loads = [peaks.get(key, np.nan) for key in keys]
    return np.maximum(np.array(peak_loads, dtype=np.float64) - gpus.load, 0.0)
