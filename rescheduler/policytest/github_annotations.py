"""Marks that GitHub shows beside the lines of a change, as its runners read them from a log.

Source: docs.github.com, workflow commands for GitHub Actions, "Setting an error message".
"""

from typing import Literal

from rescheduler.model.errors import PolicyError

Level = Literal["error", "warning", "notice"]


def annotation(level: Level, message: str, *, title: str = "", **place: str | int) -> str:
    """One mark. place: `file`, `line`, `col`; without a file it belongs to the whole run."""
    properties = {**place, "title": title}
    reported = ",".join(
        f"{name}={_property(str(value))}" for name, value in properties.items() if value
    )
    return f"::{level}{f' {reported}' if reported else ''}::{_data(message)}"


def annotations(error: PolicyError, file: str = "") -> list[str]:
    """A mark for every problem; where none has a place, one on the file."""
    if not error.places:
        return [annotation("error", str(error), file=file)]
    return [
        annotation("error", place.message, file=place.file, line=place.line, col=place.column)
        for place in error.places
    ]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
