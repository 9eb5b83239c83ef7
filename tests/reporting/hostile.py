"""Names and texts that would break a report, and a reader of pages."""

import functools
import re
from html.parser import HTMLParser
from typing import Any

import msgspec

from rescheduler.model.moves.plan import Report
from rescheduler.reporting.formats.page import render_page
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


def poisoned(name: str, payload: str) -> Report:
    """The sample with the payload in every string that is free text."""
    kept = {"kind", "mode", "result", "schemaVersion", "created", "expires", "taken"}
    kept |= {"started", "finished", "subject", "evicted", "at", "demotedAt", "demotedUntil"}

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in kept else value + payload
        if isinstance(value, list | tuple):
            return [poison(element, key) for element in value]
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
            return {(k + payload if free else k): poison(child, k) for k, child in value.items()}
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
