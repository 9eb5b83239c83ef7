"""Runs other programs: what fails is shown with all that it wrote."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.release.artifacts import ReleaseFault

_MINUTES = 15


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
    try:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=folder,
            env=dict(os.environ if environment is None else environment),
            capture_output=True,
            text=True,
            timeout=60 * _MINUTES,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReleaseFault(f"{words[0]}: {error}") from error
    if done.returncode != code:
        said = f"{done.stdout}\n{done.stderr}".strip()[-4000:]
        line = " ".join(str(word) for word in words)
        raise ReleaseFault(f"{line} ended with {done.returncode} instead of {code}:\n{said}")
    return done.stdout if code == 0 else done.stderr


def empty_environment(home: Path, path: str = "/usr/bin:/bin") -> dict[str, str]:
    """Nothing but a home and where programs are, so that no setting of the machine helps."""
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}
