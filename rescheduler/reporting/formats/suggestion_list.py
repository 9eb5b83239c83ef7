"""Suggestions as text for a terminal."""

from rich.text import Text

from rescheduler.reporting.formats.screen import Screen
from rescheduler.reporting.suggestion_words import HEADING, SuggestionRow


def draw_suggestions(screen: Screen, rows: list[SuggestionRow], heading: str = HEADING) -> None:
    """What would help most, each with what it brings."""
    if not rows:
        return
    screen.line(Text(heading, style="bold"))
    for number, row in enumerate(rows, 1):
        screen.paragraph(Text(row.promise, style="bold"), first=Text(f"  {number}."), indent=5)
        if row.how:
            screen.paragraph(Text(row.how), indent=5)
        if row.caution:
            screen.paragraph(Text(row.caution, style="yellow"), indent=5)
    screen.line()
