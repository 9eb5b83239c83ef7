"""Which exporters the policies need, and which of their fields Prometheus lacks."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rescheduler.documents.promql import selectors
from rescheduler.kube.nodes.accelerators import maker
from rescheduler.model.checkup import Diagnosis
from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.reporting.alerts import advice
from rescheduler.reporting.phrasing import percent, resource

EXPORTERS = "Exporters"
_MOST_FIELDS = 4
_ABSENT = "RDG017"


@dataclass(frozen=True)
class DefinedReading:
    """A reading as one document defines it. exporter: the document's name."""

    name: str
    exporter: str
    own: OwnReading


@dataclass(frozen=True)
class _Need:
    """A reading without values: who needs it, and the documents that define it for this cluster."""

    answer: ReadingAnswer
    definitions: list[DefinedReading]


def series_needed(
    answers: Iterable[ReadingAnswer], definitions: Sequence[DefinedReading], snapshot: Snapshot
) -> list[str]:
    """The names of the series that decide about the readings that have a problem."""
    exporters = {
        definition.exporter
        for need in _needs(answers, definitions, snapshot)
        for definition in need.definitions
    }
    names = [
        name
        for definition in definitions
        if definition.exporter in exporters
        for fields in fields_of(definition.own)
        for name in fields
    ]
    return list(dict.fromkeys(names))


def check_exporters(
    answers: Sequence[ReadingAnswer],
    definitions: Sequence[DefinedReading],
    present: Mapping[str, Mapping[str, int]],
    snapshot: Snapshot,
) -> Iterator[Diagnosis]:
    """What each exporter lacks of what policies need. present: number of series by name and job."""
    there = {name for name, jobs in present.items() if any(jobs.values())}
    missing: dict[tuple[str, str], list[_Need]] = {}
    for need in _needs(answers, definitions, snapshot):
        lack = _gap_of(need, definitions, there)
        if lack is None:
            yield _unfit_exporters(need)
        else:
            missing.setdefault(lack, []).append(need)
    for (text, hint), needs in missing.items():
        problem = needs[0].answer.problem
        code = "" if problem is None else problem.code
        yield Diagnosis(
            area=EXPORTERS,
            severity="note" if code == _ABSENT else "error",
            code=code,
            message=f"{text} Needed for {_wish(needs)}.",
            advice=hint,
        )
    fit = [answer for answer in answers if answer.problem is None]
    if fit:
        least = min(answer.coverage for answer in fit)
        yield Diagnosis(
            area=EXPORTERS,
            severity="ok",
            message=f"{len(fit)} of {count_text(len(answers), 'reading')} that policies need "
            f"{verb_for(len(fit), 'answers', 'answer')}, for {percent(least)} of the nodes and "
            "pods "
            "or more.",
        )
    if not answers:
        text = "No policy needs a reading."
        yield Diagnosis(area=EXPORTERS, severity="ok", message=text)


def fields_of(own: OwnReading) -> list[list[str]]:
    """The names of the series that each way to this reading needs."""
    ways = []
    for source in own.sources:
        queries = (getattr(source, part, None) for part in ("value", "count", "fresh"))
        names = [text.partition("{")[0] for query in queries if query for text in selectors(query)]
        ways.append(list(dict.fromkeys(filter(None, names))))
    return ways


def _needs(
    answers: Iterable[ReadingAnswer], definitions: Sequence[DefinedReading], snapshot: Snapshot
) -> Iterator[_Need]:
    makers = {
        maker(name) for node in snapshot.nodes for name in (node.status.allocatable or {})
    } - {""}
    for answer in answers:
        if answer.problem is not None:
            fitting = [
                definition
                for definition in definitions
                if definition.name == answer.name
                if definition.own.devices is None or definition.own.devices in makers
            ]
            yield _Need(answer, fitting)


def _gap_of(
    need: _Need, definitions: Sequence[DefinedReading], there: Collection[str]
) -> tuple[str, str] | None:
    """What is missing for it, and what to do; None where the fields of one way are all there."""
    lacking = {one.exporter: _missing_fields(one.own, there) for one in need.definitions}
    if not lacking or not all(lacking.values()):
        return None
    for exporter, names in lacking.items():
        if _runs(exporter, definitions, there):
            fields = ", ".join(names[:_MOST_FIELDS])
            text = f"{exporter} is there but does not export {fields}."
            return text, f"Add {fields} to the counters of {exporter}."
    exporters = " or ".join(lacking)
    text = f"Prometheus has no series of {exporters}."
    return text, f"Install {exporters}, or let Prometheus scrape it."


def _unfit_exporters(need: _Need) -> Diagnosis:
    """A reading whose fields are there, and which has another problem."""
    problem = need.answer.problem
    code = "" if problem is None else problem.code
    return Diagnosis(
        area=EXPORTERS,
        severity="note" if code == _ABSENT else "error",
        code=code,
        message=f"There is no usable value for {_wish([need])}: "
        f"{'' if problem is None else problem.message}",
        advice=advice(code),
    )


def _wish(needs: Sequence[_Need]) -> str:
    """The readings, and the policies that need them."""
    names = [f"{resource(need.answer.name)} ({need.answer.name})" for need in needs]
    policies = list(dict.fromkeys(name for need in needs for name in need.answer.policies))
    verb = verb_for(len(policies), "needs", "need")
    return f"{', '.join(names)}, which {', '.join(policies)} {verb}"


def _missing_fields(own: OwnReading, there: Collection[str]) -> list[str]:
    """What is missing of the first way to the reading; nothing where one way is complete."""
    ways = [[name for name in fields if name not in there] for fields in fields_of(own)]
    return [] if any(not missing for missing in ways) else ways[0]


def _runs(exporter: str, definitions: Sequence[DefinedReading], there: Collection[str]) -> bool:
    """Whether any series of the exporter is there."""
    return any(
        name in there
        for definition in definitions
        if definition.exporter == exporter
        for fields in fields_of(definition.own)
        for name in fields
    )
