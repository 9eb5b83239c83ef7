"""What the sections of a reading have in common: which rows there are, and how old each is.

A section is about some of the nodes or pods: those that one definition is about, or the GPUs of all
makers together.
"""

import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rescheduler.documents.promql import selectors
from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray, ReadingRequest
from rescheduler.policies.own_readings.definition import OwnReading, RejectRule, Series
from rescheduler.sources.prometheus.http.http_api import Sample, Vector
from rescheduler.sources.prometheus.indexed_cluster import Cluster
from rescheduler.sources.prometheus.measuring import (
    Key,
    ReadingProblems,
    Row,
    Value,
    by_series,
    group,
    identify,
    number,
    resolve,
    show,
)

_LEARNED = 100
"""Series of an answer by which it is learned which labels tell their nodes and pods."""

Ask = Callable[[str], Vector]
"""Sends a template of a document and answers with its vector."""
Labels = Mapping[str, str]
KeyOf = Callable[[Labels], Key | None]


@dataclass(slots=True)
class Context:
    """What all sections of one reading share.

    at: the evaluation time. past: whether that is an instant of the past, of which nothing but the
    values is asked. conventions: how many series have their node and pod in which labels, of some.
    rows: how many all answers had so far.
    """

    request: ReadingRequest
    cluster: Cluster
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

    def capacity(self) -> FloatArray | None:
        """(nodes,) how much 1.0 is, where the API server reports it; else None."""
        return None

    @abstractmethod
    def cause(self, subject: int) -> str:
        """Why a subject has no value of which there was no row."""

    @abstractmethod
    def fold(self) -> Folded:
        """Ask, and make of the rows one value of each subject.

        Raises:
            MetricsUnavailable: an answer is missing.
        """

    def completed(
        self,
        sources: Sequence[Series],
        measure: Callable[[Series], dict[Key, Value]],
        wanted: BoolArray | FloatArray,
    ) -> dict[Key, Value]:
        """The values of the preferred source, completed by those of the next where it has none.

        wanted: (subjects,) how many values each ought to have.
        What two of them measure differently is left out, but of the past, where nobody compares.
        """
        found: dict[Key, Value] = {}
        origin: dict[Key, Series] = {}
        for source in sources:
            for key, value in measure(source).items():
                if key in found:
                    self._compare(key, origin[key], source, found, value)
                elif not self._context.problems.contradicted(key[0]):
                    found[key], origin[key] = value, source
            if self._context.past and is_complete(found, wanted):
                break
        return found

    def _compare(
        self, key: Key, one: Series, other: Series, found: dict[Key, Value], value: Value
    ) -> None:
        """Leave out a value from which that of another source differs."""
        context = self._context
        what = f"{key[1]} of {context.name_of(key[0])}" if key[1] else context.name_of(key[0])
        here, there = (metric_of(one), found[key].value), (metric_of(other), value.value)
        if context.problems.contradict(key[0], what, here, there, ratio=self.own.most == 1.0):
            del found[key]

    def resolved(self, groups: Mapping[Key, list[Row]], highest: float) -> dict[Key, Value]:
        """One trusted value of each key."""
        context = self._context
        max_age = context.request.max_age
        return resolve(groups, highest=highest, max_age=max_age, problems=context.problems)

    def groups(self, source: Series, key_of: KeyOf) -> dict[Key, list[Row]]:
        """The rows of each node, pod or device that a source knows, with their ages."""
        context = self._context
        dated = self.going_on(context.ask(source.dated))
        times = by_series(dated)
        widths = {len(each) for each in times}

        def age_of(_key: Key, labels: Labels) -> float | None:
            if len(labels) not in widths:
                return None
            time = times.get(identify(labels))
            return None if time is None else context.at - time

        samples = context.ask(source.value)
        self.note_jobs(samples)
        found = group(
            samples,
            key_of,
            age_of,
            scale=source.scale,
            weights=by_series(context.ask(source.count)) if source.count else None,
        )
        return self.dated_by_key(found, dated)

    def reject(self, rules: Sequence[RejectRule], key_of: KeyOf, values: dict[Key, Any]) -> None:
        """Leave out the values that a rule of the definition rejects, with the reason.

        key_of: a device, or "" for all that a node or pod has.
        """
        problems = self._context.problems
        for rule in () if self._context.past else rules:
            for each in self._context.send(rule.query).samples:
                key = key_of(each.metric)
                such = [one for one in values if one == key or (key == (one[0], ""))]
                for one in such:
                    del values[one]
                if such:
                    problems.refuse(such[0][0], rule.reason, show(each.metric), "RDG016")

    def note_jobs(self, samples: Sequence[Sample]) -> None:
        """Say so where series of one name come from several jobs; learn which labels they have."""
        if self._context.past:
            return
        for each in samples[:_LEARNED]:
            self._context.conventions[self._context.cluster.identity.convention(each.metric)] += 1
        jobs = Counter(each.metric.get("job", "") for each in samples)
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

    def undated(self, query: str, key_of: KeyOf, highest: float) -> dict[Key, Value]:
        """What a query answers that needs no age of its own: how much 100 % is."""
        rows = group(
            self._context.ask(query), key_of, lambda _key, _labels: 0.0, scale=1.0, weights=None
        )
        return self.resolved(rows, highest)


def no_series(own: OwnReading) -> str:
    """That there is no series of a definition, and what would export it."""
    series = " or ".join(dict.fromkeys(metric_of(each) for each in own.sources))
    return f"no series {series}" + (f": needs {own.needs}" if own.needs else "")


def metric_of(source: Series) -> str:
    """The name of the first series of a source."""
    return _first_metric(source.value)


@functools.lru_cache(maxsize=256)
def _first_metric(query: str) -> str:
    return selectors(query)[0].partition("{")[0]


def is_complete(found: Mapping[Key, object], wanted: FloatArray | BoolArray) -> bool:
    """Whether no other source could add anything. wanted: (subjects,) values that each has."""
    number_of = Counter(subject for subject, _ in found)
    return all(number_of[each] >= wanted[each] for each in np.flatnonzero(wanted > 0).tolist())


def oldest(
    dated: list[Sample],
    key_of: Callable[[Labels], Key | None],
    keep: Callable[[float, float], float],
) -> dict[Key, float]:
    """The time of each key: of several that which `keep` takes."""
    answer: dict[Key, float] = {}
    for each in dated:
        key = key_of(each.metric)
        if key is not None:
            time = number(each.value[1])
            answer[key] = keep(answer.get(key, time), time)
    return answer


def with_ages(rows: list[Row], age: float | None) -> list[Row]:
    """The rows, all of that age."""
    return [row._replace(age=age) for row in rows]
