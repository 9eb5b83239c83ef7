"""What `--out` names is written to and is never turned into something else."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rescheduler.model.errors import OutputError
from rescheduler.sources.output_file import write_output


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    before = os.umask(0o027)
    yield tmp_path
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_what_the_umask_leaves(here: Path) -> None:
    write_output(b"new", here / "plan.json")
    assert (here / "plan.json").read_bytes() == b"new"
    assert mode_of(here / "plan.json") == 0o640
    assert [path.name for path in here.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_a_file_keeps_its_mode(here: Path, mode: int) -> None:
    (here / "plan.json").write_text("a longer text from before")
    (here / "plan.json").chmod(mode)
    write_output(b"new", here / "plan.json")
    assert (here / "plan.json").read_bytes() == b"new"
    assert mode_of(here / "plan.json") == mode


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(here: Path, there: bool) -> None:
    (here / "folder").mkdir()
    if there:
        (here / "folder" / "real").write_text("old")
    (here / "first").symlink_to("folder/real")
    (here / "second").symlink_to("first")
    write_output(b"new", here / "second")
    assert (here / "second").is_symlink()
    assert (here / "first").is_symlink()
    assert (here / "folder" / "real").read_bytes() == b"new"


def test_a_link_to_itself_is_reported(here: Path) -> None:
    (here / "loop").symlink_to("loop")
    with pytest.raises(OutputError, match=os.strerror(errno.ELOOP)):
        write_output(b"new", here / "loop")


def test_a_fifo_is_written_to(here: Path) -> None:
    os.mkfifo(here / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((here / "pipe").read_bytes()))
    reader.start()
    write_output(b"new" * 100_000, here / "pipe")
    reader.join(10)
    assert read == [b"new" * 100_000]
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)


def test_a_device_is_written_to() -> None:
    write_output(b"new", Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OutputError, match="/dev/full cannot be written: No space left on device"):
        write_output(b"new", Path("/dev/full"))
    assert OutputError.exit_code not in (0, 1, 2, 3, 4, 5)


def test_what_cannot_be_written_leaves_the_old_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "plan.json").write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_output(b"new", here / "plan.json")
    assert (here / "plan.json").read_text() == "old"
    assert [path.name for path in here.iterdir()] == ["plan.json"]


def test_a_file_that_is_a_mount_of_its_own_is_overwritten(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "log").write_text("a longer text from before")
    inode = (here / "log").stat().st_ino

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "replace", busy)
    write_output(b"new", here / "log")
    assert (here / "log").read_bytes() == b"new"
    assert (here / "log").stat().st_ino == inode
    assert [path.name for path in here.iterdir()] == ["log"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/proc/self/fd/1"])
def test_standard_output_by_any_of_its_names(here: Path, name: str) -> None:
    said = "; ".join(
        [
            "import sys",
            "from pathlib import Path",
            "from rescheduler.sources.output_file import write_output",
            "print('first')",
            f"write_output(b'second', Path({name!r}))",
        ]
    )
    with (here / "all").open("wb") as file:
        file.write(b"zeroth\n")
        file.flush()
        subprocess.run([sys.executable, "-c", said], stdout=file, check=True, timeout=30)
    assert (here / "all").read_bytes() == b"zeroth\nfirst\nsecond"
    assert not Path("-").exists()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no shared memory file system here")
def test_a_file_in_shared_memory_is_replaced_as_any_other() -> None:
    out = Path("/dev/shm") / f"rescheduler-test-{os.getpid()}"
    try:
        for text in (b"the longer text", b"short"):
            write_output(text, out)
            assert out.read_bytes() == text
    finally:
        out.unlink(missing_ok=True)
