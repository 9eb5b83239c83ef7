"""Readings: what was measured, how old it is, and how much of it is there.

A value that is absent is NaN here and nowhere a zero. A reading with a `problem` must not cause an
eviction: whoever uses it turns the problem into a refusal.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

Subject = Literal["node", "pod", "pair"]


@dataclass(frozen=True, slots=True, order=True)
class ReadingRequest:
    """What a policy needs to know, and how good it has to be.

    name: an entry of the catalogue of readings, such as `node.gpu` or `pod.network.receive`.
    window, max_age: seconds. min_coverage: share of the expected subjects, 0 to 1.
    query, series, columns: what operators define themselves, for readings of pairs: what to
    evaluate, what dates it, and the labels of both ends; see `sources/pairs.py`.
    """

    name: str
    window: float = 300.0
    max_age: float = 180.0
    min_coverage: float = 0.9
    query: str = ""
    series: str = ""
    columns: tuple[str, ...] = ()

    @property
    def subject(self) -> Subject:
        """What the reading is about: its name begins with it."""
        if self.name.startswith("pair."):
            return "pair"
        return "node" if self.name.startswith("node.") else "pod"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something must not be relied on: a reason code and a sentence with the values."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One named measurement of every node, or of every pod, at one instant.

    request: what was asked for.
    unit: `ratio` (0 to 1 of the node) for nodes; `cores`, `bytes`, `bytes/s` or `GPUs` for pods.
    values: (nodes,) or (pods,) in the order of the snapshot, or (pairs,); NaN is absent.
    ages: like values, in seconds before the snapshot; NaN is absent.
    capacity: for nodes, how much 1.0 is, in the unit of the pods' reading of the same name.
    expected: (subjects,) which of them ought to have a value.
    query: the PromQL that was evaluated.
    notes: what was odd and left out: unresolved names, duplicates, values out of range.
    problem: why the reading as a whole is unfit, or None.
    pairs: for readings of pairs, what each value lies between; a pair that is not there is not
    known to be 0.
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

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.request.name

    @property
    def coverage(self) -> float:
        """Share of the expected subjects that have a value, 0 to 1; 1 where none is expected."""
        wanted = int(self.expected.sum())
        if wanted == 0:
            return 1.0
        return float((~np.isnan(self.values) & self.expected).sum()) / wanted

    @property
    def age(self) -> float | None:
        """Age in seconds of the oldest value that is present, or None."""
        return None if np.isnan(self.ages).all() else float(np.nanmax(self.ages))


@dataclass(frozen=True, slots=True)
class Readings:
    """All readings of a snapshot, found by name and window."""

    entries: tuple[Reading, ...] = field(default=())

    def find(self, request: ReadingRequest) -> Reading | None:
        """The reading taken for this request, or None: it was never asked for or not recorded."""
        for reading in self.entries:
            if reading.request == request:
                return reading
        return None
