"""The plugin of kubectl: the program with its Python in one folder, packed for krew.

A zipapp cannot load what is compiled (numpy, pydantic, cryptography), so the tree is frozen by
PyInstaller. What it needs of the machine is glibc, at least of the version it was made with.
"""

import gzip
import io
import os
import platform
import tarfile
from pathlib import Path
from string import Template

from tests.release.artifacts import REPOSITORY, ROOT, Artifacts, ReleaseFault, digest
from tests.release.commands import run_command
from tests.release.environments import Environment
from tests.release.trial import try_program

NAME = "kubectl-rescheduler"
_LEFT_OUT = ("kubernetes.aio", "tkinter", "pytest", "setuptools", "lxml", "matplotlib", "pandas")
"""Modules that something could import and nothing does; the second client is the largest."""
_SAME_EACH_TIME = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "315532800"}
"""With these PyInstaller makes the same tree of the same environment."""
_MOST_BYTES = 60 * 2**20
"""Of the archive."""


def make_plugin(artifacts: Artifacts, environment: Environment, work: Path) -> str:
    """Freeze the program, try it where it lies, and pack it."""
    environment.install_wheel(artifacts)
    tree = _freeze(environment, work)
    tried = try_program(tree / NAME, artifacts.version)
    pack_tree(tree, artifacts.plugin)
    size = artifacts.plugin.stat().st_size
    if size > _MOST_BYTES:
        raise ReleaseFault(f"{artifacts.plugin.name} has {size} bytes, more than {_MOST_BYTES}")
    artifacts.manifest.write_text(krew_manifest(artifacts), encoding="utf-8")
    glibc = platform.libc_ver()[1]
    return f"{tried}; {size / 2**20:.0f} MiB, needs glibc {glibc} or later"


def _freeze(environment: Environment, work: Path) -> Path:
    left_out = [word for module in _LEFT_OUT for word in ("--exclude-module", module)]
    run_command(
        *(environment.program("pyinstaller"), "--noconfirm", "--log-level", "WARN", "--onedir"),
        *("--name", NAME, "--distpath", work / "tree", "--workpath", work / "work"),
        *("--specpath", work, "--collect-submodules", "rescheduler"),
        *("--collect-data", "rescheduler", "--collect-data", "tzdata", *left_out),
        ROOT / "tests/release/plugin_program.py",
        folder=work,
        environment={**_environment(), **_SAME_EACH_TIME},
    )
    return work / "tree" / NAME


def _environment() -> dict[str, str]:
    """This process's own, but for where else Python looks: what is installed is what is frozen."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def pack_tree(tree: Path, archive: Path) -> None:
    """One archive, the same for the same tree: sorted, without times and owners.

    Links are left out: krew refuses archives that have some, and PyInstaller's repeat libraries
    that those who need them find beside themselves. The trial by krew shows that it is so. RECORD,
    by which pip removes packages, has checksums of scripts that name the folder of the build.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as out:
        out.add(ROOT / "LICENSE", "LICENSE", filter=_anonymous)
        for path in sorted(tree.rglob("*")):
            if path.is_symlink() or path.name == "RECORD":
                continue
            out.add(path, str(path.relative_to(tree)), recursive=False, filter=_anonymous)
    archive.write_bytes(gzip.compress(packed.getvalue(), 6, mtime=0))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    return member


def krew_manifest(artifacts: Artifacts) -> str:
    """What krew's index says of the archive that was packed."""
    template = Template((ROOT / "tests/release/krew.yaml").read_text(encoding="utf-8"))
    return template.substitute(
        repository=REPOSITORY,
        version=artifacts.version,
        address=artifacts.address(artifacts.plugin),
        sha256=digest(artifacts.plugin),
        program=NAME,
    )
