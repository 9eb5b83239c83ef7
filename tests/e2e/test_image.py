"""The image: what is in it, and what is not; how large it is, and how soon it starts."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.image.container import PodContainer, UnpackedImage
from tests.e2e.image.rendered import apply_overlay, pod_of_cronjob
from tests.e2e.loop import AUDITING
from tests.e2e.program import ROOT

pytestmark = pytest.mark.e2e

MOST_BYTES = 150_000_000
MOST_SECONDS = 1.5
NOBODY = 65532

WRITABLE = """
import os, sys
for folder, names, files in os.walk("/"):
    if folder in {"/proc", "/dev", "/sys"}:
        names.clear()
        continue
    path = os.path.join(folder, ".written")
    try:
        open(path, "w").close()
    except OSError:
        continue
    os.unlink(path)
    print(folder)
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
print(*(status[name] for name in ("Uid", "Groups", "CapBnd", "NoNewPrivs", "Seccomp")))
"""
"""Prints each folder in which a file can be made, and what Linux lets the process do."""


def test_a_node_pulls_no_more_than_150_megabytes(image: UnpackedImage) -> None:
    assert image.archive.compressed <= MOST_BYTES


def test_it_runs_as_nobody_and_has_no_shell_and_no_pip(image: UnpackedImage) -> None:
    members = image.archive.members()
    assert image.archive.config["User"] == f"{NOBODY}:{NOBODY}"
    programs = {path for path in members if path.startswith(("usr/bin/", "usr/sbin/"))}
    assert programs == {"usr/bin/python3", f"usr/bin/{members['usr/bin/python3'].linkname}"}
    assert {path: members[path].linkname for path in ("bin", "lib")} == {
        "bin": "usr/bin",
        "lib": "usr/lib",
    }
    assert not [path for path in members if Path(path).name in {"pip", "ensurepip", "sh", "bash"}]


def test_nothing_in_it_changes_its_user_or_is_writable(image: UnpackedImage) -> None:
    files = image.archive.members()
    assert not [
        path for path, member in files.items() if member.mode & (stat.S_ISUID | stat.S_ISGID)
    ]
    assert {member.uid for member in files.values()} == {0}
    writable = [
        path for path, member in files.items() if member.mode & stat.S_IWOTH and not member.issym()
    ]
    assert writable == ["tmp"]


def test_all_python_in_it_is_compiled_for_good(image: UnpackedImage) -> None:
    """Nothing is writable later, and no time of a file decides whether it is compiled again."""
    sources = list(image.root.glob("usr/lib/python3*/**/*.py"))
    sources += image.root.glob("usr/local/lib/python3*/dist-packages/**/*.py")
    assert len(sources) > 2000
    for source in sources:
        compiled = [*source.parent.glob(f"__pycache__/{source.stem}.cpython-3*.pyc")]
        assert compiled or "lib2to3" in str(source), source
        # PEP 552: the flags after the magic number; 1 is a hash that nobody checks.
        assert {file.read_bytes()[4:8] for file in compiled} == {b"\x01\x00\x00\x00"}, source


def test_the_authorities_in_it_are_debians(image: UnpackedImage) -> None:
    bundle = (image.root / "etc/ssl/certs/ca-certificates.crt").read_text()
    assert bundle.count("BEGIN CERTIFICATE") > 100
    assert (image.root / "usr/lib/ssl/cert.pem").readlink().name == "ca-certificates.crt"


def test_it_starts_in_time_and_writes_nowhere_but_into_its_mounts(
    cluster: Cluster, image: UnpackedImage, tmp_path: Path
) -> None:
    apply_overlay(cluster, "audit-cronjob", {}, {})
    pod = pod_of_cronjob(cluster, AUDITING)
    times = []
    for number in range(3):
        started = time.monotonic()
        container = PodContainer(cluster.api, pod, image, tmp_path / f"start-{number}")
        assert container.start(image.command(["--version"])).wait(60) == 0
        times.append(time.monotonic() - started)
    assert min(times) <= MOST_SECONDS, times

    container = PodContainer(cluster.api, pod, image, tmp_path / "writing")
    assert container.start(["/usr/bin/python3", "-c", WRITABLE]).wait(60) == 0
    folder, status = container.log.read_text().splitlines()
    assert folder == "/tmp"
    assert status.split() == [*[str(NOBODY)] * 5, "0" * 16, "1", "2"]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-clouds.lock"])
def test_all_that_is_locked_has_a_wheel_for_arm64(
    lock: str, image: UnpackedImage, tmp_path: Path
) -> None:
    (python,) = image.root.glob("usr/bin/python3.*")
    command = [
        *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--dry-run"),
        *("--target", str(tmp_path), "--python-platform", "aarch64-manylinux_2_28"),
        *("--python-version", python.name.removeprefix("python")),
        *("--only-binary", ":all:", "--require-hashes", "--requirements", str(ROOT / lock)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
