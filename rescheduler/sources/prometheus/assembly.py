"""One reading, put together from the sections of its definitions."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from rescheduler.model.cluster.readings import (
    CONTRADICTIONS,
    BoolArray,
    DeviceValue,
    FloatArray,
    MissingValues,
    Reading,
    ReadingRequest,
)
from rescheduler.model.problem import Problem
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.shared.unmeasured_nodes import left_out
from rescheduler.sources.prometheus.catalog import definitions_of, unit_of
from rescheduler.sources.prometheus.clusters import partial
from rescheduler.sources.prometheus.gpu_section import GpuSection
from rescheduler.sources.prometheus.indexed_cluster import IndexedCluster
from rescheduler.sources.prometheus.plain_section import PlainSection, select_subjects
from rescheduler.sources.prometheus.section import Ask, Context, Section, metric_of, no_series
from rescheduler.sources.prometheus.series_values import SourceValue, show


class Assembly:
    """The way from one request to its reading.

    at: the evaluation time, past: whether it is one of many in the past. ask: see Ask; it raises
    MetricsUnavailable, which passes through.
    """

    def __init__(
        self,
        request: ReadingRequest,
        cluster: IndexedCluster,
        at: float,
        ask: Ask,
        *,
        past: bool = False,
    ) -> None:
        self._request = request
        self._context = Context(request, cluster, at, ask, past)
        own, rest = definitions_of(request)
        self._sections = _sections(own, self._context)
        theirs = np.zeros(len(self._subjects), dtype=np.bool_)
        for reading in own:
            if not reading.devices:
                theirs |= select_subjects(reading, self._context)
        for section in _sections(rest, self._context):
            section.wanted &= ~theirs
            self._sections.append(section)
        self._definitions = (*own, *rest)
        self._unit = unit_of(request.name, self._definitions)

    @property
    def _subjects(self) -> Collection[object]:
        snapshot = self._context.cluster.snapshot
        return snapshot.nodes if self._context.of_nodes else snapshot.pods

    @property
    def expected(self) -> BoolArray:
        """(subjects,) which of them ought to have a value."""
        answer = np.zeros(len(self._subjects), dtype=np.bool_)
        for section in self._sections:
            answer |= section.wanted
        return answer

    @property
    def capacity(self) -> FloatArray | None:
        """(nodes,) how much 1.0 is, as far as the API server reports it; None: not at all."""
        answer: FloatArray | None = None
        for section in self._sections:
            amounts = section.capacity()
            if amounts is not None:
                amounts = (
                    np.where(section.wanted, amounts, np.nan)
                    if len(self._sections) > 1
                    else amounts
                )
                answer = amounts if answer is None else np.where(np.isnan(answer), amounts, answer)
        return answer

    def reading(self, query: str, warnings: Collection[str], clock: str) -> Reading:
        """Ask, resolve, fold and evaluate.

        query: the text to show. warnings: filled while asking. clock: a note, or "".
        """
        size, problems = len(self._subjects), self._context.problems
        values, ages = np.full(size, np.nan), np.full(size, np.nan)
        capacity, devices = self.capacity, list[DeviceValue]()
        origin = np.full(size, -1, dtype=np.int16)
        for number, section in enumerate(self._sections):
            section_values = section.fold()
            for subject, value in section_values.values.items():
                if not section.wanted[subject]:
                    continue
                if origin[subject] < 0:
                    values[subject], ages[subject] = value.value, value.age
                    origin[subject] = number
                    continue
                first, ratio = self._sections[origin[subject]], section.own.most == 1.0
                one = SourceValue(metric_of(first.own), float(values[subject]))
                other = SourceValue(metric_of(section.own), value.value)
                name = self._context.name_of(subject)
                if problems.contradict(subject, name, one, other, ratio=ratio):
                    values[subject] = ages[subject] = np.nan
            if section_values.capacity and self._context.of_nodes:
                capacity = np.full(size, np.nan) if capacity is None else capacity
                subjects = list(section_values.capacity)
                capacity[subjects] = [section_values.capacity[node] for node in subjects]
            devices += section_values.devices
        expected = self.expected
        if query and self._context.of_nodes:
            snapshot = self._context.cluster.snapshot
            count, such = left_out(snapshot, self._request.name, expected)
            if count:
                problems.note("nodes with devices that nothing measures", such, count)
        if clock:
            problems.note(clock)
        problem = self._unfit(warnings, expected)
        short = None if problem is not None else self._short(values, expected)
        return Reading(
            request=self._request,
            unit=self._unit,
            values=values,
            ages=ages,
            expected=expected,
            capacity=capacity,
            query=query,
            notes=problems.notes(),
            problem=problem or short,
            low_coverage=short is not None,
            missing=self._missing_values(values, expected),
            convention=self._convention(),
            devices=tuple(devices),
        )

    def unread_reading(self, query: str, problem: Problem) -> Reading:
        """The reading without a value."""
        fields: dict[str, Any] = {"unit": self._unit, "capacity": self.capacity, "query": query}
        return Reading.without_values(self._request, self.expected, problem, **fields)

    def _unfit(self, warnings: Collection[str], expected: BoolArray) -> Problem | None:
        """Why no value of the reading can be relied on, or None."""
        wanted = int(expected.sum())
        if not warnings and wanted and not self._context.rows:
            text = f"0 of {wanted} {self._request.subject}s have a value"
            needs = "; ".join(dict.fromkeys(map(no_series, self._definitions)))
            text += f": the source has no series of {self._request.name}"
            return Problem("RDG009", f"{text} ({needs})")
        return partial(warnings)

    def _convention(self) -> str:
        """Which labels tell the nodes and pods of most series, in words."""
        conventions = self._context.conventions
        nodes, pods = Counter[str](), Counter[str]()
        for (node, pod), count in conventions.items():
            nodes[node or "no label that names one"] += count
            pods[pod] += count * bool(pod)
        if not nodes:
            return ""
        said = f"nodes by {nodes.most_common(1)[0][0]}"
        by = pods.most_common(1)[0][0] if pods.total() else ""
        honored = {"exported_pod": " (honor_labels: false)", "pod": " (honor_labels: true)"}
        return f"{said}, pods by {by}{honored.get(by, '')}" if by else said

    def _missing_values(self, values: FloatArray, expected: BoolArray) -> tuple[MissingValues, ...]:
        """Who ought to have a value and has none, by cause."""
        problems, by_cause = self._context.problems, dict[tuple[str, str], list[int]]()
        for subject in np.flatnonzero(expected & np.isnan(values)).tolist():
            cause = problems.causes.get(subject, ("", ""))[0]
            if not cause:
                section = next(one for one in self._sections if one.wanted[subject])
                cause = section.cause(subject)
            by_cause.setdefault((problems.codes.get(subject, "RDG003"), cause), []).append(subject)
        return tuple(
            MissingValues(
                code,
                cause if len(such) > 1 else self._cause_of(such[0], cause),
                tuple(such),
                tuple(self._cause_of(subject, cause) for subject in such)
                if code in CONTRADICTIONS
                else (),
            )
            for (code, cause), such in sorted(by_cause.items())
        )

    def _cause_of(self, subject: int, cause: str) -> str:
        what, example = self._context.problems.causes.get(subject, ("", ""))
        return f"{what}: {example}" if example else cause

    def _short(self, values: FloatArray, expected: BoolArray) -> Problem | None:
        """That too few of all subjects have a value, or None."""
        problems = self._context.problems
        absent = np.flatnonzero(expected & np.isnan(values))
        wanted = int(expected.sum())
        if not wanted or (wanted - len(absent)) / wanted >= self._request.min_coverage:
            return None
        have = f"{wanted - len(absent)} of {wanted} {self._request.subject}s have a value"
        gpus = (section for section in self._sections if isinstance(section, GpuSection))
        unowned = [labels for section in gpus for labels in section.unowned]
        if unowned and self._request.subject == "pod":
            what = "series of devices that name no pod with GPUs"
            problems.note(what, show(unowned[0]), len(unowned))
        codes = Counter(problems.codes.get(int(subject), "RDG003") for subject in absent)
        code = max(codes, key=lambda candidate: (codes[candidate], candidate))
        why = "; ".join(problems.notes())
        return Problem(code, f"{have}; needed are {self._request.min_coverage:.0%}. {why}".strip())


def _sections(definitions: tuple[OwnReading, ...], context: Context) -> list[Section]:
    """A section of each definition; those of GPUs have one together."""
    gpus = [definition for definition in definitions if definition.devices]
    others: list[Section] = [
        PlainSection(definition, context) for definition in definitions if not definition.devices
    ]
    return [GpuSection(gpus, context), *others] if gpus else others
