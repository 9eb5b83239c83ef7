import base64
import hashlib
import re
from itertools import product
from pathlib import Path

import pytest

import rescheduler.reporting
from rescheduler.model.moves.plan import (
    Change,
    ClusterRef,
    LandingShare,
    NodeView,
    Plan,
    Totals,
)
from rescheduler.reporting.formats.page import render_page
from tests.reporting.hostile import read
from tests.reporting.samples import SAMPLES, TAKEN, move, plan

CSS = (Path(rescheduler.reporting.__path__[0]) / "templates" / "report.css").read_text()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_admits_only_its_own_script(name: str) -> None:
    page = render_page(SAMPLES[name]())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert f"script-src 'sha256-{digest}';" in policy[1]
    assert len(script[1].strip().splitlines()) <= 40


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_loads_nothing(name: str) -> None:
    page = render_page(SAMPLES[name]())
    assert not re.search(r"url\(|@import|<link|<img|src=", page)
    assert not re.search(r"https?://", page)


@pytest.mark.parametrize("name", SAMPLES)
def test_links_lead_to_a_place_on_the_page(name: str) -> None:
    page = render_page(SAMPLES[name]())
    places = re.findall(r' id="([^"]+)"', page)
    assert len(places) == len(set(places))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(places)


@pytest.mark.parametrize("name", SAMPLES)
def test_tables_have_captions_and_pictures_have_words(name: str) -> None:
    page = render_page(SAMPLES[name]())
    assert page.count("<caption>") == page.count("<table")
    assert page.count('role="img"') == page.count('role="img" aria-label="')
    assert '<html lang="en">' in page


def test_the_sections_stand_in_the_order_in_which_people_read() -> None:
    page = render_page(SAMPLES["plan"]())
    ids = ["policies", "nodes", "moves", "left", "batches", "inputs", "next"]
    places = [page.index(f'<section id="{section_id}"') for section_id in ids]
    assert places == sorted(places)
    held = render_page(SAMPLES["held"]())
    assert held.index("The cycle is held") < held.index('<section id="policies"')


def test_the_inputs_can_be_read_again() -> None:
    page = render_page(SAMPLES["plan"]())
    text = "".join(read(page).text)
    assert "high: 50%" in text
    assert "avg_over_time(node_gpu" in text
    assert "rescheduler.io/opt-out=true" in text
    assert "5 above 50 %, hottest 95 %" in text


def test_a_plan_with_next_to_nothing_in_it_is_shown_too() -> None:
    bare = Plan(
        cluster=ClusterRef(uid="u"),
        created=TAKEN,
        expires=TAKEN,
        taken=TAKEN,
        totals=Totals(nodes=0, pods=0, candidates=0, moves=0, disruption=0.0),
        policies=[],
        readings=[],
        moves=[],
        refused=[],
    )
    page = render_page(bare)
    assert "no move could lower the cost of any policy" in page
    assert "There is no policy." in page


def test_a_plan_of_a_large_cluster_stays_a_page_that_opens() -> None:
    names = [f"ip-10-0-{n // 250}-{n % 250}.eu-west-1.compute.internal" for n in range(5000)]
    loads = ("gpu", "gpu.memory", "cpu", "memory", "network.receive", "network.transmit")
    nodes = [
        NodeView(
            name=name,
            zone=f"eu-west-1{'abc'[n % 3]}",
            pods=Change(before=30, after=30),
            load={
                f"node.{load}": Change(before=n % 97 / 100, after=n % 89 / 100) for load in loads
            },
        )
        for n, name in enumerate(names)
    ]
    moves = []
    for n in range(1000):
        shares = [LandingShare(node=names[n + k], probability=0.125) for k in range(8)]
        moves.append(move(n % 6, source=names[n], landing=shares, batch=n + 1))
    page = render_page(plan(nodes=nodes, moves=moves))
    assert len(page.encode()) < 2_000_000
    assert page.count("<tbody><tr><td") == 1000
    assert "4,600 nodes not drawn" in page


def luminance(color: str) -> float:
    if len(color) == 4:
        color = "#" + "".join(2 * digit for digit in color[1:])
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palette(theme: str) -> dict[str, str]:
    light, dark = re.findall(r":root\{([^}]*--c9[^}]*)\}", CSS)
    colors = dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", light))
    if theme == "dark":
        colors |= dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", dark))
    return colors


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_by_everybody(theme: str) -> None:
    """WCAG 2.2 AA: 4.5 for text, 3 for marks."""
    color = palette(theme)
    for text, ground in product(("ink", "soft", "accent"), ("bg", "card", "held", "prob", "note")):
        assert contrast(color[text], color[ground]) >= 4.5, (text, ground)
    for text, ground in product(("good", "bad", "open"), ("bg", "card")):
        assert contrast(color[text], color[ground]) >= 4.5, (text, ground)
    assert contrast("#ffffff", color["audit"]) >= 4.5
    assert contrast("#ffffff", color["enforce"]) >= 4.5
    dark_mark = {"light": "#1a2230", "dark": "#12161d"}[theme]
    pale = range(7, 10) if theme == "light" else range(5)
    for level in range(10):
        mark = "#ffffff" if level in pale else dark_mark
        assert contrast(mark, color[f"c{level}"]) >= 3, level


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_scale_grows_steadily_without_its_hues(theme: str) -> None:
    steps = [luminance(palette(theme)[f"c{level}"]) for level in range(10)]
    assert steps == sorted(steps, reverse=theme == "light")
