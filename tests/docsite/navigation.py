"""The order of pages: a folder of mkdocs.yml stands for all of its pages."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

_LINKED = re.compile(r"\]\(([\w./-]+\.md)")


def pages_in(folder: str, texts: Mapping[str, str]) -> list[str]:
    """The pages below a folder: its index, then as the index links them, then the others by name.

    texts: of all pages, by their path in the site.
    """
    index = f"{folder}index.md"
    linked = [
        posixpath.normpath(posixpath.join(folder, link))
        for link in _LINKED.findall(texts.get(index, ""))
    ]
    pages = sorted(page for page in texts if page.startswith(folder))
    order = {page: place for place, page in enumerate(dict.fromkeys([index, *linked]))}
    return sorted(pages, key=lambda page: (order.get(page, len(order)), page))


def expanded(nav: Iterable[Any], texts: Mapping[str, str]) -> list[Any]:
    """The navigation of mkdocs.yml with the pages of each folder; one without pages is left out."""
    entries: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, children),) = entry.items()
            pages = expanded([children] if isinstance(children, str) else children, texts)
            single = isinstance(children, str) and not children.endswith("/")
            if pages:
                entries.append({title: pages[0] if single else pages})
        elif entry.endswith("/"):
            entries += pages_in(entry, texts)
        else:
            entries.append(entry)
    return entries
