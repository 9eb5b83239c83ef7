"""The rescheduler as its users have it: the wheel, installed with the locked dependencies.

The suite never imports the package; it starts this program as a process of its own.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]
_QUIET = ("install", "--quiet", "--disable-pip-version-check")


def cache_folder() -> Path:
    """Where things that survive a run are kept, outside the tree."""
    given = os.environ.get("RESCHEDULER_E2E_CACHE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "rescheduler-e2e"


def install_program(folder: Path) -> Path:
    """Build the wheel from this tree and install it into that folder; the program's path.

    The locked dependencies are kept in the cache by the digest of the lock. The wheel is installed
    again into an environment of its own on top of them, so that suites may run side by side.
    """
    dependencies, below = _dependencies(), dependencies_folder()
    own = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    (packages,) = own.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{below}\n", encoding="utf-8")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    wheel = folder / built.stdout.strip().splitlines()[-1]
    pip = [str(dependencies / "bin" / "python"), "-m", "pip", "--python", str(own / "bin/python")]
    subprocess.run([*pip, *_QUIET, "--no-deps", "--ignore-installed", str(wheel)], check=True)
    return own / "bin" / "rescheduler"


def dependencies_folder() -> Path:
    """The folder with the packages of the lock."""
    (packages,) = _dependencies().glob("lib/python*/site-packages")
    return packages


def _dependencies() -> Path:
    """The environment with the locked dependencies; made by one suite while others wait."""
    lock = ROOT / "requirements.lock"
    key = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    environment = cache_folder() / f"dependencies-{key}"
    environment.parent.mkdir(parents=True, exist_ok=True)
    with environment.with_suffix(".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        marker = environment / ".complete"
        if not marker.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
            pip = [str(environment / "bin" / "python"), "-m", "pip"]
            subprocess.run([*pip, *_QUIET, "--require-hashes", "-r", str(lock)], check=True)
            marker.touch()
    return environment


@dataclass(frozen=True)
class Finished:
    """A run that ended: its exit code and what it printed."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """The standard output as JSON."""
        return json.loads(self.stdout)


@dataclass(frozen=True)
class Program:
    """The installed program, bound to a kubeconfig and a Prometheus."""

    said: ClassVar[list[str]] = []
    """All that runs of this test printed, in which nothing secret may be."""

    binary: Path
    kubeconfig: Path | None = None
    prometheus: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, verb: str, *arguments: str | Path) -> list[str]:
        """The command line, with the kubeconfig and the Prometheus of this program."""
        bound: list[str] = []
        if self.kubeconfig is not None:
            bound += ["--kubeconfig", str(self.kubeconfig)]
        if self.prometheus is not None:
            bound += ["--prometheus-url", self.prometheus]
        return [str(self.binary), verb, *map(str, arguments), *bound]

    def _environment(self) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RESCHEDULER_", "KUBE"))}
        return {**clean, **self.environment}

    def run(self, verb: str, *arguments: str | Path, timeout: float = 120) -> Finished:
        """Run to the end."""
        done = subprocess.run(
            self.arguments(verb, *arguments),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=self._environment(),
        )
        Program.said.append(done.stdout + done.stderr)
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, verb: str, *arguments: str | Path, log: Path) -> subprocess.Popen[bytes]:
        """Start and go on; what it prints goes to the log."""
        with log.open("ab") as sink:
            return subprocess.Popen(
                self.arguments(verb, *arguments),
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=self._environment(),
            )
