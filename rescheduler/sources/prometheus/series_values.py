"""Turns rows of instant vectors into one value per subject, or the reason why there is none."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rescheduler.sources.prometheus.http.http_api import Sample
from rescheduler.sources.prometheus.labels import Labels, read_once

Key = tuple[int, str]
"""Index of a node or pod, and the device of it, "" for the whole."""

FUTURE = 60.0
"""Seconds that a sample may lie ahead of the evaluation before its clock counts as wrong."""
SLACK = 0.05
"""Share of the legal range by which rounding and extrapolation may pass its ends."""
_RATIO_TOLERANCE, _TOLERANCE = 0.05, 0.1

DIFFER = 0.3
"""By how much what two sources measure may differ: of ratios in itself, else as a share of the
larger. A GPU's share of active time and that in which any kernel ran, or a node's CPU with and
without waiting for disks, are not the same, yet both are near 0 for what is idle and near 1 for
what is busy; a module that has stopped, or somebody else's exporter, is farther off."""

_UNLIKELY = 1 / 2000
"""How rare it must be that samples are by chance so far from what another source measured."""


class Value(NamedTuple):
    """A value and its age in seconds. samples: of how many it is the mean, 0: of no samples."""

    value: float
    age: float
    samples: float = 0.0


class SourceValue(NamedTuple):
    """What a source measured. source: its name. samples: see Value."""

    source: str
    value: float
    samples: float = 0.0


def differ(one: SourceValue, other: SourceValue, *, ratio: bool) -> bool:
    """Whether the preferred source and another one do not tell of the same.

    What is busy for a share of the time is found busy by some of the other's samples. So the means
    of few samples may be far apart, but for what is idle or busy all the time.
    """
    if abs(one.value - other.value) <= DIFFER * (1.0 if ratio else max(one.value, other.value)):
        return False
    samples = min(one.samples, other.samples) if ratio else 0.0
    return samples <= 0 or likelihood(one.value, other.value, samples) < _UNLIKELY


def likelihood(share: float, mean: float, samples: float) -> float:
    """The most that the chance of such a mean of so many samples of that share can be.

    Source: Chernoff's bound for binomials, exp(-n KL(mean, share)).
    """
    pairs = ((mean, share), (1.0 - mean, 1.0 - share))
    if any(observation > 0 >= there for observation, there in pairs):
        return 0.0
    return math.exp(-samples * sum(one * math.log(one / p) for one, p in pairs if one > 0))


class ReadingProblems:
    """What was left out and why: the reason code of each subject, and notes for people."""

    def __init__(self) -> None:
        self.codes: dict[int, str] = {}
        self.causes: dict[int, tuple[str, str]] = {}
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def note(self, what: str, example: str = "", count: int = 1) -> None:
        """Remember an oddity of that sort."""
        self.counts[what] = self.counts.get(what, 0) + count
        self.examples.setdefault(what, example)

    def refuse(self, subject: int, what: str, example: str, code: str = "RDG003") -> None:
        """A subject has no value because of this; of several codes the highest stays."""
        if code >= self.codes.get(subject, ""):
            self.codes[subject], self.causes[subject] = code, (what, example)
        self.note(f"{code}: {what}", example)

    def contradict(
        self, subject: int, what: str, one: SourceValue, other: SourceValue, *, ratio: bool
    ) -> bool:
        """Whether two sources differ; then the subject has no value because of this."""
        if not differ(one, other, ratio=ratio):
            return False
        said = ", ".join(
            f"{measurement.value:{'.0%' if ratio else '.4g'}} by {measurement.source}"
            for measurement in (one, other)
        )
        self.refuse(subject, "sources that differ", f"{what}: {said}", "RDG005")
        return True

    def is_contradicted(self, subject: int) -> bool:
        """Whether several values of the subject differ, or are not to be believed."""
        return self.codes.get(subject, "") >= "RDG005"

    def adopt(self, other: "ReadingProblems", part_of: Mapping[int, int]) -> None:
        """What was wrong with larger parts, said of the subjects that are in them.

        part_of: subject to the part.
        """
        for subject, part in part_of.items():
            if other.codes.get(part, "") > self.codes.get(subject, ""):
                self.codes[subject], self.causes[subject] = other.codes[part], other.causes[part]
        for what, count in other.counts.items():
            self.note(what, other.examples[what], count)

    def notes(self) -> tuple[str, ...]:
        """One sentence for each sort of oddity, with how often it came and an example."""
        return tuple(
            f"{what} ({count}"
            + (f", such as {self.examples[what]})" if self.examples[what] else ")")
            for what, count in sorted(self.counts.items())
        )


class Row(NamedTuple):
    """One series behind a value. age: None where its newest sample is gone."""

    value: float
    weight: float
    age: float | None
    labels: Mapping[str, str]


def number(text: str | float) -> float:
    """A value as Prometheus writes it; NaN where it is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def identify(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What distinguishes one series from another."""
    return labels.series if isinstance(labels, Labels) else frozenset(labels.items())


def by_series(samples: Iterable[Sample]) -> dict[frozenset[tuple[str, str]], float]:
    """The value of each series."""
    return {identify(sample.metric): number(sample.value[1]) for sample in samples}


def going_on(
    samples: Iterable[Sample], device_of: Callable[[Mapping[str, str]], str]
) -> list[Sample]:
    """The times of the newest samples of devices' series, without those that have ended.

    Prometheus forgets a series with the scrape that lacks it; other sources answer with its last
    sample for minutes. All series of one scrape have one time, so of a device's series from one
    target those that are older than its newest have ended.
    """

    def target_of(labels: Mapping[str, str]) -> tuple[str, ...]:
        get = labels.get
        return get("instance", ""), get("job", ""), get("cluster", ""), device_of(labels)

    rows = [
        (sample, number(sample.value[1]), read_once(sample.metric, "target", target_of))
        for sample in samples
    ]
    newest: dict[tuple[str, ...], float] = {}
    for _, time, target in rows:
        newest[target] = max(newest.get(target, time), time)
    return [
        sample for sample, time, target in rows if not (target[0] and time < newest[target] - 1)
    ]


class Trust(NamedTuple):
    """Which rows count, and where it is said why others do not.

    highest: the largest legal value. max_age: seconds.
    """

    highest: float
    max_age: float
    problems: ReadingProblems

    def values(self, groups: Mapping[Key, list[Row]]) -> dict[Key, Value]:
        """One value of each key, where there is one that can be trusted."""
        pairs = ((key, self.value(key, rows)) for key, rows in groups.items())
        return {key: value for key, value in pairs if value is not None}

    def value(self, key: Key, rows: list[Row]) -> Value | None:
        """The value of a key, or None with the reason among the problems.

        Of several live series with about the same value the largest counts; several that differ
        give no value. Series that have ended within the window count with the weight of their
        samples.
        """
        if len(rows) == 1 and self._sound(rows[0]) and self._fresh(rows[0]):
            return self._value(rows[0], rows[0].value, rows[0].weight)  # as of 150,000 pods
        unsound = next((row for row in rows if not self._sound(row)), None)
        if unsound is not None:
            what = f"values that are not finite or not in 0 to {self.highest:g}"
            example = f"{unsound.value:g} of {show(unsound.labels)}"
            self.problems.refuse(key[0], what, example, "RDG006")
            return None
        live = [row for row in rows if self._fresh(row)]
        if not live:
            self._refuse_stale(key, rows)
            return None
        best = max(live, key=lambda row: row.value)
        least = min(live, key=lambda row: row.value)
        allowed = _RATIO_TOLERANCE if self.highest == 1.0 else _TOLERANCE * best.value
        if best.value - least.value > allowed:
            example = _differing_text(least, best)
            self.problems.refuse(key[0], "several series that differ", example, "RDG005")
            return None
        if len(live) > 1:
            what = "several series that agree; one was taken"
            self.problems.note(what, show(best.labels))
        counted = [best, *(row for row in rows if row.age is None and row.weight > 0)]
        weight = sum(row.weight for row in counted)
        value = best.value
        if best.weight > 0 and len(counted) > 1:
            value = sum(row.value * row.weight for row in counted) / weight
        return self._value(best, value, weight)

    def _value(self, row: Row, value: float, samples: float) -> Value:
        if not 0.0 <= value <= self.highest:
            value = min(max(value, 0.0), self.highest)
        return Value(value, max(row.age or 0.0, 0.0), samples)

    def _sound(self, row: Row) -> bool:
        slack = SLACK * min(self.highest, 1.0)
        return -slack <= row.value <= self.highest + slack

    def _fresh(self, row: Row) -> bool:
        return row.age is not None and -FUTURE <= row.age <= self.max_age

    def _refuse_stale(self, key: Key, rows: list[Row]) -> None:
        age = min((row.age for row in rows if row.age is not None), default=None)
        what, example = "series without a present sample", show(rows[0].labels)
        if age is not None:
            early = age < -FUTURE
            what = "samples from the future" if early else (
                f"newest sample older than {self.max_age:g} s"
            )  # fmt: skip
            example = f"{abs(age):.0f} s: {example}"
        self.problems.refuse(key[0], what, example, "RDG004")


def _differing_text(one: Row, other: Row) -> str:
    """The values of two rows with the labels in which they differ, and those that both have."""
    both = dict(one.labels.items() & other.labels.items())
    first, second = (
        f"{row.value:g} by {show({k: v for k, v in row.labels.items() if k not in both})}"
        for row in (one, other)
    )
    return f"{first}, {second} of {show(both)}"


def show(labels: Mapping[str, str]) -> str:
    """A series as PromQL writes it."""
    return "{" + ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


def group(
    samples: Iterable[Sample],
    key_of: Callable[[Mapping[str, str]], Key | None],
    ages: Mapping[frozenset[tuple[str, str]], float] | None,
    *,
    scale: float = 1.0,
    weights: Mapping[frozenset[tuple[str, str]], float] | None = None,
) -> dict[Key, list[Row]]:
    """Rows by what they are about; those about nothing that we know are left out.

    ages: of each series with a present sample; None: all are of now. weights: the number of samples
    of each series, where the values are sums of them.
    """
    answer: dict[Key, list[Row]] = {}
    widths = {len(label_set) for label_set in ages or ()}
    for sample in samples:
        labels = sample.metric
        key = key_of(labels)
        if key is None:
            continue
        value, weight, age = number(sample.value[1]) * scale, 0.0, 0.0 if ages is None else None
        if weights is not None:
            weight = weights.get(identify(labels), math.nan)
            value /= weight if weight > 0 else math.nan
        if ages and len(labels) in widths:  # else it is none of them, as of 150,000 pods
            age = ages.get(identify(labels))
        answer.setdefault(key, []).append(Row(value, weight, age, labels))
    return answer
