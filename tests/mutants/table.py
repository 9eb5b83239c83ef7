"""The table of faults, and the list of the tests that kill them."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults"
KILLED = Path(__file__).parent / "killed.tsv"
"""Which test kills which fault; written by `python -m tests.mutants --update`."""


class Fault(NamedTuple):
    """A text of one file that another is put in place of. tests: modules or node ids."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def problem(self) -> str:
        """Why it cannot be put in place, or ""."""
        found = (ROOT / self.file).read_text().count(self.old) if self.old else 0
        return "" if found == 1 else f"its text occurs {found} times in {self.file}"


def faults() -> list[Fault]:
    """All of them, in the order of the files."""
    found = []
    for path in sorted(FAULTS.glob("*.toml")):
        area = tomllib.loads(path.read_text())
        for each in area["fault"]:
            tests = tuple(each.get("tests", area["tests"]))
            found.append(Fault(each["id"], each["file"], each["old"], each["new"], tests))
    return found


def sample(among: list[Fault], size: int, start: int = 0) -> list[Fault]:
    """So many of them, evenly spread over the table; the first is the one at `start`.

    Each has its turn once `start` has gone from 0 to the size of the table.
    """
    if not 0 < size < len(among):
        return among
    return [among[(start + number * len(among) // size) % len(among)] for number in range(size)]


def killers() -> dict[str, str]:
    """Id of a fault to the test that killed it when the list was last written."""
    lines = KILLED.read_text().splitlines() if KILLED.exists() else []
    return dict(line.split("\t") for line in lines)


def write_killers(found: Iterable[tuple[str, str]]) -> None:
    """Write the list anew."""
    KILLED.write_text("".join(f"{fault}\t{test}\n" for fault, test in found))
