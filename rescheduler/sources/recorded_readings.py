"""The readings in a recording: their arrays as bytes."""

import dataclasses

import msgspec
import numpy as np

from rescheduler.model.cluster.readings import (
    DeviceValue,
    FloatArray,
    MissingValues,
    Reading,
    ReadingRequest,
    instants,
)
from rescheduler.model.problem import Problem


class RecordedReading(msgspec.Struct):
    """A reading; arrays as little-endian float64, `expected` as bytes of 0 and 1."""

    request: ReadingRequest
    unit: str
    values: bytes
    ages: bytes
    expected: bytes
    capacity: bytes | None
    query: str
    notes: list[str]
    problem: Problem | None
    pairs: tuple[tuple[str, str], ...] = ()
    range_samples: bytes | None = msgspec.field(name="trail", default=None)
    devices: tuple[DeviceValue, ...] = ()
    low_coverage: bool = False
    missing: tuple[MissingValues, ...] = ()


def pack_reading(reading: Reading) -> RecordedReading:
    """The reading as it is written."""

    def raw(array: FloatArray) -> bytes:
        return array.astype("<f8").tobytes()

    return RecordedReading(
        request=dataclasses.replace(reading.request, own=None),
        unit=reading.unit,
        values=raw(reading.values),
        ages=raw(reading.ages),
        expected=reading.expected.astype(np.uint8).tobytes(),
        capacity=None if reading.capacity is None else raw(reading.capacity),
        query=reading.query,
        notes=list(reading.notes),
        problem=reading.problem,
        pairs=reading.pairs,
        range_samples=None if reading.range_samples is None else raw(reading.range_samples),
        devices=reading.devices,
        low_coverage=reading.low_coverage,
        missing=reading.missing,
    )


def unpack_reading(packed: RecordedReading, nodes: int, pods: int) -> Reading:
    """The reading of so many nodes and pods.

    Raises:
        ValueError: it is not one of them.
    """
    size = {"node": nodes, "pod": pods, "pair": len(packed.pairs)}[packed.request.subject]

    def array(raw: bytes, times: int = 1) -> FloatArray:
        values = np.frombuffer(raw, "<f8").astype(np.float64)
        if len(values) != size * times:
            raise ValueError(f"{packed.request.name} has {len(values)} values for {size} subjects")
        if np.isinf(values).any():
            raise ValueError(f"{packed.request.name} has an infinite value")
        return values

    range_samples = None
    if packed.range_samples is not None:
        count = len(instants(packed.request.span))
        range_samples = array(packed.range_samples, count).reshape(count, size)
    for device in packed.devices:
        if not 0 <= device.node < nodes or not all(0 <= pod < pods for pod in device.pods):
            raise ValueError(f"{packed.request.name} has device {device.device} of no node")
        if device.range_samples and (
            range_samples is None or len(device.range_samples) != len(range_samples)
        ):
            raise ValueError(f"{packed.request.name} has another past of device {device.device}")
    if not all(0 <= subject < size for group in packed.missing for subject in group.subjects):
        raise ValueError(
            f"{packed.request.name} lacks values of {packed.request.subject}s not there"
        )
    expected = np.frombuffer(packed.expected, np.uint8).astype(np.bool_)
    if len(expected) != size:
        raise ValueError(f"{packed.request.name} expects {len(expected)} of {size} subjects")
    return Reading(
        request=packed.request,
        unit=packed.unit,
        values=array(packed.values),
        ages=array(packed.ages),
        expected=expected,
        capacity=None if packed.capacity is None else array(packed.capacity),
        query=packed.query,
        notes=tuple(packed.notes),
        problem=packed.problem,
        pairs=packed.pairs,
        range_samples=range_samples,
        devices=packed.devices,
        low_coverage=packed.low_coverage,
        missing=packed.missing,
    )
