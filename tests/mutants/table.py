"""The table of faults, and the list of the tests that kill them."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.mutants.operators import OPERATORS, Change, mutated
from tests.mutants.places import Program

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults"
KILLED = Path(__file__).parent / "killed.tsv"
"""Which test kills which fault; written by `python -m tests.mutants --update`."""


class Fault(NamedTuple):
    """A change of one place of the program. at: its name; tests: modules or node ids."""

    id: str
    at: str
    change: Change
    tests: tuple[str, ...]

    def put(self, program: Program) -> tuple[str, str]:
        """The file that it is in, and the text of that with it.

        Raises:
            DoesNotApply: there is no such place, or nothing in it that can be so changed.
        """
        place = program.place(self.at)
        return place.file, mutated(place, self.change)


@cache
def program() -> Program:
    """The places of this checkout."""
    return Program(ROOT)


def faults() -> list[Fault]:
    """All of them, in the order of the files."""
    found = []
    for path in sorted(FAULTS.glob("*.toml")):
        area = tomllib.loads(path.read_text())
        for fault in area["fault"]:
            tests = tuple(fault.get("tests", area["tests"]))
            found.append(Fault(fault["id"], fault["at"], _change(fault), tests))
    return found


def _change(fault: dict[str, str]) -> Change:
    used = [name for name in OPERATORS if name in fault]
    if len(used) != 1:
        raise ValueError(f"fault {fault['id']} has {len(used)} operators; it needs one")
    options = {key: fault[key] for key in ("by", "before", "after") if key in fault}
    return Change(used[0], fault[used[0]], **options)


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
    """Write the list again."""
    KILLED.write_text("".join(f"{fault}\t{test}\n" for fault, test in found))
