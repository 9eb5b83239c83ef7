"""Text files as callers hand them over: name, content, or why it was not read."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file that was read, or could not be.

    name: as it is shown. identity: the same for one file, however it is named.
    problem: why there is no text, as a predicate; "" where there is one.
    """

    name: str
    identity: str
    text: str = ""
    problem: str = ""


Beside = Callable[[TextFile, str], TextFile]
"""Reads the file that another one refers to by that name, relative to where the other one is."""
