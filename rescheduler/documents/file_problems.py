"""Problems of policy files, printed as a compiler does: place, line, caret, advice."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rescheduler.model.errors import PolicyError, ProblemLocation
from rescheduler.model.wording import count_text

_WIDTH = 100
"""How much of a line is shown."""

_LONGEST = 400
"""How much of a message is shown: it may quote keys of a file, and they may be of any length."""

LINE_ENDS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line ends in YAML; `str.splitlines` would split at more characters."""


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A place in a file. line, column: from 1. length: in characters."""

    line: int = 1
    column: int = 1
    length: int = 1


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One thing that is wrong.

    message: begins with the field, if there is one. others: other places with a part in it, such as
    the second of two fields that exclude each other.
    """

    mark: TextSpan
    message: str
    hint: str = ""
    others: tuple[TextSpan, ...] = ()

    def report(self, file: str, text: str, level: str = "") -> str:
        """The problem as people read it. text: the content of the file. level: as `warning`."""
        answer = [f"{file}:{self.mark.line}:{self.mark.column}: {self._message(level)}"]
        lines = LINE_ENDS.split(text)
        elsewhere = (mark for mark in self.others if mark.line != self.mark.line)
        for mark in (self.mark, *elsewhere):
            if text and mark.line <= len(lines):
                answer += _line_with_caret(mark, lines[mark.line - 1])
        if self.hint:
            answer.append(f"  Maybe {_harmless(self.hint)}")
        return "\n".join(answer)

    def without_place(self, name: str, level: str) -> str:
        """The problem of something that is in no file."""
        hint = f"\n  Maybe {_harmless(self.hint)}" if self.hint else ""
        return f"{name}: {self._message(level)}{hint}"

    def _message(self, level: str) -> str:
        return f"{level}: {_harmless(self.message)}" if level else _harmless(self.message)

    def place(self, file: str) -> ProblemLocation:
        """The problem as machines read it."""
        advice = f"\nMaybe {self.hint}" if self.hint else ""
        return ProblemLocation(file, self.mark.line, self.mark.column, self.message + advice)


def _line_with_caret(mark: TextSpan, line: str) -> list[str]:
    """The line, or the part of it around the place, and a caret below."""
    column = mark.column - 1
    start = 0 if column < 3 * _WIDTH // 4 else column - _WIDTH // 4
    part = "".join(map(_visible, line[start : start + _WIDTH]))
    before, after = "…" if start else "", "…" if start + _WIDTH < len(line) else ""
    caret = "^" * max(1, min(mark.length, len(part) - (column - start)))
    return [
        f"  {mark.line:>4} | {before}{part}{after}",
        f"       | {' ' * (len(before) + column - start)}{caret}",
    ]


def policy_error(file_problems: Iterable[tuple[str, str, FileProblem]], files: int) -> PolicyError:
    """All problems in one error. file_problems: file, its content, and the problem.

    files: how many were read.

    Their number comes first: else a word printed before it could look like part of a place.
    """
    problems = list(file_problems)
    bad = len({file for file, _, _ in problems})
    head = f"{count_text(len(problems), 'problem')} in {bad} of {count_text(files, 'file')}"
    lines = [head, *(file_problem.report(file, text) for file, text, file_problem in problems)]
    places = tuple(file_problem.place(file) for file, _, file_problem in problems)
    return PolicyError("\n".join(lines), places=places)


def _visible(character: str) -> str:
    """The character, or a visible one of one column in its place; a tab becomes an arrow."""
    if character == "\t":
        return "→"
    return character if character.isprintable() else "?"


def _harmless(message: str) -> str:
    """The message in one line, without control characters, and not too long."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in message
    )
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
