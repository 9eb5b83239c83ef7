"""Readings from Prometheus: every query of a cycle at one instant, each answer trusted or named.

A reading never raises for bad data: it carries a problem, and its users must not evict on it.
"""

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from rescheduler.model.cluster.readings import QueryStats, Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import MetricsUnavailable
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.unmeasured_nodes import of_gpus
from rescheduler.sources.kubernetes.page_decoding import collector_off
from rescheduler.sources.prometheus.absent_exporters import tell_absent_exporter
from rescheduler.sources.prometheus.assembly import Assembly
from rescheduler.sources.prometheus.catalog import CATALOG, definitions_of, fill
from rescheduler.sources.prometheus.clusters import QUESTION, several_in, several_of, unsure_in
from rescheduler.sources.prometheus.http.http_api import Evaluations, Prometheus, Vector
from rescheduler.sources.prometheus.indexed_cluster import IndexedCluster
from rescheduler.sources.prometheus.labels import SeenLabels
from rescheduler.sources.prometheus.pairs import (
    DISTANCE,
    TRAFFIC,
    read_pairs,
    unmatched_problem,
    unread_pairs,
)
from rescheduler.sources.prometheus.range_samples import AskRange, with_range_samples
from rescheduler.sources.prometheus.series_values import number

__all__ = ["Prometheus", "PrometheusReadings", "read_readings"]

CLOCK_NOTE = 60.0
"""Seconds by which Prometheus' clock may differ from the API server's before it is noted."""


def read_readings(
    prometheus: Prometheus, requests: Iterable[ReadingRequest], snapshot: Snapshot
) -> Readings:
    """The requested readings, all evaluated at one instant of Prometheus' clock."""
    cycle = _Cycle(prometheus, snapshot)
    with collector_off():
        # What a policy needs to be evaluated at all comes first, should the time not do for more.
        readings = [cycle.read(request) for request in sorted(set(requests))]
        cycle.forget_answers()
        return Readings(tuple(map(cycle.with_past, map(cycle.of_one_cluster, readings))))


@dataclass(frozen=True, slots=True)
class PrometheusReadings:
    """A Prometheus, or what serves its API, as a source of readings."""

    prometheus: Prometheus

    def answers(self, request: ReadingRequest) -> bool:  # noqa: ARG002 - whatever it is
        """Always: a reading that is not in the catalogue reports that itself (RDG008)."""
        return True

    def catalog(self) -> list[ReadingRequest]:
        """Every reading of the catalogue, as policies ask for it by default."""
        return [ReadingRequest(name) for name in CATALOG]

    def read(self, requests: Iterable[ReadingRequest], snapshot: Snapshot) -> tuple[Reading, ...]:
        """The requested readings, all evaluated at one instant."""
        return read_readings(self.prometheus, requests, snapshot).entries


def _cost(answers: Collection[Vector]) -> QueryStats:
    read = [answer.read for answer in answers if answer.read is not None]
    return QueryStats(
        queries=len(answers),
        series=sum(len(answer.samples) for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
        samples=sum(read) if len(read) == len(answers) else None,
    )


class _Cycle:
    """One cycle's queries: one evaluation time, one deadline, and no query sent twice."""

    def __init__(self, prometheus: Prometheus, snapshot: Snapshot) -> None:
        self._prometheus = prometheus
        self._cluster = IndexedCluster(snapshot)
        self._until = time.monotonic() + prometheus.deadline
        self._at: float | None = None
        self._fault: MetricsUnavailable | None = None
        self._several: Problem | None = None
        self._unsure: Problem | None = None
        self._answers: dict[str, Vector] = {}
        self._seen = SeenLabels()

    def read(self, request: ReadingRequest) -> Reading:
        """One reading, with a problem where it is unfit."""
        if request.name in (TRAFFIC, DISTANCE):
            return self._read_pairs(request)
        if request.name not in CATALOG and not request.own:
            return self._undefined_reading(request)
        warnings: dict[str, None] = {}
        answers: dict[str, Vector] = {}

        def ask(template: str) -> Vector:
            answer = self._ask(self._fill_query(template, request))
            if of_gpus(request.name):  # several answers have the same series of each device
                for sample in answer.samples:
                    sample.metric = self._seen.first_labels(sample.metric)
            answers[template] = answer
            warnings.update(dict.fromkeys(answer.warnings))
            self._several = self._several or several_of(answer.samples)
            return answer

        try:
            at = self._begin()
            if self._several is not None:
                return self._empty(request, self._several)
            assembly = Assembly(request, self._cluster, at, ask)
            reading = assembly.reading(self._query_text(request), warnings, self._clock_note(at))
            own, rest = definitions_of(request)
            match, identity = self._prometheus.match, self._cluster.identity
            reading = tell_absent_exporter(reading, (*own, *rest), match, identity, self._ask)
            return replace(reading, cost=_cost(answers.values()))
        except MetricsUnavailable as error:
            return self._empty(request, Problem("RDG001", error.sentence))

    def of_one_cluster(self, reading: Reading) -> Reading:
        """The reading, unless rows of several clusters were or may be among the answers."""
        own = None if reading.low_coverage else reading.problem
        problem = self._several or own or self._unsure
        return reading if problem is None else replace(reading, problem=problem, low_coverage=False)

    def with_past(self, reading: Reading) -> Reading:
        """The reading with its past, if that was requested and the reading is fit."""
        request = reading.request
        unfit = reading.problem is not None and not reading.low_coverage
        if not request.span or unfit or not (request.own or request.name in CATALOG):
            return reading
        at, seen = self._begin(), self._seen if of_gpus(request.name) else None
        return with_range_samples(reading, self._cluster, at, self._past(request), seen)

    def _query_text(self, request: ReadingRequest) -> str:
        """The query for the value, as it is sent."""
        own, rest = definitions_of(request)
        return self._fill_query((*own, *rest)[0].value, request)

    def _fill_query(self, template: str, request: ReadingRequest) -> str:
        return fill(template, request.window, self._prometheus.match)

    def _past(self, request: ReadingRequest) -> AskRange:
        """How the past is queried; a warning leaves it unknown."""

        def ask(template: str, start: float, step: float, count: int) -> Evaluations:
            promql = self._fill_query(template, request)
            answers = self._prometheus.query_range(promql, start, step, count, self._until)
            if answers.warnings:
                raise MetricsUnavailable(f"the source warns: {'; '.join(answers.warnings)}")
            return answers

        return ask

    def _read_pairs(self, request: ReadingRequest) -> Reading:
        """A reading of what the operator named."""
        problem = unmatched_problem(request, self._prometheus.match)
        if problem is not None:
            return unread_pairs(request, problem)

        try:
            at = self._begin()
            if self._several is not None:
                return unread_pairs(request, self._several)
            snapshot = self._cluster.snapshot
            return read_pairs(
                request, snapshot, at, lambda q: self._ask(self._fill_query(q, request))
            )
        except MetricsUnavailable as error:
            return unread_pairs(request, Problem("RDG001", error.sentence))

    def _begin(self) -> float:
        """The evaluation time, from the source's own clock; fails at once while it is down."""
        if self._fault is not None:
            raise self._fault
        if self._at is None:
            try:
                self._at = self._now()
                question = fill(QUESTION, 0.0, self._prometheus.match)
                answer = self._ask(question)
                self._several, self._unsure = several_in(answer.samples), unsure_in(answer)
            except MetricsUnavailable as error:
                self._fault = error
                raise
        return self._at

    def _now(self) -> float:
        """The source's own clock."""
        probe = self._prometheus.query("vector(1)", None, self._until)
        if len(probe.samples) != 1 or number(probe.samples[0].value[1]) != 1.0:
            raise MetricsUnavailable(
                f"{self._prometheus.url}: vector(1) is not 1 there",
                "the address is not that of a Prometheus.",
            )
        return probe.samples[0].value[0]

    def _ask(self, promql: str) -> Vector:
        answer = self._answers.get(promql)
        if answer is None:
            answer = self._prometheus.query(promql, self._at, self._until)
            self._answers[promql] = answer
        return answer

    def forget_answers(self) -> None:
        """Free the memory of all answers: the past comes from other queries."""
        self._answers.clear()

    def _clock_note(self, at: float) -> str:
        ahead = at - self._cluster.snapshot.taken.timestamp()
        if abs(ahead) <= CLOCK_NOTE:
            return ""
        return f"Prometheus' clock differs from the API server's by {ahead:.0f} s"

    def _empty(self, request: ReadingRequest, problem: Problem) -> Reading:
        """A reading without a value."""
        assembly = Assembly(request, self._cluster, 0.0, self._ask)
        return assembly.unread_reading(self._query_text(request), problem)

    def _undefined_reading(self, request: ReadingRequest) -> Reading:
        """A reading that nobody defines."""
        names = ", ".join(sorted(CATALOG))
        problem = Problem("RDG008", f"{request.name!r} is not in the catalogue: {names}")
        snapshot = self._cluster.snapshot
        size = len(snapshot.nodes if request.subject == "node" else snapshot.pods)
        return Reading.without_values(request, np.zeros(size, np.bool_), problem)
