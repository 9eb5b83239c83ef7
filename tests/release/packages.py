"""The sdist and the wheel: made, compared, and tried in an environment that has nothing else."""

import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release.artifacts import ROOT, Artifacts, ReleaseFault, digest
from tests.release.commands import run_command
from tests.release.environments import Environment
from tests.release.trial import try_program

_LISTED = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "rescheduler")


def make_packages(artifacts: Artifacts) -> str:
    """Make both, beside the lock; what is made of the sdist must be the same wheel to the byte."""
    _build("sdist", ROOT, artifacts.folder)
    _build("wheel", ROOT, artifacts.folder)
    _check_source(artifacts)
    with TemporaryDirectory() as folder:
        with tarfile.open(artifacts.sdist) as archive:
            archive.extractall(folder, filter="data")
        source = Path(folder) / artifacts.sdist.name.removesuffix(".tar.gz")
        _build("wheel", source, Path(folder))
        if digest(Path(folder) / artifacts.wheel.name) != digest(artifacts.wheel):
            raise ReleaseFault(f"{artifacts.sdist.name} makes another wheel than the tree")
    _check_contents(artifacts)
    shutil.copy(ROOT / "requirements.lock", artifacts.folder)
    return "the sdist makes the same wheel to the byte"


def try_wheel(artifacts: Artifacts, environment: Environment) -> str:
    """Install the wheel beside what the lock says, and let it plan."""
    environment.install_wheel(artifacts)
    return try_program(environment.program("rescheduler"), artifacts.version)


def _build(target: str, source: Path, folder: Path) -> None:
    command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder.resolve())
    run_command(*command, folder=source)


def _check_source(artifacts: Artifacts) -> None:
    """What a stranger needs is in the sdist, and what only we need is not."""
    with tarfile.open(artifacts.sdist) as archive:
        folders = {Path(name).parts[1] for name in archive.getnames() if "/" in name}
    lacking = {"policies", "deploy", "requirements.lock", "LICENSE"} - folders
    surplus = {"tests", ".github"} & folders
    if lacking or surplus:
        raise ReleaseFault(f"the sdist lacks {sorted(lacking)} and has {sorted(surplus)}")


def _check_contents(artifacts: Artifacts) -> None:
    """Nothing of the program may be missing in the wheel, and nothing else be in it."""
    with zipfile.ZipFile(artifacts.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    listed = {*run_command(*_LISTED, folder=ROOT).splitlines(), *wheel["force-include"].values()}
    if names != listed:
        raise ReleaseFault(f"the wheel differs from the tree in {sorted(names ^ listed)}")
