"""A checkup as text for a terminal."""

import msgspec
from rich.text import Text

from rescheduler.model.checkup import Checkup, Diagnosis, Severity
from rescheduler.model.wording import count_text
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.phrasing import stamp
from rescheduler.reporting.view import clean_value

_SIGNS: dict[Severity, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "note": ("note", "cyan"),
    "warning": ("warn", "yellow"),
    "error": ("ERROR", "bold red"),
}
_INDENT = 9


def render_checkup(checkup: Checkup, *, width: int, color: bool) -> str:
    """The checkup as text of that width in screen cells; with color, as ANSI sequences."""
    seen = msgspec.convert(clean_value(msgspec.to_builtins(checkup)), Checkup)
    screen = Screen(width=width, color=color)
    title = Text.assemble(("Checkup", "bold"), f" of cluster {seen.cluster}, {stamp(seen.taken)}")
    screen.line(title, fold=True)
    screen.line()
    area = ""
    for diagnosis in seen.diagnoses:
        if diagnosis.area != area:
            area = diagnosis.area
            screen.line(Text(area, style="bold"))
        _row(screen, diagnosis)
    screen.line()
    screen.paragraph(_summary(seen))
    return screen.text()


def _row(screen: Screen, diagnosis: Diagnosis) -> None:
    sign, style = _SIGNS[diagnosis.severity]
    text = Text(diagnosis.message)
    if diagnosis.code:
        text = code_prefix(diagnosis.code).append_text(text)
    screen.paragraph(text, first=Text(f"  {sign}", style=style), indent=_INDENT)
    if diagnosis.advice:
        # What is only supposed is nothing to do yet.
        label = "" if diagnosis.advice.startswith("Maybe") else "To do: "
        screen.paragraph(Text(f"{label}{diagnosis.advice}", style="bold"), indent=_INDENT)


def _summary(seen: Checkup) -> Text:
    errors, warnings = len(seen.of_severity("error")), len(seen.of_severity("warning"))
    if errors:
        text = (
            f"{count_text(errors, 'error')} and {count_text(warnings, 'warning')}. Begin with the "
        )
        return Text(f"{text}first error.", style="bold red")
    if warnings:
        text = f"No error, {count_text(warnings, 'warning')}. It works, and could do more."
        return Text(text, style="yellow")
    return Text("All that is needed is there.", style="green")
