"""What the sections of a reading have in common: which rows there are, and how old each is.

A section is about some of the nodes or pods: those that one definition is about, or the GPUs of all
makers together.
"""

import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rescheduler.documents.promql import selectors
from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray, ReadingRequest
from rescheduler.policies.own_readings.definition import OwnReading, RejectRule, Series
from rescheduler.sources.prometheus.devices.gpu_devices import DeviceLoad
from rescheduler.sources.prometheus.http.http_api import Sample, Vector
from rescheduler.sources.prometheus.indexed_cluster import IndexedCluster
from rescheduler.sources.prometheus.series_values import (
    Key,
    ReadingProblems,
    Row,
    SourceValue,
    Trust,
    Value,
    by_series,
    group,
    number,
    show,
)

_LEARNED = 100
"""Series of an answer by which it is learned which labels tell their nodes and pods."""

Ask = Callable[[str], Vector]
"""Sends a template of a document and answers with its vector."""
Labels = Mapping[str, str]
KeyOf = Callable[[Labels], Key | None]
Source = tuple[OwnReading, Series]
"""One of the ways to a reading, and the definition that has it."""
V = TypeVar("V", Value, DeviceLoad)


@dataclass(slots=True)
class Context:
    """What all sections of one reading share.

    at: the evaluation time. past: whether that is an instant of the past; then only the values are
    queried. conventions: how many series have their node and pod in which labels, of some. rows:
    how many all answers had so far.
    """

    request: ReadingRequest
    cluster: IndexedCluster
    at: float
    send: Ask
    past: bool = False
    conventions: Counter[tuple[str, str]] = field(default_factory=Counter)
    problems: ReadingProblems = field(default_factory=ReadingProblems)
    rows: int = 0

    @property
    def of_nodes(self) -> bool:
        """Whether the reading is of nodes, and else of pods."""
        return self.request.subject == "node"

    def name_of(self, subject: int) -> str:
        """The name of a node, or namespace and name of a pod."""
        snapshot = self.cluster.snapshot
        return (
            snapshot.nodes[subject].metadata.name if self.of_nodes else snapshot.pods[subject].key
        )

    def ask(self, template: str) -> list[Sample]:
        """The rows of a template's answer.

        Raises:
            MetricsUnavailable: there is none.
        """
        samples = self.send(template).samples
        self.rows += len(samples)
        return samples


class Folded(NamedTuple):
    """What a section knows of its nodes or pods.

    values: by subject. capacity: how much 1.0 of a node is, where that was measured.
    devices: what is behind the values.
    """

    values: dict[int, Value]
    capacity: dict[int, float] = {}  # noqa: RUF012 - never changed
    devices: tuple[DeviceValue, ...] = ()


class Section(ABC):
    """One part of a reading.

    own: what it is defined by first. wanted: (subjects,) who ought to have a value by it.
    """

    def __init__(self, own: OwnReading, context: Context, wanted: BoolArray) -> None:
        self.own = own
        self._context = context
        self.wanted = wanted
        self._problems = context.problems

    def name_of(self, subject: int) -> str:
        """The name of what its values are about."""
        return self._context.name_of(subject)

    def trust(self, highest: float) -> Trust:
        """Which of its rows count."""
        return Trust(highest, self._context.request.max_age, self._problems)

    def capacity(self) -> FloatArray | None:
        """(nodes,) how much 1.0 is, where the API server reports it; else None."""
        return None

    @abstractmethod
    def cause(self, subject: int) -> str:
        """Why a subject without a row has no value."""

    @abstractmethod
    def fold(self) -> Folded:
        """Ask, and make of the rows one value of each subject.

        Raises:
            MetricsUnavailable: an answer is missing.
        """

    def merge_sources(
        self,
        sources: Iterable[Source],
        measure: Callable[[OwnReading, Series], dict[Key, V]],
        enough: Callable[[dict[Key, V]], bool],
        join: Callable[[V, V], V] = lambda value, _other: value,
    ) -> tuple[dict[Key, V], dict[Key, Series]]:
        """The values of the preferred source, completed by those of the next where it has none.

        What two of them measure differently is left out. Of an instant of the past none are
        compared, and no more are queried when there is enough. join: what one source knows of a
        value, completed by another. Answers also which source each value is of.
        """
        past, problems, values = self._context.past, self._problems, dict[Key, V]()
        origin = dict[Key, Series]()
        for own, source in sources:
            measured = measure(own, source)
            for key in [key for key in measured if key in values]:
                if past or self._agree(key, origin[key], values[key], source, measured[key]):
                    values[key] = join(values[key], measured[key])
                else:
                    del values[key]
            for key, value in measured.items():
                if key not in values and not problems.is_contradicted(key[0]):
                    values[key], origin[key] = value, source
            if past and enough(values):
                break
        return values, origin

    def _agree(self, key: Key, one: Series, value: V, other: Series, another: V) -> bool:
        """Whether two sources measure about the same."""
        where = self.name_of(key[0])
        samples = value.samples, another.samples
        if self.own.devices and (one.quantile or other.quantile):
            # Those of moments and of means are the same only of what is idle or busy all the time.
            samples = 1.0, 1.0
        return not self._problems.contradict(
            key[0],
            f"{key[1]} of {where}" if key[1] else where,
            SourceValue(metric_of(one), value.value, samples[0]),
            SourceValue(metric_of(other), another.value, samples[1]),
            ratio=self.own.most == 1.0,
        )

    def groups(self, source: Series, key_of: KeyOf) -> dict[Key, list[Row]]:
        """The rows of each node, pod or device that a source knows, with their ages."""
        context = self._context
        dated = self.going_on(context.ask(source.dated))
        ages = {series: context.at - time for series, time in by_series(dated).items()}
        samples = context.ask(source.value)
        self.note_jobs(samples)
        weights = by_series(context.ask(source.count)) if source.count else None
        row_groups = group(samples, key_of, ages, scale=source.scale, weights=weights)
        return self.dated_by_key(row_groups, dated)

    def reject(self, rules: Sequence[RejectRule], key_of: KeyOf, values: dict[Key, Any]) -> None:
        """Leave out the values that a rule of the definition rejects, with the reason.

        key_of: a device, or "" for all that a node or pod has.
        """
        for rule in () if self._context.past else rules:
            rows = {
                key_of(sample.metric): sample for sample in self._context.send(rule.query).samples
            }
            rejected = {key: key if key in rows else (key[0], "") for key in values if rows}
            for key, row in rejected.items():
                if row in rows:
                    del values[key]
            for row in set(rejected.values()) & rows.keys():
                self._problems.refuse(row[0], rule.reason, show(rows[row].metric), "RDG016")

    def note_jobs(self, samples: Sequence[Sample]) -> None:
        """Say so where series of one name come from several jobs; learn which labels they have."""
        if self._context.past:
            return
        for sample in samples[:_LEARNED]:
            self._context.conventions[self._context.cluster.identity.convention(sample.metric)] += 1
        jobs = Counter(sample.metric.get("job", "") for sample in samples)
        if len(jobs) > 1:
            shown = ", ".join(f'job="{job}" {count}' for job, count in sorted(jobs.items()))
            self._context.problems.note(f"series of several jobs: {shown}")

    def going_on(self, samples: list[Sample]) -> list[Sample]:
        """The times of series that have not ended; see `measuring.going_on`."""
        return samples

    def dated_by_key(
        self, groups: dict[Key, list[Row]], _dated: list[Sample]
    ) -> dict[Key, list[Row]]:
        """The rows, where no time has the labels of the row with a time of the same subject."""
        return groups

    def undated_values(self, query: str, key_of: KeyOf, highest: float) -> dict[Key, Value]:
        """What a query answers that needs no age of its own: how much 100 % is."""
        return self.trust(highest).values(group(self._context.ask(query), key_of, None))


def no_series(own: OwnReading) -> str:
    """That there is no series of a definition, and what would export it."""
    series = " or ".join(dict.fromkeys(metric_of(source) for source in own.sources))
    return f"no series {series}" + (f": needs {own.needs}" if own.needs else "")


def metric_of(source: Series) -> str:
    """The name of the first series of a source."""
    return _first_metric(source.value)


@functools.lru_cache(maxsize=256)
def _first_metric(query: str) -> str:
    return selectors(query)[0].partition("{")[0]


def is_complete(values: Mapping[Key, object], wanted: FloatArray | BoolArray) -> bool:
    """Whether no other source could add anything. wanted: (subjects,) values that each has."""
    number_of = Counter(subject for subject, _ in values)
    return all(
        number_of[subject] >= wanted[subject] for subject in np.flatnonzero(wanted > 0).tolist()
    )


def oldest(
    dated: list[Sample],
    key_of: Callable[[Labels], Key | None],
    keep: Callable[[float, float], float],
) -> dict[Key, float]:
    """The time of each key: of several that which `keep` takes."""
    answer: dict[Key, float] = {}
    for sample in dated:
        key = key_of(sample.metric)
        if key is not None:
            time = number(sample.value[1])
            answer[key] = keep(answer.get(key, time), time)
    return answer


def with_ages(rows: list[Row], age: float | None) -> list[Row]:
    """The rows, all of that age."""
    return [row._replace(age=age) for row in rows]
