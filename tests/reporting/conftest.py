"""Golden files: what a report looked like when somebody last looked at it and liked it.

Run `pytest tests/reporting --update` after a wanted change, and read the difference before you
commit it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="Write the golden files anew.")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with the approved one; a bare name is that of a file in `golden/`."""

    def check(path: Path, text: str) -> None:
        approved = GOLDEN / path
        if request.config.getoption("--update", default=False):
            approved.write_text(text, encoding="utf-8")
        assert approved.exists(), f"no {approved}; maybe run pytest tests/reporting --update"
        assert text == approved.read_text(encoding="utf-8")

    return check
