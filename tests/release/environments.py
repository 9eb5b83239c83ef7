"""Virtual environments of their own, with exactly what a lock says."""

import sys
from pathlib import Path

from tests.release.artifacts import ROOT, Artifacts
from tests.release.commands import run_command


class Environment:
    """A virtual environment in which nothing is but what is installed here."""

    def __init__(self, folder: Path, lock: str, *, quickly: bool = False) -> None:
        """lock: what is installed, by hash, from the package index that is configured.

        quickly: by uv, which links what it has; pip is what strangers use.
        """
        run_command(sys.executable, "-m", "venv", folder)
        self.folder = folder
        if quickly:
            uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet")
            python = self.program("python")
            run_command(*uv, "--python", python, "--require-hashes", "-r", ROOT / lock)
        else:
            self._install("--no-compile", "--require-hashes", "-r", ROOT / lock)

    def program(self, name: str) -> Path:
        """A program of the environment."""
        return self.folder / "bin" / name

    def install_wheel(self, artifacts: Artifacts) -> None:
        """Add what is released; everything that it needs must be there already."""
        self._install("--no-compile", "--no-deps", "--no-index", artifacts.wheel)
        self._pip("check")

    def _install(self, *words: str | Path) -> None:
        self._pip("install", "--quiet", *words)

    def _pip(self, *words: str | Path) -> None:
        run_command(self.program("python"), "-m", "pip", "--disable-pip-version-check", *words)
