"""What had to be run again is counted over the runs that are known."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.retries import RUNS, add_run, summary

ENDED = datetime(2026, 11, 1, 12, tzinfo=UTC)
FIRST = (
    "....F\nFAILED tests/e2e/test_a.py::test_x - assert\nFAILED tests/e2e/test_b.py::test_y[1]\n"
)
SECOND = "FAILED tests/e2e/test_b.py::test_y[1] - E\n1 failed, 20 passed\n"


def test_each_test_is_counted_once_in_each_run_that_ran_it_again(tmp_path: Path) -> None:
    runs = tmp_path / "cache" / "retries.tsv"
    for number, report in enumerate([FIRST, SECOND, "20 passed\n"]):
        add_run(runs, report, ENDED + timedelta(days=number))
    assert summary(runs).splitlines() == [
        "e2e tests that had to be run again, of 3 runs since 2026-11-01T12:00:00Z:",
        "    2 tests/e2e/test_b.py::test_y[1]",
        "    1 tests/e2e/test_a.py::test_x",
    ]


def test_where_every_run_passed_at_once_that_is_said(tmp_path: Path) -> None:
    add_run(tmp_path / "runs", "20 passed\n", ENDED)
    assert summary(tmp_path / "runs").endswith("of 1 runs since 2026-11-01T12:00:00Z:\n  none\n")


def test_runs_of_long_ago_are_forgotten(tmp_path: Path) -> None:
    for number in range(RUNS + 5):
        add_run(tmp_path / "runs", SECOND if number < 5 else "", ENDED + timedelta(hours=number))
    assert "none" in summary(tmp_path / "runs")
    assert f"of {RUNS} runs" in summary(tmp_path / "runs")
