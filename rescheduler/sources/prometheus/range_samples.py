"""The past of a reading: the same reading, put together again at instants before the evaluation.

The values of a subquery (`min_over_time((query)[10m:1m])`) could not be trusted: it passes over
evaluations that had no value, a device at a time. Here each evaluation goes the whole way of the
reading itself, with its ages, its devices and its folds, and costs about what the subquery does,
because a range query reads the samples once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from rescheduler.model.cluster.readings import DeviceValue, FloatArray, Reading, instants
from rescheduler.model.errors import MetricsUnavailable
from rescheduler.sources.prometheus.assembly import Assembly
from rescheduler.sources.prometheus.http.http_api import Evaluations, Vector
from rescheduler.sources.prometheus.indexed_cluster import IndexedCluster
from rescheduler.sources.prometheus.labels import SeenLabels

MOST_ROWS = 600_000
"""Values of an answer that are held at a time: of nodes all instants, of many devices only some.
One is about 30 bytes while the answer is read, and 9 after it."""

AskRange = Callable[[str, float, float, int], Evaluations]
"""Sends a template for `count` evaluations from `start` on, every `step` seconds."""


def with_range_samples(
    reading: Reading, cluster: IndexedCluster, at: float, ask: AskRange, seen: SeenLabels | None
) -> Reading:
    """The reading with its values at each instant of its request's span.

    at: the evaluation time of the reading itself, which is the last row of the range samples.
    Where the past cannot be read, the reading has none, and a note has the reason.
    seen: of devices, the labels that their series had so far.
    """
    times = _times(reading.request.span, at)
    past = _Past(np.full((len(times) + 1, len(reading.values)), np.nan), [{} for _ in (*times, at)])
    past.add(len(times), reading)
    devices = len(reading.values) if seen is None else int(cluster.expectation.gpus.sum())
    rows = max(devices, 1)
    try:
        for first, piece in _pieces(times, max(MOST_ROWS // rows, 1)):
            for row, then in enumerate(_readings_at(piece, reading, cluster, ask, seen)):
                past.add(first + row, then)
    except MetricsUnavailable as error:
        note = f"what it was in the last {reading.request.span:g} s is not known: {error}"
        return replace(reading, notes=(*reading.notes, note))
    missing = int(np.isnan(past.values[:-1]).all(axis=1).sum())
    return replace(
        reading,
        range_samples=past.values,
        devices=tuple(map(past.device_with_past, reading.devices)),
        notes=(*reading.notes, *_missing_note(missing, len(times), reading.request.span)),
    )


def _times(span: float, at: float) -> FloatArray:
    """(k-1,) the times of `instants` but the last, each moved back to a multiple of their step.

    The query frontends of Thanos and others move requested times to such multiples, and would
    otherwise answer for other instants. Moved back, a value counts for no longer than it has been;
    the oldest is up to one step older.
    """
    ago = instants(span)
    step = ago[-2]
    return np.asarray(np.floor(at / step) * step - ago[:-1], dtype=np.float64)


def _missing_note(missing: int, count: int, span: float) -> tuple[str, ...]:
    if not missing:
        return ()
    return (f"at {missing} of {count} instants of the last {span:g} s nothing was measured",)


@dataclass(frozen=True, slots=True)
class _Past:
    """values: (instants, subjects). devices: at each instant the values of each node's devices."""

    values: FloatArray
    devices: list[dict[int, dict[str, float]]]

    def add(self, row: int, reading: Reading) -> None:
        """What the reading was at that instant."""
        self.values[row] = reading.values
        for device in reading.devices:
            self.devices[row].setdefault(device.node, {})[device.device] = device.value

    def device_with_past(self, device: DeviceValue) -> DeviceValue:
        """The device with its past. Devices of nodes where all were at 0 are not listed."""
        range_samples = tuple(
            float(value)
            if not devices.get(device.node)
            else devices[device.node].get(device.device, nan)
            for value, devices in zip(self.values[:, device.node], self.devices, strict=True)
        )
        return replace(device, range_samples=range_samples)


def _pieces(times: FloatArray, size: int) -> Iterator[tuple[int, FloatArray]]:
    for first in range(0, len(times), size):
        yield first, times[first : first + size]


def _readings_at(
    times: FloatArray,
    reading: Reading,
    cluster: IndexedCluster,
    ask: AskRange,
    seen: SeenLabels | None,
) -> Iterator[Reading]:
    """The reading at each of these instants; a template is sent once for all of them."""
    step = float(instants(reading.request.span)[-2])
    answers: dict[str, Evaluations] = {}
    for row, at in enumerate(times.tolist()):

        def ask_at(template: str, row: int = row) -> Vector:
            if template not in answers:
                answers[template] = ask(template, float(times[0]), step, len(times))
                if seen is not None:  # three series of each device are put together
                    answers[template].relabel(seen.first_labels)
            return answers[template][row]

        yield Assembly(reading.request, cluster, at, ask_at, past=True).reading("", (), "")
