"""Readings of pairs: traffic between workloads or with domains, and the distance of domains.

Operators name the series and its labels, since every mesh and agent has its own. The request's
`columns` are, for both ends, the label with the namespace, the label with the name, and what the
name is of: Workload, Pod or Domain.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.sources.prometheus.clusters import partial
from rescheduler.sources.prometheus.http.http_api import Vector
from rescheduler.sources.prometheus.series_values import (
    FUTURE,
    ReadingProblems,
    Value,
    number,
    show,
)

TRAFFIC = "pair.traffic"
DISTANCE = "pair.distance"
HIGHEST = 1e15
"""Bytes or requests a second that no pair can have."""

Ask = Callable[[str], Vector]


class PairLabels(NamedTuple):
    """What a reading of pairs asks of the labels of a row."""

    labels: tuple[str, ...]
    kinds: tuple[str, str]

    @classmethod
    def of_request(cls, request: ReadingRequest) -> "PairLabels":
        """The two ends that the request describes."""
        one, name, kind, other, other_name, other_kind = request.columns
        return cls((one, name, other, other_name), (kind, other_kind))

    @property
    def by(self) -> str:
        """The labels to group by, as PromQL lists them."""
        return ",".join(dict.fromkeys(label for label in self.labels if label))


def queries(request: ReadingRequest) -> tuple[str, str]:
    """The templates for the value of each pair, and for the time of its newest sample."""
    by = PairLabels.of_request(request).by
    value = request.query or f"sum by ({by}) (rate({request.series}[$window]))"
    return value, f"max by ({by}) (timestamp({request.series}))"


def unmatched_problem(request: ReadingRequest, match: str) -> Problem | None:
    """RDG011 where queries select one cluster by matchers, and the operator's would select all.

    Another cluster may have pods and zones of the same names. match: as `fill` takes it.
    """
    if not match or all("$match" in query for query in queries(request)):
        return None
    which = "series" if "$match" not in request.series else "query"
    text = f"{getattr(request, which)} has no $match, so {match[:-1]} would not be in it"
    return Problem("RDG011", text)


def unread_pairs(request: ReadingRequest, problem: Problem) -> Reading:
    """The reading without any value."""
    query = request.query or request.series
    return Reading.without_values(request, np.empty(0, np.bool_), problem, query=query)


def read_pairs(request: ReadingRequest, snapshot: Snapshot, at: float, ask: Ask) -> Reading:
    """One reading of pairs: each row with both ends known has a value, or the reason for none.

    A row with an end outside of the cluster is noted and left out; a pair without a row is not
    known to be silent. Rows of one pair (of its pods) add up, and the oldest sets its age;
    distances do not, so a pair with several has none.

    Raises:
        MetricsUnavailable: the source gave no answer.
    """
    if len(request.columns) != 6:
        return unread_pairs(
            request, Problem("RDG008", f"{request.name} names no labels of both ends")
        )
    ends, names, problems = PairLabels.of_request(request), _Names(snapshot), ReadingProblems()
    value, fresh = queries(request)
    answer, dated = ask(value), ask(fresh)
    times = {
        tuple(sample.metric.get(label, "") for label in ends.labels): number(sample.value[1])
        for sample in dated.samples
    }
    values: dict[tuple[str, str], Value] = {}
    for sample in answer.samples:
        key = tuple(sample.metric.get(label, "") for label in ends.labels)
        one = names.end(ends.kinds[0], key[0], key[1])
        other = names.end(ends.kinds[1], key[2], key[3])
        if not one or not other:
            problems.note("series with an end that is not in the cluster", show(sample.metric))
            continue
        amount, age = number(sample.value[1]), at - times.get(key, math.nan)
        amount = _trusted_amount(amount, age, request, sample.metric, problems)
        if request.name == DISTANCE and (one, other) in values:
            problems.note("RDG005: several rows of one pair", show(sample.metric))
            amount = math.nan
        pair_value = values.get((one, other), Value(0.0, 0.0))
        # What one pod of the pair lacks, the pair lacks: NaN stays NaN.
        values[one, other] = Value(pair_value.value + amount, max(pair_value.age, age))
    return _reading(request, values, problems, value, (*answer.warnings, *dated.warnings))


def _trusted_amount(
    amount: float,
    age: float,
    request: ReadingRequest,
    labels: Mapping[str, str],
    problems: ReadingProblems,
) -> float:
    """The amount of a row, or NaN where it must not count."""
    if not 0 <= amount <= HIGHEST:
        problems.note("RDG006: values that are not finite, or out of range", show(labels))
        return math.nan
    if not -FUTURE <= age <= request.max_age:
        problems.note("RDG004: series that have ended or are older than maxAge", show(labels))
        return math.nan
    return amount


def _reading(
    request: ReadingRequest,
    by_pair: Mapping[tuple[str, str], Value],
    problems: ReadingProblems,
    query: str,
    warnings: tuple[str, ...],
) -> Reading:
    pairs = tuple(sorted(by_pair))
    values = np.array([by_pair[pair].value for pair in pairs], dtype=np.float64)
    ages = np.array([by_pair[pair].age for pair in pairs], dtype=np.float64)
    ages[np.isnan(values)] = np.nan
    notes = problems.notes()
    problem = partial(warnings)
    if problem is None and not pairs:
        text = "no series has ends that are in this cluster"
        problem = Problem("RDG009", f"{text}. {'; '.join(notes)}".strip())
    elif problem is None and (share := float((~np.isnan(values)).mean())) < request.min_coverage:
        code = next((c for c in ("RDG004", "RDG006") if any(n.startswith(c) for n in notes)), "")
        text = f"{share:.0%} of {len(pairs)} pairs have a value; needed are"
        said = f"{text} {request.min_coverage:.0%}. {'; '.join(notes)}".strip()
        problem = Problem(code or "RDG003", said)
    return Reading(
        request=request,
        unit="",
        values=values,
        ages=ages,
        expected=np.ones(len(pairs), dtype=np.bool_),
        query=query,
        notes=notes,
        problem=problem,
        pairs=pairs,
    )


class _Names:
    """The workloads of a snapshot, by their own names and by their pods'."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._workloads = {
            f"{workload.namespace}/{workload.name}" for workload in snapshot.workloads
        }
        self._of_pod = {
            pod.key: f"{snapshot.workloads[number].namespace}/{snapshot.workloads[number].name}"
            for pod, number in zip(snapshot.pods, snapshot.pod_workload.tolist(), strict=True)
            if number >= 0
        }

    def end(self, kind: str, namespace: str, name: str) -> str:
        """`namespace/name` of the workload, or the domain; "" where there is no such thing."""
        if kind == "Domain":
            return name
        key = f"{namespace}/{name}"
        if kind == "Pod":
            return self._of_pod.get(key, "")
        return key if key in self._workloads else ""
