"""The pages of the site: what is generated stands once, and links lead somewhere."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.cases import every
from tests.docsite.examples import pages
from tests.docsite.generated import PARTS, PLACE, filled
from tests.docsite.index_for_machines import llms_text, summary_of
from tests.docsite.navigation import expanded, pages_in
from tests.docsite.page_tables import with_columns
from tests.docsite.paths import DOCS, ROOT, BrokenLink, link_from, mounted_pages, with_links
from tests.docsite.reason_pages import EXAMPLES, FAMILIES, reasons, reasons_part, with_reasons

PAGES = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")} | mounted_pages()
TEXTS = {page: path.read_text(encoding="utf-8") for page, path in PAGES.items()}
OF_KUBERNETES = {"ACT001", "ACT004", "ACT005", "ACT006", "ACT007", "ACT008", "ACT022"}
"""Codes whose example is what the API server says."""


def test_what_is_generated_has_one_place() -> None:
    places = Counter(name for text in TEXTS.values() for name in PLACE.findall(text))
    assert places == dict.fromkeys(PARTS, 1)


@every({page: (page,) for page in TEXTS})
def test_links_of_a_page_lead_to_pages_and_files_that_there_are(page: str) -> None:
    assert with_links(page, filled(TEXTS[page]))


@every({page: (page,) for page in TEXTS})
def test_a_page_says_in_its_first_sentence_what_it_is_about(page: str) -> None:
    assert 10 < len(summary_of(TEXTS[page])) < 330, "it is this page's line of llms.txt"


def test_a_link_is_written_as_it_is_in_the_repository() -> None:
    runbook = "runbooks/ReschedulerHolds.md"
    assert link_from("reference/alerts.md", f"../../deploy/monitoring/{runbook}") == f"../{runbook}"
    assert link_from(runbook, "../../../docs/reference/reasons.md") == "../reference/reasons.md"
    assert link_from("index.md", "../policies/spread.yaml").endswith(
        "/blob/main/policies/spread.yaml"
    )
    assert with_links("index.md", "`[a](b.md)` [c](https://d)") == "`[a](b.md)` [c](https://d)"
    with pytest.raises(BrokenLink, match=r"docs/index.md links to gone.md"):
        link_from("index.md", "gone.md")


def test_a_code_in_prose_leads_to_what_it_means() -> None:
    linked = "[RDG001](../reference/reasons.md#rdg001)"
    assert with_reasons("install/a.md", "See (RDG001), `RDG001`, ABC001.") == (
        f"See ({linked}), `RDG001`, ABC001."
    )
    for text in ("[RDG001](x)", "[see RDG001 here](x)", "a.md#RDG001"):
        assert with_reasons("a.md", text) == text


def test_a_folder_of_the_navigation_stands_for_its_pages() -> None:
    texts = {"a/index.md": "[z](z.md)", "a/b.md": "", "a/z.md": "", "c.md": ""}
    assert pages_in("a/", texts) == ["a/index.md", "a/z.md", "a/b.md"]
    nav = ["c.md", {"A": "a/"}, {"Gone": "gone/"}, {"One": "c.md"}]
    assert expanded(nav, texts) == ["c.md", {"A": pages_in("a/", texts)}, {"One": "c.md"}]


def test_machines_get_a_line_for_each_page() -> None:
    text = llms_text(
        ["index.md", {"A": ["a/b.md"]}],
        {"index.md": "# I\n\nSays it. More.\n", "a/b.md": "# B\n\nSee [x](y).\n"},
    )
    assert text.splitlines()[2] == "> Says it."
    assert "- [B](a/b): See x." in text


def test_every_reason_has_its_place_cause_remedy_and_example() -> None:
    assert {code[:3] for code in reasons()} == set(FAMILIES)
    assert set(EXAMPLES) <= set(reasons()), "the code is gone"
    text = reasons_part()
    assert len(re.findall(r"^### [A-Z]{3}\d{3}$", text, re.MULTILINE)) == len(reasons())
    assert text.count("What to do: ") == len(reasons())
    assert len(EXAMPLES) > 180


@cache
def words_of_the_program() -> list[str]:
    """All literal text of the program of some length."""
    return [
        node.value.strip()
        for path in (ROOT / "rescheduler").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 7
    ]


@every({code: (code,) for code in sorted(EXAMPLES.keys() - OF_KUBERNETES)})
def test_an_example_of_a_reason_has_words_that_the_program_has(code: str) -> None:
    assert any(words in EXAMPLES[code] for words in words_of_the_program()), EXAMPLES[code]


def test_the_readme_can_be_read_at_once() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_a_picture_of_the_page_is_small_enough() -> None:
    for picture in (DOCS / "images").glob("*.png"):
        assert picture.stat().st_size <= 200_000, Path(picture).name


def test_a_cell_says_its_column_where_there_is_no_head() -> None:
    page = "<table><tr><th>a</th><th><b>b</b></th></tr><tr><td>1</td><td x>2</td></tr></table><td>"
    cells = '<td data-column="a">1</td><td data-column="b" x>2</td></tr></table><td>'
    assert with_columns(page).endswith(cells)


@every({str(page.relative_to(ROOT)): (page,) for page in pages()})
def test_links_between_files_of_the_repository_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", prose):
        assert (page.parent / target).exists(), target
