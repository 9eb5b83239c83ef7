"""Where results and recordings are written: standard output, or what `--out` names.

A regular file is either complete or untouched: the new one is written beside it and takes its
place in one step. What a name leads to is never something else afterwards: a link still is one, a
device or FIFO is written to, and a file keeps its mode and its owner. Where that can only be had by
writing into the file that is there, it is overwritten.
"""

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from rescheduler.model.errors import OutputError

_STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What writing to an open file answers where the disk is full or the file is gone."""

_NO_RENAME = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""A file that is a mount of its own, as in a container, or that is or lies where we own nothing."""


def is_stdout(out: Path | None) -> bool:
    """Whether that is standard output."""
    return out is None or str(out) in _STDOUT


def _in_place(out: Path) -> bool:
    """Whether it is there and must not be replaced: no regular file, or an open one of a process.

    Raises:
        OSError: its name leads nowhere, as a link to itself does.
    """
    try:
        status = out.stat()
    except FileNotFoundError:
        return False
    place = out.absolute().parts[1:3]
    opened = place[:1] in (("dev",), ("proc",)) and place != ("dev", "shm")
    return opened or not stat.S_ISREG(status.st_mode)


def write_output(data: bytes, out: Path | None) -> None:
    """Write it to the file, or to standard output.

    Raises:
        OutputError: it cannot be written. BrokenPipeError: nobody reads standard output any more.
    """
    if out is None or is_stdout(out):
        _write_stdout(data)
        return
    try:
        if _in_place(out):
            _write_to(os.open(out, os.O_WRONLY | os.O_APPEND), data)
        else:
            _replace(Path(os.path.realpath(out)), data)
    except OSError as error:
        raise OutputError(
            f"{out} cannot be written: {error.strerror}", "choose another place."
        ) from error


def output_error(error: BaseException) -> OutputError | None:
    """What an error means that came from printing to standard output; None for any other."""
    if not isinstance(error, OSError) or error.filename is not None:
        return None
    if error.errno not in _CANNOT_WRITE:
        return None
    _give_up_stdout()
    return OutputError(
        f"standard output cannot be written: {error.strerror}",
        "the disk that it goes to is full.",
    )


def _write_stdout(data: bytes) -> None:
    if sys.stdout is None:  # as Python leaves it where it was closed before the start
        raise OutputError("there is no standard output", "give a file with --out.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise (output_error(error) or error) from error


def _give_up_stdout() -> None:
    """Let what is left in the buffer go, so that not Python fails on it once more at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _replace(target: Path, data: bytes) -> None:
    """Write beside the file, then rename; where no rename is possible, overwrite a file."""
    try:
        status = target.stat()
    except FileNotFoundError:
        status = None
    partial = target.with_name(f".rescheduler-{secrets.token_hex(6)}")
    try:
        # The umask applies to a new file; an old one's mode must not be wider meanwhile.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        file = os.open(partial, flags, 0o666 if status is None else 0o600)
        try:
            _write_to(file, data, like=status)
            partial.replace(target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        if status is None or error.errno not in _NO_RENAME:
            raise
        _write_to(os.open(target, os.O_WRONLY | os.O_TRUNC), data)


def _write_to(file: int, data: bytes, like: os.stat_result | None = None) -> None:
    """Write all of it and close the file.

    like: whose owner and mode it gets.
    """
    with os.fdopen(file, "wb") as out:
        out.write(data)
        out.flush()
        made = os.fstat(file)
        if like is not None:
            if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(file, like.st_uid, like.st_gid)
            os.fchmod(file, stat.S_IMODE(like.st_mode))
        if stat.S_ISREG(made.st_mode):  # pipes and terminals have no disk
            os.fsync(file)
