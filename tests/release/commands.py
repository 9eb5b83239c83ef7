"""Runs other programs, for so long at most: what fails is shown with all that it wrote."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.release.artifacts import ReleaseFault

_SECONDS = 15 * 60.0


def run_command(
    *words: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    code: int = 0,
) -> str:
    """What a program writes to standard output; of one that must fail, to standard error.

    environment: all that the program sees of it; what this process has, unless given.
    code: with which it must end.

    Raises:
        ReleaseFault: it ends otherwise, or takes too long.
    """
    line = [str(word) for word in words]
    shown = dict(os.environ if environment is None else environment)
    try:
        done = _run_within_time(line, folder, shown)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReleaseFault(f"{words[0]}: {error}") from error
    if done.returncode != code:
        said = f"{done.stdout}\n{done.stderr}".strip()[-4000:]
        raise ReleaseFault(
            f"{' '.join(line)} ended with {done.returncode} instead of {code}:\n{said}"
        )
    return done.stdout if code == 0 else done.stderr


def _run_within_time(
    line: list[str], folder: Path | None, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run it to its end; if that does not come in time, end it and all that it started."""
    with subprocess.Popen(
        line,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, complained = process.communicate(timeout=_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(line, process.returncode, said, complained)


def empty_environment(home: Path, path: str = "/usr/bin:/bin") -> dict[str, str]:
    """Nothing but a home and where programs are, so that no setting of the machine helps."""
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}
