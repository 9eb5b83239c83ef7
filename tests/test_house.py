"""The rules of the house that a machine can check."""

import re
from pathlib import Path

import pytest

from rescheduler.model.reasons import CATALOG

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = sorted((ROOT / "rescheduler").rglob("*.py"))
MODULES = [*PACKAGE, *sorted((ROOT / "tests").rglob("*.py"))]
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "handler", "engine", "processor"}
KINDS = [
    "conformity",
    "fragmentation",
    "health",
    "locality",
    "numa",
    "spread",
    "utilization",
]


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_has_one_reason_to_exist(path: Path) -> None:
    assert lines(path) <= 400, "split it along its reasons to change"
    assert path.stem not in FORBIDDEN_NAMES


def test_the_package_is_made_of_small_modules() -> None:
    sizes = sorted(lines(path) for path in PACKAGE if path.name != "__init__.py")
    assert sizes[len(sizes) // 2] <= 140


@pytest.mark.parametrize("kind", KINDS)
def test_one_noun_has_its_files(kind: str) -> None:
    for path in (
        f"rescheduler/policies/{kind}/policy.py",
        f"policies/{kind}.yaml",
        f"policies/{kind}_test.yaml",
        f"tests/policies/{kind}/test_{kind}.py",
    ):
        assert (ROOT / path).is_file(), path


def test_every_reason_code_that_is_used_is_in_the_catalog() -> None:
    used = set()
    for path in PACKAGE:
        if path.name != "reasons.py":
            used |= set(re.findall(r'"([A-Z]{3}\d{3})"', path.read_text(encoding="utf-8")))
    assert used <= set(CATALOG), sorted(used - set(CATALOG))


def test_every_reason_code_in_the_catalog_is_used() -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in PACKAGE if p.name != "reasons.py")
    assert not sorted(code for code in CATALOG if f'"{code}"' not in text)


def test_every_reason_has_a_sentence_and_advice() -> None:
    for reason in CATALOG.values():
        assert reason.sentence.endswith("."), reason.code
        assert reason.advice or reason.code == "ACT001", reason.code


def test_nothing_speaks_of_the_place_where_it_was_made() -> None:
    places = re.compile(r"/wor[k]/|/far[m]/|[.]librar[y]|/roo[t]/")
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".md", ".yaml", ".toml", ".j2"} and ".venv" not in path.parts:
            assert not places.search(path.read_text(encoding="utf-8")), path
