"""Numbers and times in sentences, so that every message has them alike."""

from datetime import UTC, datetime


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 pod", "2 pods"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def agreed(number: int, one: str, many: str) -> str:
    """The verb that goes with the number: `one` with 1, else `many`."""
    return one if number == 1 else many


def instant(moment: datetime) -> str:
    """Date and time in UTC, to the second: "2026-11-21 12:00:05 UTC"."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
