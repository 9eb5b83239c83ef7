"""Replaces JSON that is nested too deeply to decode with null; nothing here reads such fields."""

import re
from typing import TypeVar

import msgspec

T = TypeVar("T")

_DEEPEST = 100
"""No field that is read lies this deep. The decoder stops at about 1,000 levels; the API server
accepts 10,000."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
"""A string, closed or not, or a bracket."""


def decode_json(body: bytes | msgspec.Raw, struct: type[T]) -> T:
    """Decode JSON as a `struct`; parts nested too deeply for a decoder count as null.

    A tenant may nest deeply in fields that are never read here (the API server accepts it in
    `managedFields`). That must not make the whole list of objects unreadable.

    Raises:
        msgspec.DecodeError: it is not JSON of this type.
    """
    try:
        try:
            return msgspec.json.decode(body, type=struct)
        except RecursionError:
            return msgspec.json.decode(shallow(bytes(body)), type=struct)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8: {error}") from error


def shallow(body: bytes) -> bytes:
    """The same JSON with null for each list and object that lies deeper than any field we read."""
    kept, end, depth = bytearray(), 0, 0
    for token in _TOKEN.finditer(body):
        bracket = token.group()
        if bracket in b"[{":
            depth += 1
            if depth == _DEEPEST + 1:
                kept += body[end : token.start()]
                kept += b"null"
        elif bracket in b"]}":
            if depth == _DEEPEST + 1:
                end = token.end()
            depth -= 1
    return bytes(kept + body[end:] if depth <= _DEEPEST else kept)
