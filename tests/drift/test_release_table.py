"""The documentation's table of releases: what the runs gave, written by them."""

import re
from pathlib import Path

from rescheduler.scheduler.config.versions import COMPARED
from tests.e2e.controlplane.versions import RELEASES, kubernetes
from tests.e2e.release_table import HEAD, PAGE, Part, read, row, selected, written

REPORT = """<testsuites><testsuite>
<testcase classname="tests.e2e.test_landing" name="a"><properties>
<property name="decisions" value="300"/><property name="as predicted" value="297"/>
<property name="scores" value="12345"/></properties></testcase>
<testcase classname="tests.e2e.test_profiles" name="b"><properties>
<property name="decisions" value="100"/><property name="as predicted" value="100"/>
</properties></testcase>
<testcase classname="tests.e2e.test_rights" name="c"><failure message="no"/></testcase>
<testcase classname="tests.e2e.test_devices" name="d"><properties>
<property name="device decisions" value="240"/></properties></testcase>
</testsuite></testsuites>"""


def test_a_row_counts_decisions_tests_and_failures(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    assert row("1.36.3", read(path)) == (
        "| 1.36.3 | 400 | 99.2% | 12,345 | not run | 0 tests, 1 failed | not run "
        "| 240 decisions, 1 test |"
    )
    assert Part(passed=2).cell() == "2 tests"


def test_a_run_replaces_its_own_rows_and_keeps_the_others() -> None:
    text = f"before\n\n{HEAD}\n|---|---|---|---|---|---|---|---|\n| 1.36.3 | old |\n\nafter\n"
    once = written(text, {"1.37.2": "| 1.37.2 | new |"})
    assert "| 1.36.3 | old |\n| 1.37.2 | new |\n\nafter\n" in once
    again = written(once, {"1.36.3": "| 1.36.3 | newer |"})
    assert again.startswith(f"before\n\n{HEAD}\n|---|")
    assert again.endswith("| 1.36.3 | newer |\n| 1.37.2 | new |\n\nafter\n")


def test_a_release_is_asked_what_it_has() -> None:
    old, new = (selected(release, ["gangs", "devices"]) for release in ("1.35.4", "1.36.3"))
    assert [path for path in old if "test_claims" in path] == []
    assert [path for path in old if path.endswith("test_gangs.py")] == []
    assert set(new) - set(old) == {"tests/e2e/test_gangs.py", "tests/e2e/test_claims.py"}


def test_every_release_that_counts_as_compared_can_be_built_and_was_run() -> None:
    assert {version.removeprefix("v") for version in COMPARED.values()} <= set(RELEASES)
    table = PAGE.read_text(encoding="utf-8").partition(HEAD)[2]
    for release in COMPARED.values():
        (found,) = re.findall(rf"^\| {release[1:]} \| (\d+) \| ([\d.]+)% \|", table, re.MULTILINE)
        assert int(found[0]) >= 300
        assert found[1] == "100.0"
    for release in RELEASES:
        assert (kubernetes(release).folder / "go.sum").exists()
