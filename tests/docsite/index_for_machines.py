"""llms.txt: every page with one line of what it says, for what reads the site by program."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def summary_of(text: str) -> str:
    """The first sentence below the title of a page."""
    prose = _FRONT.sub("", text).partition("\n# ")[2] or _FRONT.sub("", text)
    for block in re.split(r"\n\s*\n", prose)[1:]:
        if block[:1].isalnum() or block[:1] in "`*[":
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
            return re.split(r"(?<=\.)\s", words)[0].rstrip(":")
    return ""


def title_of(text: str) -> str:
    """The title of a page."""
    found = re.search(r"^# (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def llms_text(nav: Iterable[Any], texts: Mapping[str, str]) -> str:
    """The text of llms.txt.

    nav: the navigation, in which no folder stands for its pages any more.
    """
    return "\n".join(
        ["# rescheduler", "", f"> {summary_of(texts['index.md'])}", *_lines(nav, texts), ""]
    )


def _lines(nav: Iterable[Any], texts: Mapping[str, str]) -> Iterator[str]:
    for entry in nav:
        children = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(children, list):
            yield from ("", f"## {next(iter(entry))}", "")
            yield from _lines(children, texts)
        else:
            text = texts[children]
            address = children.removesuffix("index.md").removesuffix(".md")
            yield f"- [{title_of(text)}]({address or '.'}): {summary_of(text)}"
