"""Build the programs of the control plane into a cache outside the tree.

`python -m tests.e2e.controlplane.build` builds what is missing and prints where each binary is.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tests.e2e.controlplane.versions import OLDER_SCHEDULER, PROGRAMS, Program

_MOST_SECONDS = 3600.0
"""Of one build, so that a module proxy that does not answer holds up nobody for ever."""


class BuildError(Exception):
    """A program could not be built; the message says what to do."""


def cache_folder() -> Path:
    """Where binaries are kept between runs: `$RESCHEDULER_E2E_CACHE` or the user's cache."""
    given = os.environ.get("RESCHEDULER_E2E_CACHE")
    if given:
        return Path(given)
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "rescheduler-e2e"


def binaries(programs: Sequence[Program] = PROGRAMS) -> dict[str, Path]:
    """Every binary of these programs by name, built where it is missing.

    Two runs at once are safe: a lock file lets one build, the other finds the binary.
    """
    found: dict[str, Path] = {}
    for program in programs:
        folder = _folder(program)
        paths = {name: folder / name for name in program.binaries}
        if not all(path.exists() for path in paths.values()):
            with _lock(folder):
                if not all(path.exists() for path in paths.values()):
                    _build(program, folder)
        found.update(paths)
    return found


def _folder(program: Program) -> Path:
    """The program's folder in the cache, keyed by version, exact dependencies and own sources."""
    key = sha256()
    sources = sorted(program.folder.rglob("*.go"))
    for path in (program.folder / "go.mod", program.folder / "go.sum", *sources):
        key.update(path.read_bytes())
    key.update(",".join(program.tags).encode())
    return cache_folder() / f"{program.module}-{program.version}-{key.hexdigest()[:12]}"


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(program: Program, folder: Path) -> None:
    module = (program.folder / "go.mod").read_text(encoding="utf-8")
    if f" v{program.version}\n" not in module:
        raise BuildError(
            f"{program.folder / 'go.mod'} does not require v{program.version}.\n"
            "Maybe only one of go.mod and versions.py was changed: they name the same version."
        )
    go = shutil.which("go")
    if go is None:
        raise BuildError(
            f"{program.module} {program.version} has to be built and there is no `go` on PATH.\n"
            "Maybe install Go 1.26 or later and put its bin folder on PATH."
        )
    stamps = " ".join(f"-X {name}={value}" for name, value in program.stamps.items())
    # One `go build` for all binaries of a module: they share most packages.
    with tempfile.TemporaryDirectory(dir=folder) as output:
        command = [go, "build", "-trimpath", "-mod=readonly", "-ldflags", f"-s -w {stamps}"]
        command += ["-tags", ",".join(program.tags)] if program.tags else []
        command += ["-o", f"{output}/", *program.binaries.values()]
        sys.stderr.write(f"building {program.module} {program.version} (minutes, once)\n")
        started = time.monotonic()
        try:
            subprocess.run(command, cwd=program.folder, check=True, timeout=_MOST_SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise BuildError(
                f"go build of {program.module} {program.version}: {error}\n"
                "Maybe the Go module proxy is out of reach (see GOPROXY), or the disk is full: "
                "the Go build cache takes about 4 GB."
            ) from error
        for name, package in program.binaries.items():
            # Go names a binary after its package's last element that is not a version.
            last = [part for part in package.split("/") if part not in {"v2", "v3"}][-1]
            (Path(output) / last).replace(folder / name)
        sys.stderr.write(f"built {program.module} in {time.monotonic() - started:.0f} s\n")


def main() -> int:
    """Build everything and say where it is; 1 where a build failed."""
    try:
        for programs in (PROGRAMS, [OLDER_SCHEDULER]):
            for name, path in sorted(binaries(programs).items()):
                sys.stdout.write(f"{name} {path}\n")
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
