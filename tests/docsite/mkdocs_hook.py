"""What mkdocs calls while it builds the site: it adds what is generated, and no file of its own."""

import shutil
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.docsite.generated import filled
from tests.docsite.index_for_machines import llms_text
from tests.docsite.navigation import expanded
from tests.docsite.page_tables import with_columns
from tests.docsite.paths import DOCS, SOURCE, mounted_pages, source_of, with_links
from tests.docsite.reason_pages import with_reasons


def page_texts() -> dict[str, str]:
    """The text of every page as it is written, by its path in the site."""
    pages = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")}
    return {
        page: path.read_text(encoding="utf-8") for page, path in (pages | mounted_pages()).items()
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages of each folder of the navigation."""
    config.nav = expanded(config.nav or [], page_texts())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are kept elsewhere in the repository."""
    for page, path in mounted_pages().items():
        files.append(File.generated(config, page, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill what is generated, and let links lead to pages."""
    place = page.file.src_uri
    return with_reasons(place, with_links(place, filled(markdown)))


def on_page_content(html: str, **_: Any) -> str:
    """Let each cell of a table say its column, for phones."""
    return with_columns(html)


def on_page_context(context: Any, page: Page, **_: Any) -> Any:
    """Say where the page is kept."""
    page.edit_url = f"{SOURCE}/blob/main/{source_of(page.file.src_uri)}"
    return context


def on_post_build(config: MkDocsConfig) -> None:
    """Write what machines read instead of pages, and leave out how other languages are searched."""
    text = llms_text(config.nav or [], page_texts())
    (Path(config.site_dir) / "llms.txt").write_text(text, encoding="utf-8")
    shutil.rmtree(Path(config.site_dir) / "assets" / "javascripts" / "lunr")
