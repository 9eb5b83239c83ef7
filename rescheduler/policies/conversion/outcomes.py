"""What becomes of each field of a foreign document, as a mark on the field of its model."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rescheduler.documents.fields import Strict
from rescheduler.documents.strict_yaml import Tree

_LONGEST = 100
"""Characters of a value that a comment shows."""


class Becomes(NamedTuple):
    """It is translated. text: what it is here."""

    text: str


class Same(NamedTuple):
    """It changes nothing: it is so here without a field. text: what is so."""

    text: str


class Lost(NamedTuple):
    """It has no equivalent. text: why, and what to do instead.

    harmless: values with which it says nothing. restricts: it keeps pods from being evicted, so
    that policies without it only report.
    """

    text: str
    harmless: tuple[Any, ...] = ()
    restricts: bool = False


Outcome = Becomes | Same | Lost


class FieldNote(NamedTuple):
    """What a comment says of one field. line: in the file, from 1. path: of the field there.

    value: as it is written. equivalent: it is so here without a field.
    """

    line: int
    path: str
    value: str
    text: str
    equivalent: bool = False
    restricts: bool = False


class FieldPlace(NamedTuple):
    """Where a value is in the file. cause: what the file has there, of a value that it has not."""

    path: str = ""
    cause: str = ""


Paths = dict[int, FieldPlace]
"""By the identity of a tree, its place."""


def paths_of(tree: Tree, path: str = "") -> Paths:
    """The place of every value of a document."""
    paths = {id(tree): FieldPlace(path)}
    if isinstance(tree.value, dict):
        for key, child in tree.value.items():
            paths |= paths_of(child, f"{path}.{key}" if path else key)
    elif isinstance(tree.value, list):
        for number, child in enumerate(tree.value):
            paths |= paths_of(child, f"{path}[{number}]")
    return paths


def note_of(tree: Tree, paths: Paths, outcome: Outcome) -> FieldNote:
    """What a comment says of the value there."""
    place = paths.get(id(tree), FieldPlace())
    restricts = isinstance(outcome, Lost) and outcome.restricts
    equivalent = isinstance(outcome, Same) or (
        isinstance(outcome, Lost) and tree.plain() in outcome.harmless
    )
    return FieldNote(
        tree.mark.line,
        place.path,
        place.cause or value_text(tree),
        outcome.text,
        equivalent,
        restricts and not equivalent,
    )


def value_text(tree: Tree) -> str:
    """A value as a comment shows it."""
    shown = msgspec.json.encode(tree.plain()).decode()
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def outcome_of(model: type[Strict], name: str) -> Outcome | None:
    """What becomes of this field; None where its own fields say so."""
    marks = model.model_fields[name].metadata
    return next((mark for mark in marks if isinstance(mark, Becomes | Same | Lost)), None)


def notes_on(made: Strict, tree: Tree, paths: Paths) -> Iterator[FieldNote]:
    """What comments say of all that is given and is not translated."""
    fields = tree.value if isinstance(tree.value, dict) else {}
    for name, branch in fields.items():
        value, outcome = getattr(made, name), outcome_of(type(made), name)
        if value is None:
            continue
        if outcome is not None and not isinstance(outcome, Becomes):
            yield note_of(branch, paths, outcome)
        elif isinstance(value, Strict):
            yield from notes_on(value, branch, paths)
        elif isinstance(value, list) and isinstance(branch.value, list):
            for element, child in zip(value, branch.value, strict=True):
                if isinstance(element, Strict):
                    yield from notes_on(element, child, paths)
