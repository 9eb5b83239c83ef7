"""Installs the plugin with krew itself, from the archive and its manifest, and removes it again."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import KREW
from tests.release.artifacts import Artifacts, ReleaseFault
from tests.release.commands import empty_environment, run_command
from tests.release.plugin import NAME
from tests.release.trial import try_program


def try_with_krew(artifacts: Artifacts) -> str:
    """Krew checks the manifest and the checksum; what it installs must plan."""
    krew = binaries([KREW])["krew"]
    with TemporaryDirectory() as folder:
        root = Path(folder) / "krew"
        environment = {
            **empty_environment(Path(folder)),
            "KREW_ROOT": str(root),
            "KREW_NO_UPGRADE_CHECK": "1",
            "KREW_DEFAULT_INDEX_URI": str(_index(artifacts, Path(folder) / "index")),
        }

        def call(*words: str | Path, code: int = 0) -> str:
            return run_command(krew, *words, environment=environment, code=code)

        call("update")
        if f"VERSION: v{artifacts.version}" not in call("info", "rescheduler"):
            raise ReleaseFault("krew does not find the plugin in an index that has its manifest")
        source = ("install", "--manifest", artifacts.manifest, "--archive")
        call(*source, _other_archive(artifacts, Path(folder)), code=1)
        call(*source, artifacts.plugin)
        tried = try_program(root / "bin" / NAME, artifacts.version)
        if call("list").split() != ["detached/rescheduler"]:
            raise ReleaseFault(f"krew does not list the plugin, but: {call('list')}")
        call("uninstall", "rescheduler")
        if (root / "bin" / NAME).exists():
            raise ReleaseFault("krew leaves the plugin behind")
        return f"installed and removed by krew {KREW.version}: {tried}; another archive is refused"


def _index(artifacts: Artifacts, folder: Path) -> Path:
    """An index of plugins, as krew's own is: a repository with the manifest."""
    (folder / "plugins").mkdir(parents=True)
    shutil.copy(artifacts.manifest, folder / "plugins")
    run_command("git", "init", "--quiet", folder)
    run_command("git", "-C", folder, "add", ".")
    author = ("-c", "user.name=release", "-c", "user.email=release@example.com")
    run_command("git", "-C", folder, *author, "commit", "--quiet", "--message", "Add rescheduler")
    return folder


def _other_archive(artifacts: Artifacts, folder: Path) -> Path:
    """The same archive with one more byte, which is not what the manifest says."""
    other = folder / artifacts.plugin.name
    other.write_bytes(artifacts.plugin.read_bytes() + b"\0")
    return other
