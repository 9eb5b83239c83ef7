"""The demo of the documentation is what is printed."""

from pathlib import Path

import pytest

from tests.cli.recorded import call

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests/recordings"


def test_the_demo_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    page = (ROOT / "docs/start.md").read_text().partition("\n## The demo\n")[2]
    shown = [line[4:] for line in page.partition("\n## ")[0].splitlines() if line[:4] == "    "]
    demo = shown[: shown.index(". .venv/bin/activate")]
    result = call(
        "plan",
        *("--policies", str(RECORDED / "policies")),
        *("--snapshot", str(RECORDED / "gpu-cluster.snapshot")),
    )
    printed = [line.rstrip() for line in result.stdout.splitlines()]
    assert demo[0].startswith("PLAN ")
    assert [line for line in demo if line not in ("…", *printed)] == []
