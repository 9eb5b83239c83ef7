"""How readings answer, as text for a terminal."""

from collections.abc import Iterable, Mapping

from rich.text import Text

from rescheduler.model.cluster.reading_answer import ReadingAnswer
from rescheduler.model.wording import clean
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, coded
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
    for each in answers:
        subjects = f"{each.found} of {each.expected} {each.subject}s"
        grid.add(
            Text(clean(each.name), style="bold" if each.own else ""),
            age(each.windowSeconds),
            _count(each.series),
            Text(subjects, style="" if each.found == each.expected else "yellow"),
            "-" if each.ageSeconds is None else age(each.ageSeconds),
            _range(each),
            "-" if each.seconds is None else f"{each.seconds:.2f} s",
            _count(each.samples),
            below=_below(each),
        )
    screen.grid(grid)
    return screen.text()


def _below(each: ReadingAnswer) -> Text | None:
    lines = [
        Text(clean(note), style="dim") for note in (each.convention, each.past, *each.notes) if note
    ]
    if each.problem is not None:
        said = Text.assemble(coded(each.problem.code), clean(each.problem.message))
        # The problem of a reading of which too little is there has the notes in it.
        lines = [said, *(line for line in lines if line.plain not in said.plain)]
    return Text("; ").join(lines) if lines else None


def _range(each: ReadingAnswer) -> str:
    if each.least is None or each.most is None:
        return "-"
    if each.unit == "ratio":
        return f"{percent(each.least)} to {percent(each.most)}"
    return f"{quantity(each.least, '')} to {quantity(each.most, each.unit)}"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def render_definitions(
    rows: Iterable[tuple[str, str, str, list[str]]], there: Mapping[str, str] | None, *, width: int
) -> str:
    """A row for each definition: reading, unit, document; below it its series, and how many.

    there: each series with what the metric source has of it, "" for nothing; None: nobody asked.
    """
    screen = Screen(width=width, color=False)
    grid = Grid([Column("reading", flexible=True), Column("unit"), Column("document")])
    for name, unit, place, series in rows:
        said = [
            each if there is None else f"{each}: {there.get(each) or 'none'}" for each in series
        ]
        grid.add(
            Text(clean(name)), Text(unit), Text(clean(place)), below=Text(clean("; ".join(said)))
        )
    screen.grid(grid)
    return screen.text()
