"""Numbers, times and foreign text in sentences, so that every message has them alike."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

# CSI and OSC sequences go as a whole, so that no "[31m" stays behind; then any other control.
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def count_text(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 pod", "2 pods"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def verb_for(number: int, one: str, many: str) -> str:
    """The verb that goes with the number: `one` with 1, else `many`."""
    return one if number == 1 else many


def ordinal(number: int) -> str:
    """Which of several it is: "1st", "2nd", "11th"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def list_names(names: Sequence[str], noun: str, most: int = 5) -> str:
    """How many there are, with the first names: "7 nodes (a, b, c, d, e and 2 more)"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{count_text(len(names), noun)} ({', '.join(names[:most])}{more})"


def join_names(names: Sequence[str], most: int = 3) -> str:
    """The names as a person lists them: "a", "a and b", "a, b and c", "a, b, c and 2 more"."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def gpu_hours(hours: float) -> str:
    """An amount of GPU-hours; what is not zero is never shown as zero."""
    if 0 < hours < 0.05:
        return "under 0.1"
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:,.1f}"


def duration_text(seconds: float) -> str:
    """A length of time in hours; what is shorter in minutes or seconds."""
    if seconds >= 3600:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def instant(moment: datetime) -> str:
    """Date and time in UTC, to the second: "2026-11-21 12:00:05 UTC"."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def clean(text: str) -> str:
    """The text without escape sequences, control characters and changes of writing direction.

    White space becomes a plain space: a name from the cluster must not draw on the terminal.
    """
    if text.isprintable() and text.isascii():
        return text
    kept = []
    for character in _ESCAPE.sub("", text):
        if character in "\n\r\t\v\f":
            kept.append(" ")
        elif unicodedata.category(character) not in _UNSEEN:
            kept.append(character)
    return "".join(kept)
