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
        choices: Iterable[str] = (),
        others: Iterable[FieldPath] = (),
    ) -> None:
        """at: the value meant, below what is validated. choices: the words it may be.

        hint: advice, without the leading "Maybe". others: further values that it is about. Without
        any path the fields are marked that the message names.
        """
        super().__init__(message)
        self.at = at
        self.hint = hint
        self.choices = tuple(choices)
        self.others = tuple(others)


class FieldWarning(NamedTuple):
    """Why a value that can be used is probably not what was meant.

    at: the value, below the model that reports it. hint: advice, without the leading "Maybe".
    choices: words; one of them was probably meant.
    """

    at: FieldPath
    message: str
    hint: str = ""
    choices: tuple[str, ...] = ()


def respelling_hint(value: Any, pattern: str) -> str:
    """A hint with the text as it should be written, where only blanks and capitals are wrong."""
    text = "".join(value.lower().split()) if isinstance(value, str) else ""
    return f"`{text}`" if re.fullmatch(pattern, text) else ""
