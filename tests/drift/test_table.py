"""The table of imitated functions: complete, and true of what imitates them."""

import json
import re
from pathlib import Path

import pytest

from rescheduler.scheduler.config.versions import COMPARED
from tests.drift import __main__ as drift
from tests.drift import table as drift_table
from tests.drift.table import Row, digests, functions, order, record, releases, table

ROOT = Path(__file__).parents[2]
SOURCE = re.compile(r"\b((?:pkg|plugins|component-helpers|dynamic-resource-allocation)/[\w/.-]+)")
OTHERS = re.compile(
    "(nfd|Kueue|jobframework|pkg/controller/jobs|karpenter|resourcemonitor|pkg/apis/core/validation"
    "|pkg/api/validate|apimachinery|apis/config|pkg/features|scheduler-plugins|events/v1"
    "|podresources|container_manager|internal/rm|pkg/util|pkg/labels|statefulset"
    "|admission|scheduling_queue|pkg/utils|plugin/policy|descheduler|koordinator)"
)
"""Sources that are constants and formats, or are not Kubernetes'."""


def test_every_imitated_function_was_found_in_a_release() -> None:
    known = digests()
    assert sorted(known) == sorted({package for package, _ in functions()})
    assert not [function for function in functions() if not known[function[0]].get(function[1])]


def test_every_release_that_was_compared_was_read() -> None:
    assert set(COMPARED.values()) <= set(releases(digests()))


def test_what_imitates_them_is_there() -> None:
    assert not [row.where for row in table() if not (ROOT / row.where).exists()]


def test_every_source_in_a_docstring_is_in_the_table() -> None:
    packages = {row.package for row in table()}
    missing = []
    for path in sorted((ROOT / "rescheduler").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for passage in re.findall(r"Sources?: (.{0,300}?)(?:\n\n|\"\"\")", text, re.DOTALL):
            for named in SOURCE.findall(passage.replace("\n    ", "").replace("\n", "")):
                folder = re.sub(r"/[\w*.-]*\.go.*$", "", named.rstrip(".,"))
                if OTHERS.search(passage) or folder.endswith(("/", "{")):
                    continue
                if not any(folder in package for package in packages):
                    missing.append(f"{path.relative_to(ROOT)}: {named}")
    assert not missing


def test_releases_are_in_their_order() -> None:
    found = ["v1.38.0", "v1.9.1", "v1.38.0-beta.0", "v1.37.2"]
    assert sorted(found, key=order) == ["v1.9.1", "v1.37.2", "v1.38.0-beta.0", "v1.38.0"]


ROWS = [Row("kubernetes/pkg/a", "Same Changed Gone New", "rescheduler/a.py")]
OLD = {"Same": "s", "Changed": "one\ntwo", "Gone": "g"}
NEW = {"Same": "s", "Changed": "one\nthree", "New": "n"}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Digests of one release of a small table, whose functions any release has as in OLD."""
    path = tmp_path / "digests.json"
    monkeypatch.setattr(drift_table, "DIGESTS", path)
    monkeypatch.setattr(drift_table, "table", lambda: ROWS)
    monkeypatch.setattr(drift, "texts", lambda release, rows: {"kubernetes/pkg/a": OLD})
    record("v1.37.0", {"kubernetes/pkg/a": OLD})
    return path


def test_changes_that_were_not_looked_at_are_named_and_fail(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = {"kubernetes/pkg/a": NEW}
    assert not drift.reported("v1.38.0", read, ROWS, differences=True)
    said = capsys.readouterr().out
    for name, how in (("Changed", "changed"), ("Gone", "gone"), ("New", "new")):
        assert f"NOT LOOKED AT kubernetes/pkg/a {name}: {how}; imitated in rescheduler/a.py" in said
    assert "    -two\n    +three\n" in said
    assert "Same" not in said
    assert "v1.38.0: 3 of 4 imitated functions are not as in v1.37.0; 3 of these" in said


def test_reviewed_changes_pass_until_they_change_again(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record("v1.38.0-beta.0", {"kubernetes/pkg/a": NEW})
    assert json.loads(recorded.read_text())["kubernetes/pkg/a"]["Gone"].keys() == {"v1.37.0"}
    assert drift.reported("v1.38.0-beta.0", {"kubernetes/pkg/a": NEW}, ROWS, differences=False)
    assert "kubernetes/pkg/a Changed: changed" in capsys.readouterr().out
    again = {"kubernetes/pkg/a": {**NEW, "Changed": "four"}}
    assert not drift.reported("v1.38.0-beta.0", again, ROWS, differences=False)
