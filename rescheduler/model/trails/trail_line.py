"""A record as one line of JSON: ASCII, and never longer than 64 KiB, whatever the cluster holds."""

import json
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from rescheduler.model.trails.trail import VERSION, Record

MOST_BYTES = 65_536
"""Of a line, with its line break."""

_SIZES = ((2000, 1000), (1000, 100), (500, 20), (100, 5))
"""Characters of a text and items of a list or map that are kept; the next where a line is too long
with the one before. With the last, the deepest record stays below 64 KiB."""


def make_line(
    record: Record,
    *,
    chain: str,
    seq: int,
    at: datetime,
    cycle: int,
    previous: str,
    clean: Callable[[str], str] = str,
) -> bytes:
    """The line of this record, without its line break.

    clean: makes a text fit to be kept for long, as by hiding secrets.
    """
    # Control characters, and what changes the direction of writing, must be inert in a terminal.
    whole = msgspec.to_builtins(record)
    for text, items in _SIZES:
        cut: list[str] = []
        head = {"trail": VERSION, "chain": chain, "seq": seq, "at": at.isoformat(), "cycle": cycle}
        kept = _bound_value(whole, text, items, clean, "", cut)
        left_out = {"cut": cut[:20]} if cut else {}
        entry = {**head, "previous": previous, **left_out, "record": kept}
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
        if len(line) < MOST_BYTES:
            return line
    raise AssertionError(f"a record of type {whole.get('type')} cannot be kept short")


def _valid_text(text: str) -> str:
    """The text without halves of characters, which JSON does not have."""
    return text.encode(errors="replace").decode()


def _bound_value(
    value: Any, text: int, items: int, clean: Callable[[str], str], where: str, cut: list[str]
) -> Any:
    if isinstance(value, str):
        value = clean(_valid_text(value))
        if len(value) <= text:
            return None if isinstance(value, float) and not math.isfinite(value) else value
        cut.append(f"{where}: {len(value) - text} more characters")
        return value[:text]
    if isinstance(value, list):
        if len(value) > items:
            cut.append(f"{where}: {len(value) - items} more")
        return [_bound_value(element, text, items, clean, where, cut) for element in value[:items]]
    if isinstance(value, dict):
        if len(value) > items:
            cut.append(f"{where}: {len(value) - items} more")
        return {
            clean(_valid_text(key))[:text]: _bound_value(
                child, text, items, clean, f"{where}.{key[:50]}" if where else key[:50], cut
            )
            for key, child in list(value.items())[:items]
        }
    return None if isinstance(value, float) and not math.isfinite(value) else value
