"""The reports look as they did when they were last approved."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rescheduler.reporting.formats.markdown import render_markdown
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.plan_json import to_json
from rescheduler.reporting.formats.terminal import render_table
from tests.reporting.samples import SAMPLES

Golden = Callable[[Path, str], None]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_table_is_as_approved(name: str, width: int, golden: Golden) -> None:
    golden(Path(f"{name}-{width}.txt"), render_table(SAMPLES[name](), width=width, color=False))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_is_as_approved(name: str, golden: Golden) -> None:
    golden(Path(f"{name}.html"), render_page(SAMPLES[name]()))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_markdown_is_as_approved(name: str, golden: Golden) -> None:
    golden(Path(f"{name}.md"), render_markdown(SAMPLES[name]()))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_is_as_approved(name: str, golden: Golden) -> None:
    golden(Path(f"{name}.json"), to_json(SAMPLES[name]()).decode())
