"""Puts each fault into a copy of the program and looks whether a test fails.

The test that killed a fault last time is asked first, and only then all that were named for it. At
the end the tests that killed are run without any fault: one that fails then too has killed nothing.
"""

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.table import ROOT, Fault, faults, killers, sample, write_killers

TIMEOUT = 90.0
SURVIVED = "SURVIVED"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
_PYTEST = (
    *("-q", "-n0", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=no", "-rfE"),
    *("-o", "addopts="),
)


class Copy:
    """The program and its tests in a folder of their own, where a fault does no harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("rescheduler", "tests"):
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        for path in ROOT.iterdir():
            if path.name not in ("rescheduler", "tests", ".git"):
                (folder / path.name).symlink_to(path)
        # By hash: a fault may be of the same size and second as what it replaces.
        compileall.compile_dir(
            str(folder / "rescheduler"),
            quiet=2,
            invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
        )

    def failed(self, tests: Sequence[str], *, first: bool = True) -> list[str]:
        """The tests that fail; with `first` only the first one.

        Raises:
            RuntimeError: they could not be run.
        """
        command = [sys.executable, "-m", "pytest", *_PYTEST, *(["-x"] if first else []), *tests]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
        }
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if ended.returncode == 0:
            return []
        found: list[str] = _FAILED.findall(ended.stdout)
        if ended.returncode != 1 or not found:
            raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout[-500:]}")
        return found

    def killer(self, fault: Fault, known: str | None) -> str:
        """The test that fails with this fault, "" if none does."""
        path = self.folder / fault.file
        before = path.read_text()
        path.write_text(before.replace(fault.old, fault.new))
        try:
            for tests in ([known] if known else [], fault.tests):
                found = self.failed(tests) if tests else []
                if found:
                    return found[0]
            return ""
        finally:
            path.write_text(before)


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(wanted: Sequence[Fault], known: dict[str, str], workers: int) -> dict[str, str]:
    """Id of each fault to the test that kills it, or to why there is none; printed as it comes."""
    answer = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(workers):
            copies.put(Copy(Path(folder, str(number))))

        def ask(fault: Fault) -> tuple[str, str]:
            if fault.problem:
                return fault.id, f"DOES NOT APPLY: {fault.problem}"
            copy = copies.get()
            try:
                return fault.id, copy.killer(fault, known.get(fault.id)) or SURVIVED
            except subprocess.TimeoutExpired:
                return fault.id, f"NOT ENDED after {TIMEOUT:.0f} s"
            except RuntimeError as error:
                return fault.id, f"NOT RUN: {error}"
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(workers) as pool:
            for name, verdict in pool.map(ask, wanted):
                answer[name] = verdict
                told(f"{name:<44} {verdict}")
        tests = sorted({test for test in answer.values() if "::" in test})
        always = copies.get().failed(tests, first=False) if tests else []
    for name, verdict in answer.items():
        if verdict in always:
            answer[name] = f"FAILS WITHOUT IT TOO: {verdict}"
            told(f"{name:<44} {answer[name]}")
    return answer


def main() -> int:
    """0 if every fault was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many of them, always the same")
    parser.add_argument("--only", default="", help="those whose id contains this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write which test kills which")
    asked = parser.parse_args()
    began = time.monotonic()
    known, every = killers(), faults()
    wanted = sample([each for each in every if asked.only in each.id], asked.sample)
    found = run(wanted, known, asked.workers)
    killed = {name: test for name, test in found.items() if test.startswith("tests/")}
    told(f"{len(killed)} of {len(wanted)} killed in {time.monotonic() - began:.0f} s")
    if asked.update:
        known |= killed
        write_killers((each.id, known[each.id]) for each in every if each.id in known)
    return 0 if len(killed) == len(wanted) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
