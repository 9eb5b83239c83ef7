"""What a model reports about one of its own fields, so that a file's line can be named."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

FieldPath = tuple[str | int, ...]
"""Names of fields and positions in lists, from the model that reports it down to the value."""


class FieldError(ValueError):
    """Why a value is refused. Raised by validators, also by those that compare several fields."""

    def __init__(
        self,
        message: str,
        at: FieldPath = (),
        *,
        hint: str = "",
        known: Iterable[str] = (),
        others: Iterable[FieldPath] = (),
    ) -> None:
        """at: the value that is meant, below what is validated. known: words of which one is meant.

        hint: advice, without the leading "Maybe". others: further values that it is about. Without
        any path the fields are marked that the message names.
        """
        super().__init__(message)
        self.at = at
        self.hint = hint
        self.known = tuple(known)
        self.others = tuple(others)


class FieldWarning(NamedTuple):
    """Why a value that can be used is probably not what was meant.

    at: the value, below the model that reports it. hint: advice, without the leading "Maybe".
    known: words of which one was probably meant.
    """

    at: FieldPath
    message: str
    hint: str = ""
    known: tuple[str, ...] = ()


def respelled(value: Any, pattern: str) -> str:
    """A hint with the text as it should be written, where only blanks and capitals are wrong."""
    text = "".join(value.lower().split()) if isinstance(value, str) else ""
    return f"`{text}`" if re.fullmatch(pattern, text) else ""
