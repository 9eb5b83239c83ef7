"""One reading of nodes that is not a sum over their pods, checked and ready to evaluate."""

from dataclasses import dataclass, field

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.coverage import too_few
from rescheduler.policies.shared.unmeasured_nodes import nothing_measured


@dataclass(frozen=True, slots=True)
class Signal:
    """A reading of the selected nodes.

    values: (nodes,) NaN where it is not known, too old, or not a number in 0 to `highest`.
    unknown: (nodes,) selected, ought to have a value, and has none.
    range_samples: (instants, nodes) the values of the requested past; None: it is not known.
    devices: node to its devices, of the nodes with a value whose devices the reading names.
    """

    name: str
    values: FloatArray
    unknown: BoolArray
    range_samples: FloatArray | None = None
    devices: dict[int, list[DeviceValue]] = field(default_factory=dict)


def read_signal(
    snapshot: Snapshot, request: ReadingRequest, selected: BoolArray, highest: float
) -> Signal | Problem:
    """The signal, or why it must not be relied on: no reading, or too few of the nodes."""
    name, nodes = request.name, len(snapshot.nodes)
    reading = snapshot.readings.find(request)
    if reading is None:
        return snapshot.readings.missing_problem(request)
    if reading.problem is not None and not reading.low_coverage:
        return Problem(reading.problem.code, f"{name}: {reading.problem.message}")
    if any(len(array) != nodes for array in (reading.values, reading.ages, reading.expected)):
        return Problem("RDG006", f"{name} has {len(reading.values)} values for {nodes} nodes")
    fit = (reading.ages <= request.max_age) & (reading.values >= 0) & (reading.values <= highest)
    values = np.where(fit, reading.values, np.nan)
    nothing = nothing_measured(snapshot, name, reading.expected, selected)
    if nothing is not None:
        return nothing
    wanted = reading.expected & selected
    unknown = wanted & np.isnan(values)
    few = too_few(snapshot, reading, ~np.isnan(values), selected)
    if few is not None:
        return few
    range_samples = reading.range_samples
    if range_samples is not None:
        range_samples = np.where(
            (range_samples >= 0) & (range_samples <= highest), range_samples, np.nan
        )
    devices: dict[int, list[DeviceValue]] = {}
    for device in reading.devices:
        if selected[device.node] and not np.isnan(values[device.node]):
            devices.setdefault(device.node, []).append(device)
    return Signal(name, values, unknown, range_samples, devices)
