"""Durations as Go writes them, such as `1h30m` (time.ParseDuration)."""

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_LONGEST = 1_000
"""Characters: searching takes time with the square of the length."""


def go_seconds(text: str) -> float | None:
    """The duration in seconds; None where it cannot be read, or is negative."""
    if len(text) > _LONGEST:
        return None
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
