"""The program in a process of its own, which is a copy of one that has loaded all that it needs.

To load it takes a second of work each time; to copy a process takes none. A copy ends as any other
process of Python does.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_LOADS = """
import json, os, sys
import rescheduler.runtime.single_cycle, rescheduler.runtime.service.service
from rescheduler.cli.main import main
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(order["folder"])
        files = ["/dev/null", order["stdout"], "stderr"]
        for number, flags in enumerate([os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_CREAT]):
            os.dup2(os.open(files[number], flags, 0o600), number)
        sys.argv = ["rescheduler", *order["arguments"]]
        exec(order["first"], {})
        main()
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
ROOT = Path(__file__).parents[2]


@dataclass
class Copy:
    """One process of the program. loader: the one that it is a copy of, which says how it ends."""

    loader: "subprocess.Popen[str]"
    pid: int
    code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        assert self.loader.stdout is not None
        if self.code is None and select.select([self.loader.stdout], [], [], 0.0)[0]:
            self.code = int(self.loader.stdout.readline())
        return self.code

    def wait(self, seconds: float) -> int:
        """Its exit code, once it has ended."""
        until = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < until, f"not ended after {seconds} s"
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, however it is."""
        self.send_signal(signal.SIGKILL)
        self.wait(60.0)


@dataclass
class Loader:
    """Where copies are begun, one after the other."""

    process: "subprocess.Popen[str]"

    def begin(
        self, arguments: Sequence[str], folder: Path, *, stdout: str = "/dev/null", first: str = ""
    ) -> Copy:
        """In this folder, where `stderr` is what it says. first: what is done before it starts."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        (folder / "stderr").write_text("")
        order = {"arguments": [*arguments], "folder": str(folder), "stdout": stdout, "first": first}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return Copy(self.process, int(self.process.stdout.readline()))


@contextmanager
def loader() -> Iterator[Loader]:
    """For as long as the block lasts."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", _LOADS],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield Loader(process)
        finally:
            process.kill()
