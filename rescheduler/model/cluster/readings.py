"""Readings: what was measured, how old it is, and how much of it is there.

A value that is absent is NaN here and nowhere a zero. A reading with a `problem` must not cause an
eviction: anybody who uses it turns the problem into a refusal.
"""

import zlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rescheduler.kube import arrays
from rescheduler.model.problem import Problem

FloatArray = arrays.FloatArray
IntArray = arrays.IntArray
BoolArray = arrays.BoolArray

Subject = Literal["node", "pod", "pair"]

MOST_INSTANTS = 30
"""Evaluations that the past of one reading takes at most."""
LEAST_STEP = 60.0
"""Seconds between two of them, at least."""


def instants(span: float) -> FloatArray:
    """(k,) seconds before the snapshot at which a past of `span` seconds is sampled.

    The oldest comes first, at `span` or up to `k` seconds before it; the last is 0, the snapshot.
    """
    steps = min(max(int(span // LEAST_STEP), 1), MOST_INSTANTS - 1)
    step = np.ceil(span / steps)
    return np.asarray(np.arange(steps, -1, -1) * step, dtype=np.float64)


def seconds_held(held: BoolArray, span: float) -> FloatArray:
    """(n,) for how many seconds each has held without a break up to now; NaN: it does not now.

    held: (k, n) at the `instants` of that span, the oldest first.
    """
    unbroken = np.logical_and.accumulate(held[::-1], axis=0).sum(axis=0)
    seconds = np.concatenate([[np.nan], instants(span)[::-1]])
    return np.asarray(seconds[unbroken], dtype=np.float64)


@dataclass(frozen=True, slots=True, order=True)
class LinkSpeed:
    """What each link carries that reports no speed itself, as many virtual ones do.

    nodes: key, operator and values of what the labels of a node must satisfy, all of them; without
    any, every node. speed: bytes a second in one direction; 0 is not known.
    """

    nodes: tuple[tuple[str, str, tuple[str, ...]], ...]
    speed: float


@dataclass(frozen=True, slots=True, order=True)
class ReadingRequest:
    """What a policy needs to know, and how good it has to be.

    name: an entry of the catalogue of readings, such as `node.gpu` or `pod.network.receive`.
    window, max_age: seconds. min_coverage: share of the expected subjects, 0 to 1.
    span: seconds of the past that are also requested, for nodes and pods; 0 is none. query, series,
    columns: what operators define themselves, for readings of pairs: what to evaluate, what dates
    it, and the labels of both ends; see `sources/prometheus/pairs.py`. links: for readings of a
    node's links; of several the first that is about the node counts. own: what an operator defines
    the reading by (`policies/own_readings/`), None for built-in ones. Policies ask by the name
    alone, so requests with and without it are equal.
    """

    name: str
    window: float = 300.0
    max_age: float = 180.0
    min_coverage: float = 0.9
    query: str = ""
    series: str = ""
    columns: tuple[str, ...] = ()
    span: float = 0.0
    links: tuple[LinkSpeed, ...] = ()
    own: Any = field(default=None, compare=False, repr=False)

    @property
    def subject(self) -> Subject:
        """What the reading is about: its name begins with it."""
        if self.name.startswith("pair."):
            return "pair"
        return "node" if self.name.startswith("node.") else "pod"

    @property
    def key(self) -> str:
        """A short name of what is measured, the same for all who ask for it."""
        said = repr(self.links) if self.links else ""
        said += repr(self.own) if self.own is not None else ""
        distinct = f"/{zlib.crc32(said.encode()):x}" if said else ""
        return f"{self.name}/{self.window:g}{distinct}"


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """What one device of a node adds to the node's value.

    node: index of its node. device: its identity on the node, such as a GPU's UUID or an
    interface's name; a partition is `<device>/<part>`. index: its number on the node, "" where
    nobody reports it. pods: indices of the pods that have it, as far as the exporter reports them.
    used: what each of these pods adds to the value; empty where nobody reports that.
    range_samples: its values at the instants of the reading's `range_samples`; empty where that
    is None.
    """

    node: int
    device: str
    value: float
    index: str = ""
    pods: tuple[int, ...] = ()
    range_samples: tuple[float, ...] = ()
    used: tuple[float, ...] = ()

    @property
    def whole(self) -> str:
        """The physical device: of a partition, the one that it is a part of."""
        return self.device.partition("/")[0]


@dataclass(frozen=True, slots=True)
class QueryStats:
    """What a reading took from its source.

    series: rows of all answers. samples: what the source looked at, None where it does not tell.
    """

    queries: int
    series: int
    seconds: float
    samples: int | None


CONTRADICTIONS = frozenset({"RDG005", "RDG016"})
"""Codes of values that are not believed: several differ, or one stands still."""


@dataclass(frozen=True, slots=True)
class MissingValues:
    """Subjects that are expected to have a value and have none, for one cause.

    subjects: their indices. details: of CONTRADICTIONS, what was measured of each.
    """

    code: str
    cause: str
    subjects: tuple[int, ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One named measurement of every node, or of every pod, at one instant.

    request: what was requested.
    unit: `ratio` (0 to 1 of the node) for nodes; `cores`, `bytes`, `bytes/s` or `GPUs` for pods.
    values: (nodes,) or (pods,) in the order of the snapshot, or (pairs,); NaN is absent.
    ages: like values, in seconds before the snapshot; NaN is absent.
    capacity: for nodes, how much 1.0 is, in the unit of the pods' reading of the same name.
    expected: (subjects,) which of them ought to have a value.
    query: the PromQL that was evaluated.
    notes: what was odd and left out: unresolved names, duplicates, values out of range.
    problem: why the reading as a whole is unfit, or None.
    low_coverage: whether `problem` is only that too few of all subjects have a value. A policy that
    selects some of them checks the coverage of those itself.
    missing: who of `expected` has no value, by cause.
    convention: which labels tell the nodes and pods of its series, in words; "" is not known. cost:
    of the queries; None if nothing was queried, as in a recording.
    range_samples: (instants, subjects) the same reading's values at the `instants` of the
    request's span, the oldest first; NaN is absent. None where there is none.
    pairs: for readings of pairs, what each value lies between; a pair that is not there is not
    known to be 0.
    devices: for readings of the worst of a node's devices, those of the nodes that are not at 0;
    for the load of GPUs, those of the nodes where pods may share one.
    """

    request: ReadingRequest
    unit: str
    values: FloatArray
    ages: FloatArray
    expected: BoolArray
    capacity: FloatArray | None = None
    query: str = ""
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    range_samples: FloatArray | None = None
    devices: tuple[DeviceValue, ...] = ()
    low_coverage: bool = False
    missing: tuple[MissingValues, ...] = ()
    convention: str = ""
    cost: QueryStats | None = None

    @classmethod
    def without_values(
        cls, request: ReadingRequest, expected: BoolArray, problem: Problem, **more: Any
    ) -> "Reading":
        """That nothing is known of anybody who is expected to have a value, and why."""
        absent = np.full(len(expected), np.nan)
        fields: dict[str, Any] = {"unit": "", "values": absent, "ages": absent, **more}
        return cls(request, expected=expected, problem=problem, **fields)

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.request.name

    @property
    def coverage(self) -> float:
        """Share of the expected subjects that have a value, 0 to 1; 1 where none is expected."""
        return self.coverage_of(self.expected)

    def coverage_of(self, expected: BoolArray) -> float:
        """The same of these of them."""
        wanted = int(expected.sum())
        return float((~np.isnan(self.values) & expected).sum()) / wanted if wanted else 1.0

    @property
    def age(self) -> float | None:
        """Age in seconds of the oldest value that is present, or None."""
        present = self.ages[~np.isnan(self.ages)]
        return float(present.max()) if len(present) else None


@dataclass(frozen=True, slots=True)
class Readings:
    """All readings of a snapshot, found by name and window."""

    entries: tuple[Reading, ...] = field(default=())

    def find(self, request: ReadingRequest) -> Reading | None:
        """The reading taken for this request, or None: it was never requested or not recorded."""
        for reading in self.entries:
            if reading.request == request:
                return reading
        return None

    def missing_problem(self, request: ReadingRequest) -> Problem:
        """That there is no reading for this request, and for which requests there are readings."""
        had = {reading.request for reading in self.entries if reading.name == request.name}
        if not had:
            text = f"{request.name} over {request.window:g} s is not in the snapshot"
            return Problem("RDG007", text)
        there = " and ".join(sorted(map(_request_text, had)))
        text = (
            f"{request.name} {_request_text(request)}, is not in the snapshot; there it is {there}"
        )
        return Problem("RDG007", text)


def _request_text(request: ReadingRequest) -> str:
    return f"over {request.window:g} s, at most {request.max_age:g} s old"
