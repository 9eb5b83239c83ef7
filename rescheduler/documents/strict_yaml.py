"""YAML without surprises, and with the place of everything in it.

Plain scalars are read as JSON would: `true`, `false`, `null`, decimal numbers; all else is text, so
`no`, `on`, `22:30`, `010` and `1_000` stay what was written. Repeated keys, anchors, aliases, tags
and keys that are not text are problems.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from rescheduler.documents.file_problems import LINE_ENDS, FileProblem, TextSpan

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?")
_ODD = "the indentation, a quote or a colon is not as meant"
_TAB = "blanks instead of the tab (shown as →); YAML indents with blanks"
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}

Value = dict[str, "Tree"] | list["Tree"] | str | int | float | bool | None


@dataclass(slots=True)
class Tree:
    """A value and its place. keys: the places of the keys of a mapping."""

    value: Value
    mark: TextSpan
    keys: dict[str, TextSpan]

    def plain(self) -> Any:
        """The value alone, as Python's own types."""
        if isinstance(self.value, dict):
            return {key: tree.plain() for key, tree in self.value.items()}
        if isinstance(self.value, list):
            return [tree.plain() for tree in self.value]
        return self.value


class StopReading(Exception):
    """Reading cannot go on."""


def read(
    text: str, reader: type["YamlReader"] | None = None
) -> tuple[list[Tree], list[FileProblem]]:
    """The documents of the text, empty ones left out, and what is wrong with it.

    reader: what builds the trees, where the text is not in the form that we ask for.
    """
    if len(text.encode()) > MAX_BYTES:
        return [], [FileProblem(TextSpan(), f"the file is larger than {MAX_BYTES // 1024} KiB")]
    building = (reader or YamlReader)()
    documents: list[Tree] = []
    try:
        building.documents(text, documents)
    except yaml.reader.ReaderError as error:
        *before, line = LINE_ENDS.split(text[: error.position])
        mark = TextSpan(len(before) + 1, len(line) + 1)
        building.file_problems.append(FileProblem(mark, "a character is not allowed in YAML"))
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = TextSpan(place.line + 1, place.column + 1) if place else TextSpan()
        message = f"not YAML: {error.problem or error.context}"
        tab = place is not None and text[place.index : place.index + 1] == "\t"
        building.file_problems.append(FileProblem(mark, message, _TAB if tab else _ODD))
    except StopReading:
        pass
    return documents, building.file_problems


def tree_of_value(value: Any) -> Tree:
    """The tree of a value that is in no file, such as a document in a plan."""
    if isinstance(value, dict):
        branches = {str(key): tree_of_value(child) for key, child in value.items()}
        return Tree(branches, TextSpan(), dict.fromkeys(branches, TextSpan()))
    return Tree(
        [tree_of_value(child) for child in value] if isinstance(value, list) else value,
        TextSpan(),
        {},
    )


def scalar(text: str) -> str | float | bool | None:
    """What a plain scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


class YamlReader:
    """Builds the trees from the parser's events, so that nothing is expanded before it is seen."""

    def __init__(self) -> None:
        self.file_problems: list[FileProblem] = []
        self._events: Iterator[yaml.Event] = iter(())

    def documents(self, text: str, into: list[Tree]) -> None:
        """Add the documents of the text, empty ones left out."""
        self._events = yaml.parse(text, Loader=yaml.SafeLoader)
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                tree = self.tree(next(self._events), 1)
                if tree.value is not None:
                    into.append(tree)

    def tree(self, event: yaml.Event, depth: int) -> Tree:
        """The tree that begins with this event, which may be one that is not allowed."""
        mark = mark_of(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            self.complain(mark, "anchors and aliases are not allowed", "write the value out")
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            self.complain(mark, f"the tag {tag} is not allowed", "leave it out")
        return self.node(event, mark, depth)

    def node(self, event: yaml.Event, mark: TextSpan, depth: int) -> Tree:
        """The tree that begins with this event."""
        if depth > MAX_DEPTH:
            self.complain(mark, f"nested deeper than {MAX_DEPTH} levels")
            raise StopReading
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(mark, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self.tree(event, depth + 1))
            return Tree(items, mark, {})
        if isinstance(event, yaml.ScalarEvent):
            return Tree(self.scalar(event), mark, {})
        return Tree(None, mark, {})

    def scalar(self, event: yaml.ScalarEvent) -> str | float | bool | None:
        """What a scalar means."""
        return scalar(event.value) if event.implicit[0] else event.value

    def _mapping(self, mark: TextSpan, depth: int) -> Tree:
        values: dict[str, Tree] = {}
        keys: dict[str, TextSpan] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self.tree(event, depth + 1)
            value = self.tree(next(self._events), depth + 1)
            self.add(key, value, values, keys)
        return Tree(values, mark, keys)

    def add(
        self, key: Tree, value: Tree, values: dict[str, Tree], keys: dict[str, TextSpan]
    ) -> None:
        """Put an entry into a mapping, unless its key is odd or there already."""
        if not isinstance(key.value, str):
            self.complain(key.mark, "a key must be text", "put it in quotes")
        elif key.value in keys:
            message = f"the key `{key.value}` was given in line {keys[key.value].line} already"
            self.complain(key.mark, message, "drop one")
        else:
            keys[key.value] = key.mark
            values[key.value] = value

    def complain(self, mark: TextSpan, message: str, hint: str = "") -> None:
        """Note what is wrong at that place."""
        self.file_problems.append(FileProblem(mark, message, hint))


def mark_of(event: yaml.Event) -> TextSpan:
    """The place of an event."""
    start, end = event.start_mark, event.end_mark
    if start is None or end is None:
        return TextSpan()
    length = end.column - start.column if end.line == start.line else 1
    return TextSpan(start.line + 1, start.column + 1, max(1, length))
