"""JSON objects that are nested too deeply to decode: replaced, since no part of ours reads them."""

import re
from typing import TypeVar

import msgspec

T = TypeVar("T")

_DEEPEST = 100
"""No field that is read lies this deep; decoders of Python go about 1,000 levels deep, and the API
server takes 10,000."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
"""A string, closed or not, or a bracket."""


def decode_json(body: bytes | msgspec.Raw, struct: type[T]) -> T:
    """The JSON as a `struct`; what nests too deeply for a decoder counts as null.

    A tenant may nest what he likes in fields that are not ours (the API server takes it in
    `managedFields`), and must not take the whole list of his objects with it.

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
