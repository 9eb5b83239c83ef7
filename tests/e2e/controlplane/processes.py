"""Start a program on loopback, watch it, and stop it by its pid."""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class StartError(Exception):
    """A program did not come up; the message names its log."""


# Below the range that Linux gives to outgoing connections, so that none of those takes a port
# between the choice and the listening; each of the suite's workers ("gw0", "gw1", ...) has its own.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = range(20000 + 2000 * (_WORKER % 6), 22000 + 2000 * (_WORKER % 6))


def free_ports(count: int) -> list[int]:
    """`count` different loopback ports that nobody listens on right now."""
    chosen: list[int] = []
    held: list[socket.socket] = []
    try:
        while len(chosen) < count:
            port = random.choice(_PORTS)
            probe = socket.socket()
            held.append(probe)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            chosen.append(port)
    finally:
        for probe in held:
            probe.close()
    return chosen


def hold(process: subprocess.Popen[bytes]) -> None:
    """Stop it by SIGSTOP, and wait until it stands still: its threads go on for a moment."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class Process:
    """One running program whose output goes to `<logs>/<name>.log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        logs: Path,
        *,
        grace: float = 3.0,
        folder_of_program: Path | None = None,
    ) -> None:
        """Start `command`; at the end it gets SIGTERM, and SIGKILL after `grace` seconds.

        folder_of_program: its working folder, where that matters.
        """
        self.name = name
        self.log = logs / f"{name}.log"
        self._grace = grace
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*_dies_with_parent(), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder_of_program,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    def exited(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._popen.poll()

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._popen.kill()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still, and go on afterwards."""
        hold(self._popen)
        try:
            yield
        finally:
            self._popen.send_signal(signal.SIGCONT)

    def wait_until(self, ready: Callable[[], bool], deadline: float) -> None:
        """Wait until `ready()`; a dead program or `deadline` seconds raise StartError."""
        limit = time.monotonic() + deadline
        while not ready():
            code = self.exited()
            if code is not None:
                raise StartError(f"{self.name} ended with {code} at its start:\n{self.tail()}")
            if time.monotonic() > limit:
                raise StartError(f"{self.name} not ready after {deadline:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines: int = 15) -> str:
        """The end of the log, headed by its path."""
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"{self.log}:", *text])

    def terminate(self) -> None:
        """Ask it to end, without waiting."""
        if self._popen.poll() is None:
            self._popen.terminate()

    def stop(self) -> None:
        """End it and wait until it is gone."""
        self.terminate()
        try:
            self._popen.wait(self._grace)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


def _dies_with_parent() -> list[str]:
    """A prefix that lets Linux end the program when the test run is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
