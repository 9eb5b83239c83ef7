"""How readings answer, as text for a terminal."""

from collections.abc import Iterable, Mapping

from rich.text import Text

from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.model.wording import clean
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.phrasing import age, percent, quantity


def render_readings(answers: Iterable[ReadingAnswer], *, width: int, color: bool) -> str:
    """A row for each reading, with its problem and what was left out below it."""
    screen = Screen(width=width, color=color)
    grid = Grid(
        [
            Column("reading", flexible=True),
            Column("window", "right"),
            Column("series", "right"),
            Column("with a value", "right"),
            Column("oldest", "right"),
            Column("values", "right"),
            Column("took", "right"),
            Column("samples", "right"),
        ]
    )
    for answer in answers:
        subjects = f"{answer.withValue} of {answer.expected} {answer.subject}s"
        grid.add(
            Text(clean(answer.name), style="bold" if answer.own else ""),
            age(answer.windowSeconds),
            _count(answer.series),
            Text(subjects, style="" if answer.withValue == answer.expected else "yellow"),
            "-" if answer.ageSeconds is None else age(answer.ageSeconds),
            _range(answer),
            "-" if answer.seconds is None else f"{answer.seconds:.2f} s",
            _count(answer.samples),
            below=_lines_below(answer),
        )
    screen.grid(grid)
    return screen.text()


def _lines_below(answer: ReadingAnswer) -> Text | None:
    lines = [
        Text(clean(note), style="dim")
        for note in (answer.convention, answer.past, *answer.notes)
        if note
    ]
    if answer.problem is not None:
        said = Text.assemble(code_prefix(answer.problem.code), clean(answer.problem.message))
        # If too few values are there, the problem of the reading contains the notes.
        lines = [said, *(line for line in lines if line.plain not in said.plain)]
    return Text("; ").join(lines) if lines else None


def _range(answer: ReadingAnswer) -> str:
    if answer.least is None or answer.most is None:
        return "-"
    if answer.unit == "ratio":
        return f"{percent(answer.least)} to {percent(answer.most)}"
    return f"{quantity(answer.least, '')} to {quantity(answer.most, answer.unit)}"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def render_definitions(
    rows: Iterable[tuple[str, str, str, list[str]]], there: Mapping[str, str] | None, *, width: int
) -> str:
    """A row for each definition: reading, unit, document; below it its series, and how many.

    there: each series with what the metric source has of it, "" for nothing; None: not queried.
    """
    screen = Screen(width=width, color=False)
    grid = Grid([Column("reading", flexible=True), Column("unit"), Column("document")])
    for name, unit, place, series in rows:
        said = [
            metric if there is None else f"{metric}: {there.get(metric) or 'none'}"
            for metric in series
        ]
        grid.add(
            Text(clean(name)), Text(unit), Text(clean(place)), below=Text(clean("; ".join(said)))
        )
    screen.grid(grid)
    return screen.text()
