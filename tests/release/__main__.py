"""`python -m tests.release`: makes a release in dist/ without publishing anything, and verifies it.

A part that cannot be made is a failure; one whose source the tree does not have is said to be
missing; one that was left out by `--without` is said, too, and both once more at the end.
"""

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.controlplane.build import BuildError
from tests.release.artifacts import ROOT, Artifacts, ReleaseFault
from tests.release.deployments import NotThere, make_chart, make_image, make_install, make_site
from tests.release.environments import Environment
from tests.release.image_materials import make_image_materials
from tests.release.krew_trial import try_with_krew
from tests.release.materials import make_materials
from tests.release.notes import make_notes
from tests.release.packages import make_packages, try_wheel
from tests.release.plugin import make_plugin
from tests.release.provenance import make_provenance
from tests.release.signature import sign_files
from tests.release.workflow import check_workflow


@dataclass(frozen=True)
class Part:
    """One part of a release, and what makes it and says what was proven."""

    name: str
    make: Callable[[], str]


def parts(
    artifacts: Artifacts, work: Path, began: datetime, tested: Path | None = None
) -> list[Part]:
    """All parts, in the order in which one needs the other.

    tested: the archive of the image that the tests ran.
    """
    runtime, tools = work / "runtime", work / "tools"
    environments: dict[str, Environment] = {}

    def use_wheel() -> str:
        environments["runtime"] = Environment(runtime, "requirements.lock")
        return try_wheel(artifacts, environments["runtime"])

    def use_plugin() -> str:
        environments["tools"] = Environment(tools, "requirements-release.lock", quickly=True)
        return make_plugin(artifacts, environments["tools"], work)

    def list_materials() -> str:
        return make_materials(artifacts, environments["runtime"], environments["tools"])

    def use_image() -> str:
        said = make_image(artifacts, tested)
        return f"{said}; {make_image_materials(artifacts, environments['tools'])}"

    def files() -> list[Path]:
        last = {artifacts.checksums, artifacts.signature}
        return sorted(path for path in artifacts.folder.iterdir() if path not in last)

    return [
        Part("workflow", check_workflow),
        Part("packages", lambda: make_packages(artifacts)),
        Part("empty environment", use_wheel),
        Part("plugin", use_plugin),
        Part("krew", lambda: try_with_krew(artifacts)),
        Part("materials", list_materials),
        Part("notes", lambda: make_notes(artifacts)),
        Part("image", use_image),
        Part("install.yaml", lambda: make_install(artifacts)),
        Part("chart", lambda: make_chart(artifacts)),
        Part("site", make_site),
        Part("provenance", lambda: make_provenance(artifacts, files(), began)),
        Part("signature", lambda: sign_files(artifacts, files())),
    ]


def make_release(folder: Path, without: list[str], tested: Path | None = None) -> int:
    """Make every part, say what became of it; 1 where one failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    incomplete: list[str] = []
    with TemporaryDirectory() as work:
        for part in parts(Artifacts(folder), Path(work), datetime.now(UTC), tested):
            started = time.monotonic()
            try:
                said = part.make() if part.name not in without else "left out"
                incomplete += [part.name] if part.name in without else []
            except NotThere as missing:
                said = f"MISSING: {missing}"
                incomplete.append(part.name)
            except (ReleaseFault, BuildError) as fault:
                sys.stdout.write(f"{part.name:18} FAILED: {fault}\n")
                return 1
            seconds = time.monotonic() - started
            sys.stdout.write(f"{part.name:18} {said} ({seconds:.0f} s)\n")
            sys.stdout.flush()
    sys.stdout.write(f"Not in it: {', '.join(incomplete) or 'nothing is left out or missing'}.\n")
    return 0


def main() -> int:
    """Read the arguments, and make the release."""
    reader = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    reader.add_argument("--without", action="append", default=[], metavar="PART")
    reader.add_argument("--image", type=Path, metavar="FILE", help="the image that was tested")
    reader.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = reader.parse_args()
    # So that the programs which it runs end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return make_release(arguments.out, arguments.without, arguments.image)


if __name__ == "__main__":
    sys.exit(main())
