"""Puts each fault into a copy of the program and looks whether a test fails.

The test that killed a fault last time is asked first, and only then all that were named for it. At
the end the tests that killed are run without any fault: one that fails then too has killed nothing.
"""

import argparse
import compileall
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests.mutants.places import DoesNotApply, Program
from tests.mutants.table import ROOT, Fault, faults, killers, sample, write_killers

CPU_SECONDS = 60
"""After so much work of its own pytest is ended; how long that lasts hangs on the machine."""
TIMEOUT = 600.0
"""After so many seconds it is, where it only waits."""
SURVIVED = "SURVIVED"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
_PYTEST = (
    *("-q", "-n0", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=no", "-rfE"),
    *("-o", "addopts="),
)


class NotThere(RuntimeError):
    """A test that was named does not exist."""


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
        self.program = Program(folder)

    def failed(self, tests: Sequence[str], *, first: bool = True) -> list[str]:
        """The tests that fail; with `first` only the first one.

        Raises:
            NotThere: one of them does not exist.
            RuntimeError: they could not be run.
            subprocess.TimeoutExpired: they do not end.
        """
        patience = 1 if first else 10
        command = [sys.executable, "-m", "pytest", *_PYTEST, *(["-x"] if first else []), *tests]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
        }
        most = CPU_SECONDS * patience
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as ended:
            # At the first limit it is told by a signal of its own, at the second one it is killed.
            resource.prlimit(ended.pid, resource.RLIMIT_CPU, (most, most + 5))
            try:
                said, _ = ended.communicate(timeout=TIMEOUT * patience)
            finally:
                ended.kill()
        match ended.returncode:
            case pytest.ExitCode.OK:
                return []
            case pytest.ExitCode.USAGE_ERROR:
                raise NotThere(said[-500:])
            case code if code == -signal.SIGXCPU:
                raise subprocess.TimeoutExpired(command, most)
        found: list[str] = _FAILED.findall(said)
        if ended.returncode != 1 or not found:
            raise RuntimeError(f"pytest ended with {ended.returncode}: {said[-500:]}")
        return found

    def killer(self, fault: Fault, known: str | None) -> str:
        """The test that fails with this fault, "" if none does."""
        file, text = fault.put(self.program)
        path = self.folder / file
        before = path.read_text()
        path.write_text(text)
        try:
            found: list[str] = []
            if known:
                # It may have been renamed or dropped since; then all are asked.
                with suppress(NotThere):
                    found = self.failed([known])
            found = found or self.failed(fault.tests)
            return found[0] if found else ""
        finally:
            path.write_text(before)


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def cpu_seconds() -> float:
    """What this process and those that it has started took, however busy the machine is."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def run(wanted: Sequence[Fault], known: dict[str, str], workers: int) -> dict[str, str]:
    """Id of each fault to the test that kills it, or to why there is none; printed as it comes."""
    answer = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(workers):
            copies.put(Copy(Path(folder, str(number))))

        def ask(fault: Fault) -> tuple[str, str]:
            copy = copies.get()
            try:
                return fault.id, copy.killer(fault, known.get(fault.id)) or SURVIVED
            except DoesNotApply as error:
                return fault.id, f"DOES NOT APPLY: {error}"
            except subprocess.TimeoutExpired:
                return fault.id, f"NOT ENDED after {CPU_SECONDS} s of work or {TIMEOUT:.0f} s"
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
    parser.add_argument("--sample", type=int, default=0, help="so many of them, evenly spread")
    parser.add_argument(
        "--start", type=int, help="which of them the sample begins with; by chance if not given"
    )
    parser.add_argument(
        "ids", nargs="*", help="which of them, as in ledger-*; all if none is given"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write which test kills which")
    asked = parser.parse_args()
    began = time.monotonic()
    known, every = killers(), faults()
    named = [
        fault
        for fault in every
        if not asked.ids or any(fnmatchcase(fault.id, pattern) for pattern in asked.ids)
    ]
    start = random.randrange(max(len(named), 1)) if asked.start is None else asked.start
    wanted = sample(named, asked.sample, start)
    if len(wanted) < len(named):
        told(f"{len(wanted)} of {len(named)}; for the same again: --start {start}")
    found = run(wanted, known, asked.workers)
    killed = {name: test for name, test in found.items() if test.startswith("tests/")}
    told(
        f"{len(killed)} of {len(wanted)} killed in {time.monotonic() - began:.0f} s, "
        f"{cpu_seconds():.0f} of them on a CPU"
    )
    if asked.update:
        known |= killed
        write_killers((fault.id, known[fault.id]) for fault in every if fault.id in known)
    return 0 if len(killed) == len(wanted) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
