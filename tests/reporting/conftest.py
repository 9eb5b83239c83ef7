"""Golden files: what a report looked like when somebody last looked at it and liked it.

Run `pytest tests/reporting --update` after a wanted change, and read the difference before you
commit it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reporting.variants import BASES, apply, base_lines, difference

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="Write the golden files again.")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Write goldens before those that are written as what differs from them."""
    if config.getoption("--update", default=False):
        whole = tuple(f"[{base.name.split('.')[0]}]" for base in BASES.values())
        items.sort(key=lambda item: not item.name.endswith(whole))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with the approved one; a bare name is that of a file in `golden/`."""
    update = request.config.getoption("--update", default=False)

    def check(path: Path, text: str) -> None:
        base = BASES.get(str(path))
        approved = GOLDEN / (f"{path}.diff" if base else path)
        before = base_lines(base, GOLDEN) if base else []
        if update:
            new = difference(before, text.splitlines(keepends=True)) if base else text
            approved.write_text(new, encoding="utf-8")
        assert approved.exists(), f"no {approved}; maybe run pytest tests/reporting --update"
        stored = approved.read_text(encoding="utf-8")
        assert text == (apply(stored, before) if base else stored)

    return check
