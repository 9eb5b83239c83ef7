"""Strings from the cluster stay text: they neither run in a browser nor draw on a terminal."""

import functools
import re
import unicodedata
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from rescheduler.model.moves.plan import Report
from rescheduler.model.wording import clean
from rescheduler.reporting.formats.markdown import render_markdown
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.terminal import render_table
from tests.cases import every
from tests.reporting.samples import SAMPLES

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" onfocus="alert(1)" autofocus="',
    "x onclick=alert(1) y",
    "javascript:alert(1)",
    "<iframe src=//evil.example>",
    "<a href='data:text/html,x'>x</a>",
    "<!--",
    "-->",
    "<![CDATA[",
    "{{ 7 * 191 }}",
    "{% for x in range(9) %}y{% endfor %}",
    "{{ cycler.__init__.__globals__ }}",
    "`<img src=x onerror=alert(1)>`",
    "</td></tr></table>",
    "&lt;script&gt;",
    "</pre><object data=x>",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "a\r\nFORGED  line",
    "tab\tand\x00nul\x08\x7f",
    "right\u202eot tfel",
    "zero\u200bwidth\u2066",
    "\u2028\u2029",
    "e\u0301\u0301\u0301",
    "\u6f22\u5b57" * 40,
    "\U0001f9ea" * 60,
    "long-" * 400,
    "[bold red]markup[/bold red]",
    ":smile:",
    "%s %d {0} {name}",
    "",
]


MARKED = [
    "@everyone",
    " @org/team #12",
    "![x](http://evil.example/x.png)",
    "[text](http://evil.example)",
    "http://evil.example www.evil.example me@evil.example",
    "*bold* __bold__ ~~gone~~",
    "a | b | c",
    "a\\| b",
    "` @everyone `",
    "``` @everyone",
    "$x$ $`x`$",
    "# title",
    "> said",
    "- item",
    "&#64;everyone",
    "[^1]: note",
]


def poisoned(name: str, payload: str) -> Report:
    """The sample with the payload in every string that is free text."""
    kept = {"kind", "mode", "result", "schemaVersion", "created", "expires", "taken"}
    kept |= {"started", "finished", "subject", "evicted", "at", "demotedAt", "demotedUntil"}

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in kept else value + payload
        if isinstance(value, list | tuple):
            return [poison(each, key) for each in value]
        if isinstance(value, dict):
            free = key in (
                "gains",
                "predicted",
                "promised",
                "measured",
                "usage",
                "hot",
                "load",
                "limits",
                "document",
                "spec",
                "targets",
            )
            return {(k + payload if free else k): poison(each, k) for k, each in value.items()}
        return value

    report: Report = msgspec.convert(poison(msgspec.to_builtins(SAMPLES[name]())), Report)
    return report


class Live(HTMLParser):
    """Collects what could run or load, and whether the tags nest as the template wrote them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.bad: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            loads = key in ("src", "srcset", "data", "action", "background", "poster", "formaction")
            if key.startswith("on") or loads or key == "srcdoc":
                self.bad.append(f"{tag} {key}={value}")
            if key == "href" and not (value or "").startswith("#"):
                self.bad.append(f"{tag} {key}={value}")
            if key == "style" and not re.fullmatch(r"--v:\d+\.\d%", value or ""):
                self.bad.append(f"{tag} {key}={value}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Live:
    live = Live()
    live.feed(page)
    live.close()
    return live


@functools.cache
def clean_tags(name: str) -> set[str]:
    """The tags of the sample's page without a payload."""
    return set(read(render_page(SAMPLES[name]())).tags)


def in_each(names: list[str], payloads: list[str]) -> dict[str, tuple[str, str]]:
    """Each of the payloads in each of the samples, as cases of a test."""
    return {
        f"{name}-{number}": (name, payload)
        for name in names
        for number, payload in enumerate(payloads)
    }


@every(in_each(["plan", "outcome"], PAYLOADS))
def test_the_page_has_no_tag_that_the_template_did_not_write(name: str, payload: str) -> None:
    page = render_page(poisoned(name, payload))
    live = read(page)
    assert live.bad == []
    assert live.tags.count("script") == 1
    assert live.tags.count("style") == 1
    assert set(live.tags) <= clean_tags(name) | {"code"}
    assert not {"img", "svg", "iframe", "object", "embed", "link", "base", "form"} & set(live.tags)
    assert "1337" not in "".join(live.text)
    assert unseen(page) == set()


@every(in_each(["plan", "outcome"], PAYLOADS))
def test_the_terminal_gets_no_control_characters(name: str, payload: str) -> None:
    width = {"plan": 80, "outcome": 130}[name]
    table = render_table(poisoned(name, payload), width=width, color=False)
    assert unseen(table) == set()
    assert max(cell_len(line) for line in table.splitlines()) <= width


MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""Reads all of GitHub's Markdown but what it makes of plain text: links, mentions and symbols."""


@functools.cache
def calm(name: str) -> Live:
    """The sample's page as it is drawn without a payload."""
    return read(MARKDOWN.render(render_markdown(SAMPLES[name]())))


@every(in_each(["plan", "outcome", "demoted", "held"], [*PAYLOADS, *MARKED]))
def test_markdown_shows_what_others_wrote_as_text(name: str, payload: str) -> None:
    page = render_markdown(poisoned(name, payload))
    drawn = MARKDOWN.render(page)
    live = read(drawn)
    assert set(live.tags) <= {*calm(name).tags, "code"}
    assert set(live.bad) <= {"th style=text-align:right", "td style=text-align:right"}
    for kind in ("h2", "h3", "table", "pre"):
        assert live.tags.count(kind) == calm(name).tags.count(kind), kind
    for table in re.findall(r"^\|(?:.*\n)+?(?!\|)", page, flags=re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    assert unseen(page) == set()
    plain = re.sub(r"<code[^>]*>.*?</code>", "", drawn, flags=re.DOTALL)
    assert not re.search(r"@\w|#\d|:[a-z]\w*:|\$\S|://|www\.", plain)


@pytest.mark.parametrize("payload", ["\x1b[31m", "\x1b]0;x\x07", "\x9b31m", "\x1b[2J"])
def test_with_color_only_our_own_styles_are_sent(payload: str) -> None:
    table = render_table(poisoned("outcome", payload), width=100, color=True)
    ours = re.sub(r"\x1b\[[0-9;]*m", "", table)
    assert "\x1b[" in table
    assert unseen(ours) == set()
    assert "\x1b[31m\x1b" not in table


def unseen(text: str) -> set[str]:
    """The characters in it that draw nothing or draw elsewhere, but for the ends of lines."""
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {each for each in set(text) - {"\n"} if unicodedata.category(each) in hidden}


@settings(max_examples=300)
@given(st.text(alphabet=st.characters()))
def test_cleaned_text_is_stable_and_draws_nothing(text: str) -> None:
    cleaned = clean(text)
    assert unseen(cleaned) == set()
    assert "\n" not in cleaned
    assert clean(cleaned) == cleaned


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text
