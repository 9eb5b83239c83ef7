"""The commands and documents that pages show, as people would copy them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.docsite.paths import DOCS, ROOT, mounted_pages

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4,}.*)?\n)+", re.MULTILINE)
_COMMAND = re.compile(r"^(?:\$ )?(?:kubectl |python -m )?rescheduler ([a-z].*)$")
_INLINE = re.compile(r"`(?:kubectl )?rescheduler ([a-z][^`]*)`")


def pages() -> list[Path]:
    """All pages that people read, of the site and of the repository."""
    names = (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "deploy/README.md",
        "policies/README.md",
    )
    return [
        *sorted(DOCS.rglob("*.md")),
        *mounted_pages().values(),
        *(ROOT / name for name in names),
    ]


def code_of(text: str) -> Iterator[tuple[str, str]]:
    """The language and the text of every block of code; the language of an indented one is ""."""
    for block in _FENCE.finditer(text):
        lines = block[3].splitlines()
        yield block[2], "\n".join(line.removeprefix(block[1]) for line in lines) + "\n"
    for indented in _INDENTED.finditer(_FENCE.sub("", text)):
        lines = indented[0].splitlines()
        least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        if least:
            yield "", "\n".join(line[least:] for line in lines).strip("\n") + "\n"


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of every command of ours that a page shows, without the program's name."""
    for _, code in code_of(text):
        for line in code.replace("\\\n", " ").splitlines():
            command = _COMMAND.match(line.strip())
            if command:
                yield _words(command[1])
    for inline in _INLINE.findall(text):
        yield _words(" ".join(inline.split()))


def _words(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    ends = [at for at, word in enumerate(words) if word in ("|", "||", "&&", ">", ";", "...")]
    return words[: ends[0]] if ends else words


def documents_of(text: str) -> Iterator[tuple[str, str]]:
    """The language and the text of every block of YAML, and of documents of ours elsewhere."""
    for language, code in code_of(text):
        if language in ("yaml", "yml") or code.lstrip("-\n ").startswith(
            "apiVersion: rescheduler.io"
        ):
            yield language, code
