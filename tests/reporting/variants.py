"""Goldens that are much like another one hold only the lines in which they differ from it.

`held.html.diff` makes `held.html` of `plan.html`. After `@@ 60,2` come the lines that stand after
the first 60, instead of two others; each has a `+` before it.
"""

import difflib
from pathlib import Path
from typing import NamedTuple


class Base(NamedTuple):
    """The golden that another one is like."""

    name: str
    indent: str = ""
    """Before each of its lines, where the other one has it as a part."""


BASES = {
    **{
        f"{name}.{kind}": Base(f"plan.{kind}")
        for name in ("demoted", "distrusted", "empty", "held", "no-data", "outcome")
        for kind in ("html", "json")
    },
    "healthy-80.txt": Base("empty-80.txt"),
    "outcome.json": Base("plan.json", "  "),
    "history-broken.html": Base("history.html"),
    "history-broken.json": Base("history.json"),
    "history-cycles.html": Base("history.html"),
    "history-empty.html": Base("history.html"),
}


def base_lines(base: Base, folder: Path) -> list[str]:
    text = (folder / base.name).read_text(encoding="utf-8")
    return [base.indent + line for line in text.splitlines(keepends=True)]


def difference(before: list[str], after: list[str]) -> str:
    """What is written of `after`: for each place that differs, where it is, and the new lines."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return "".join(
        f"@@ {start},{end - start}\n" + "".join(f"+{line}" for line in after[new:new_end])
        for tag, start, end, new, new_end in matcher.get_opcodes()
        if tag != "equal"
    )


def apply(difference: str, before: list[str]) -> str:
    """The text that differs so from the lines."""
    made, done = [], 0
    for line in difference.splitlines(keepends=True):
        if line.startswith("+"):
            made.append(line[1:])
        else:
            start, count = map(int, line.removeprefix("@@ ").split(","))
            made += before[done:start]
            done = start + count
    return "".join(made + before[done:])
