"""Rows of instant vectors, made into one trusted value a subject, or into the reason for none."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rescheduler.sources.prometheus.http.http_api import Sample
from rescheduler.sources.prometheus.labels import Labels

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


Measured = tuple[str, float]
"""The name of a source, and what it measured."""


class Value(NamedTuple):
    """A value and its age in seconds."""

    value: float
    age: float


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
        self,
        subject: int,
        what: str,
        one: Measured,
        other: Measured,
        *,
        ratio: bool,
    ) -> bool:
        """Whether two sources differ; then the subject has no value because of this."""
        values = one[1], other[1]
        if abs(values[0] - values[1]) <= DIFFER * (1.0 if ratio else max(values)):
            return False
        text = [f"{value:.0%}" if ratio else f"{value:.4g}" for value in values]
        said = f"{text[0]} by {one[0]}, {text[1]} by {other[0]}"
        self.refuse(subject, "sources that differ", f"{what}: {said}", "RDG005")
        return True

    def contradicted(self, subject: int) -> bool:
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
    return {identify(each.metric): number(each.value[1]) for each in samples}


def going_on(
    samples: Iterable[Sample], device_of: Callable[[Mapping[str, str]], str]
) -> list[Sample]:
    """The times of the newest samples of devices' series, without those that have ended.

    Prometheus forgets a series with the scrape that lacks it; other sources answer with its last
    sample for minutes. All series of one scrape have one time, so of a device's series from one
    target those that are older than its newest have ended.
    """
    rows = [(each, number(each.value[1]), _target(each, device_of)) for each in samples]
    newest: dict[tuple[str, ...], float] = {}
    for _, time, target in rows:
        newest[target] = max(newest.get(target, time), time)
    return [each for each, time, target in rows if not (target[0] and time < newest[target] - 1)]


def _target(sample: Sample, device_of: Callable[[Mapping[str, str]], str]) -> tuple[str, ...]:
    get = sample.metric.get
    return get("instance", ""), get("job", ""), get("cluster", ""), device_of(sample.metric)


def resolve(
    groups: Mapping[Key, list[Row]], *, highest: float, max_age: float, problems: ReadingProblems
) -> dict[Key, Value]:
    """One value of each key, where there is one that can be trusted.

    Of several live series with about the same value the largest counts; several that differ give
    no value. Series that have ended within the window count with the weight of their samples.
    """
    answer = {}
    for key, rows in groups.items():
        if len(rows) == 1 and _sound(rows[0], highest) and _fresh(rows[0], max_age):
            row = rows[0]  # the ordinary case, for each of 150,000 pods
            answer[key] = Value(min(max(row.value, 0.0), highest), max(row.age or 0.0, 0.0))
            continue
        value = _resolve_one(key, rows, highest, max_age, problems)
        if value is not None:
            answer[key] = value
    return answer


def _resolve_one(
    key: Key, rows: list[Row], highest: float, max_age: float, problems: ReadingProblems
) -> Value | None:
    unsound = next((row for row in rows if not _sound(row, highest)), None)
    if unsound is not None:
        what = f"values that are not finite or not in 0 to {highest:g}"
        example = f"{unsound.value:g} of {show(unsound.labels)}"
        problems.refuse(key[0], what, example, "RDG006")
        return None
    live = [row for row in rows if _fresh(row, max_age)]
    if not live:
        _refuse_stale(key, rows, max_age, problems)
        return None
    best = max(live, key=lambda row: row.value)
    least = min(live, key=lambda row: row.value)
    allowed = _RATIO_TOLERANCE if highest == 1.0 else _TOLERANCE * best.value
    if best.value - least.value > allowed:
        problems.refuse(key[0], "several series that differ", _both(least, best), "RDG005")
        return None
    if len(live) > 1:
        problems.note("several series that agree, of which one was taken", show(best.labels))
    ended = [row for row in rows if row.age is None and row.weight > 0]
    weight = best.weight + sum(row.weight for row in ended)
    value = best.value
    if best.weight > 0 and ended:
        value = (best.value * best.weight + sum(r.value * r.weight for r in ended)) / weight
    return Value(min(max(value, 0.0), highest), max(best.age or 0.0, 0.0))


def _both(one: Row, other: Row) -> str:
    """The values of two rows with the labels in which they differ, and those that both have."""
    both = dict(one.labels.items() & other.labels.items())
    first, second = (
        f"{row.value:g} by {show({k: v for k, v in row.labels.items() if k not in both})}"
        for row in (one, other)
    )
    return f"{first}, {second} of {show(both)}"


def _refuse_stale(key: Key, rows: list[Row], max_age: float, problems: ReadingProblems) -> None:
    age = min((row.age for row in rows if row.age is not None), default=None)
    what, example = "series without a present sample", show(rows[0].labels)
    if age is not None:
        early = age < -FUTURE
        what = "samples from the future" if early else f"newest sample older than {max_age:g} s"
        example = f"{abs(age):.0f} s: {example}"
    problems.refuse(key[0], what, example, "RDG004")


def _sound(row: Row, highest: float) -> bool:
    slack = SLACK * min(highest, 1.0)
    return -slack <= row.value <= highest + slack


def _fresh(row: Row, max_age: float) -> bool:
    return row.age is not None and -FUTURE <= row.age <= max_age


def show(labels: Mapping[str, str]) -> str:
    """A series as PromQL writes it."""
    return "{" + ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"


def group(
    samples: Iterable[Sample],
    key_of: Callable[[Mapping[str, str]], Key | None],
    age_of: Callable[[Key, Mapping[str, str]], float | None],
    *,
    scale: float,
    weights: Mapping[frozenset[tuple[str, str]], float] | None,
) -> dict[Key, list[Row]]:
    """Rows by what they are about; those about nothing that we know are left out.

    weights: the number of samples of each series, where the values are sums of them.
    """
    answer: dict[Key, list[Row]] = {}
    for each in samples:
        key = key_of(each.metric)
        if key is None:
            continue
        value, weight = number(each.value[1]) * scale, 0.0
        if weights is not None:
            weight = weights.get(identify(each.metric), math.nan)
            value /= weight if weight > 0 else math.nan
        row = Row(value, weight, age_of(key, each.metric), each.metric)
        answer.setdefault(key, []).append(row)
    return answer
