"""Where each page of the site is in the repository, and which page each link leads to."""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from tests.release.artifacts import PROJECT

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "out" / "site"
SOURCE = f"https://github.com/{PROJECT}"
"""Links to files that are no pages lead there."""

MOUNTED = {
    "deploy/monitoring/runbooks/": "runbooks/",
    "deploy/monitoring/README.md": "operations/monitoring.md",
    "policies/METRICS.md": "install/metrics-in-your-cluster.md",
    "policies/from-descheduler.md": "tasks/from-descheduler.md",
    "policies/gallery/README.md": "reference/gallery.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that are kept elsewhere in the repository, beside what they tell of."""

_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:)([^)#\s]+)(#[^)\s]*)?(?=\))")
_CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


class BrokenLink(Exception):
    """A page links to what is not in the repository."""


def mounted_pages() -> dict[str, Path]:
    """The pages that are kept elsewhere, by their path in the site."""
    pages: dict[str, Path] = {}
    for source, page in MOUNTED.items():
        if source.endswith("/"):
            pages |= {f"{page}{path.name}": path for path in sorted((ROOT / source).glob("*.md"))}
        else:
            pages[page] = ROOT / source
    return pages


def source_of(page: str) -> str:
    """The path in the repository of a page of the site."""
    path = mounted_pages().get(page)
    return f"docs/{page}" if path is None else path.relative_to(ROOT).as_posix()


def page_of(source: str) -> str | None:
    """The page, or the file beside pages, that the site has of a file; None: it has none."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    folder, name = posixpath.split(source)
    if source in MOUNTED:
        return MOUNTED[source]
    return MOUNTED[f"{folder}/"] + name if f"{folder}/" in MOUNTED else None


def link_from(page: str, target: str) -> str:
    """Where a link of a page leads in the site; the page writes it as it is in the repository."""
    source = posixpath.normpath(posixpath.join(posixpath.dirname(source_of(page)), target))
    path = ROOT / source
    if source.startswith("..") or not path.exists():
        raise BrokenLink(f"{source_of(page)} links to {target}, and there is no {source}")
    if path.is_dir():
        if not source.startswith("docs"):
            return f"{SOURCE}/tree/main/{source}"
        source = f"{source}/index.md"
    linked = page_of(source)
    if linked is None:
        return f"{SOURCE}/blob/main/{source}"
    return posixpath.relpath(linked, posixpath.dirname(page) or ".")


def with_links(page: str, text: str) -> str:
    """The text of a page with its links as the site needs them; code stays as it is."""

    def rewritten(prose: str) -> str:
        return _LINK.sub(lambda link: link_from(page, link[1]) + (link[2] or ""), prose)

    return change_prose(text, rewritten)


def change_prose(text: str, change: Callable[[str], str]) -> str:
    """The text of a page with all changed that is no code."""
    parts = _CODE.split(text)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))
