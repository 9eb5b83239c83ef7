"""What a browser would load from elsewhere, and links to nothing, are seen in a built site."""

from pathlib import Path

from tests.docsite.built_site import faults_of


def site(folder: Path, page: str, **files: str) -> list[str]:
    (folder / "index.html").write_text(page)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return faults_of(folder)


HARMLESS = """
<a href="https://example.com">elsewhere</a> <a href="#here" id="here">here</a>
<a href="index.html">me</a> <img src="images/a.png">
<link rel="canonical" href="https://example.com">
<code>https://example.com</code>
"""
LOADS = {
    "script": '<script src="https://cdn.example.com/a.js"></script>',
    "image": '<img src="//example.com/a.png">',
    "font": '<link rel="stylesheet" href="https://fonts.googleapis.com/css">',
    "style": "<style>@import 'https://example.com/a.css'</style>",
    "repository": '<div data-md-component="source"></div>',
    "drawing": '<pre class="mermaid">graph</pre>',
}


def test_links_that_people_follow_are_no_fault(tmp_path: Path) -> None:
    assert site(tmp_path, HARMLESS, a_js="fetch('/b') /* https://example.com */") == []


def test_whatever_a_browser_would_load_from_elsewhere_is_a_fault(tmp_path: Path) -> None:
    for name, page in LOADS.items():
        assert [fault for fault in site(tmp_path, page) if "would load" in fault], name


def test_a_sheet_that_loads_from_elsewhere_is_a_fault(tmp_path: Path) -> None:
    for sheet in ("url(https://example.com/f.woff)", "@import '//example.com/a.css'"):
        assert len(site(tmp_path, "", a_css=f"a {{ b: {sheet} }}")) == 1, sheet


def test_a_script_that_names_a_server_is_a_fault(tmp_path: Path) -> None:
    assert site(tmp_path, "", a_js='x="https://example.com/t"') == [
        "a.js may load https://example.com/t"
    ]


def test_a_link_to_nothing_is_a_fault(tmp_path: Path) -> None:
    faults = site(tmp_path, '<a href="gone/">x</a> <a href="#gone">y</a>')
    assert [fault.rpartition(" ")[2] for fault in faults] == ["page", "anchor"]
