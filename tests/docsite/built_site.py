"""What the built site must hold: nothing is loaded from elsewhere, and links lead somewhere."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"src", "srcset", "poster", "data", "action", "formaction"}
"""Attributes whose address a browser asks, or sends to."""
_LINKS_THAT_LOAD = {
    "stylesheet",
    "icon",
    "preload",
    "preconnect",
    "dns-prefetch",
    "modulepreload",
    "manifest",
}
_OF_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)")
_OF_SCRIPTS = re.compile(r"https?://[^\"'`\s)]+")
NEVER_ASKED = (
    "http://www.w3.org/",
    "https://api.github.com/",
    "https://${",
    "https://unpkg.com/mermaid@",
    "https://unpkg.com/resize-observer-polyfill",
    "https://bit.ly/2s3ChXG",
)
"""In the theme's scripts: names, and what it asks only for pages that have a repository's facts
(`data-md-component="source"`) or a drawing in mermaid; a page of ours may have neither."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WOULD_ASK = ('data-md-component="source"', 'class="mermaid"')


class _Page(HTMLParser):
    """The anchors of a page, its links, and the addresses that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        self.loads += [value for name, value in named.items() if name in _LOADS]
        if tag == "link" and set(named.get("rel", "").split()) & _LINKS_THAT_LOAD:
            self.loads.append(named.get("href", ""))
        elif tag == "a" and "href" in named:
            self.links.append(named["href"])


def is_foreign(address: str) -> bool:
    """Whether an address is on another server."""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ws", "wss")


def faults_of(site: Path) -> list[str]:
    """What is wrong with a built site, one sentence each."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return [*_foreign_loads(site, pages), *_broken_links(site, pages)]


def _foreign_loads(site: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        asked = [load for load in page.loads if is_foreign(load)] + _OF_CSS.findall(text)
        for what in [*asked, *(mark for mark in _WOULD_ASK if mark in text)]:
            yield f"{path.relative_to(site)} would load {what}"
    for pattern, kind in ((_OF_CSS, "css"), (_OF_SCRIPTS, "js")):
        for path in sorted(site.rglob(f"*.{kind}")):
            text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
            for address in pattern.findall(text):
                if not address.startswith(NEVER_ASKED):
                    yield f"{path.relative_to(site)} may load {address}"


def _broken_links(site: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or path.name == "404.html":
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)} links to {link}, and there is no such page"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{path.relative_to(site)} links to {link}, and there is no such anchor"
