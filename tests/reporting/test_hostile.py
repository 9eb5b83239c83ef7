"""Strings from the cluster stay text: they neither run in a browser nor draw on a terminal."""

import functools
import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from rescheduler.model.wording import clean
from rescheduler.reporting.formats.markdown import render_markdown
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.terminal import render_table
from tests.cases import every
from tests.reporting.hostile import PAYLOADS, Live, clean_tags, poisoned, read
from tests.reporting.samples import SAMPLES

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


@every(["\x1b[31m", "\x1b]0;x\x07", "\x9b31m", "\x1b[2J"])
def test_with_color_only_our_own_styles_are_sent(payload: str) -> None:
    table = render_table(poisoned("outcome", payload), width=100, color=True)
    ours = re.sub(r"\x1b\[[0-9;]*m", "", table)
    assert "\x1b[" in table
    assert unseen(ours) == set()
    assert "\x1b[31m\x1b" not in table


def unseen(text: str) -> set[str]:
    """The characters in it that draw nothing or draw elsewhere, but for the ends of lines."""
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {
        character for character in set(text) - {"\n"} if unicodedata.category(character) in hidden
    }


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
