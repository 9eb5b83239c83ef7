"""The files of an audit trail: appended to, rotated, never rewritten.

A file that is full is renamed and a new one begun, which continues its chain; the oldest go when
there are more than are to be kept. What is not an audit trail is left as it is.
"""

import fcntl
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from rescheduler.actions.trail_writer import Tail
from rescheduler.model.trails.trail import MARK, digest_of_line, read_entry
from rescheduler.model.trails.trail_files import in_order, rotated_name
from rescheduler.model.trails.trail_line import MOST_BYTES

_TAIL = 4 * MOST_BYTES
"""Bytes that are read from the end: the last whole line is in them."""


class TrailStream:
    """Standard output, as a log collector reads it; each process begins a chain of its own."""

    name = "on standard output"

    def __init__(self) -> None:
        self._torn = False

    def open(self) -> Tail:
        """Nothing can be read back; a line that was cut off is ended."""
        if sys.stdout is None:  # as Python leaves it where it was closed before the start
            raise OSError("there is no standard output")
        if self._torn:
            sys.stdout.buffer.write(b"\n")
            self._torn = False
        return Tail()

    def append(self, line: bytes, at: datetime, seq: int, *, durable: bool) -> None:  # noqa: ARG002
        """Write the line at once."""
        self._torn = True
        sys.stdout.flush()
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
        self._torn = False

    def close(self) -> None:
        """It stays open."""


class TrailFile:
    """One file that is appended to, and those that were rotated, beside it.

    most_bytes: of a file. keep: files, with the one that is written to. daily: whether each day
    (UTC) has its own.
    """

    def __init__(self, path: Path, *, most_bytes: int, keep: int, daily: bool = False) -> None:
        self.path = path
        self._most = most_bytes
        self._keep = keep
        self._daily = daily
        self._file = -1
        self._size = 0
        self._last: tuple[datetime, int] | None = None

    @property
    def name(self) -> str:
        """The file's path."""
        return str(self.path)

    def open(self) -> Tail:
        """Open and lock it; a new file continues the newest one that was rotated.

        Raises:
            OSError: it cannot be opened, or another process writes it.
            ValueError: it is no audit trail, or its last line is damaged.
        """
        self._file = self._open_locked()
        try:
            self._size = os.fstat(self._file).st_size
            tail = _tail(self._file, self._size, self.path)
            if _is_whole_record(tail):  # only its line break is missing
                self._size += os.write(self._file, b"\n")
                tail = Tail(tail.file, tail.torn)
            elif tail.torn:
                self._size -= len(tail.torn)
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
            self._last = _number(tail.last)
            if not tail.last:
                tail = Tail(self.path.name, self._last_rotated(), tail.torn)
        except BaseException:
            self.close()
            raise
        return tail

    def append(self, line: bytes, at: datetime, seq: int, *, durable: bool) -> None:
        """Write the line, in a new file where this one is full or of another day."""
        if self._last is not None and self._full(len(line) + 1, at):
            self._rotate(*self._last)
        data = memoryview(line + b"\n")
        while data:
            written = os.write(self._file, data)
            self._size += written
            data = data[written:]
        if durable:
            os.fsync(self._file)
        self._last = (at, seq)

    def close(self) -> None:
        """Close it, which lets others write."""
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def _open_locked(self) -> int:
        for _ in range(5):
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file), self.path.stat()):
                    return file
            except BlockingIOError as error:
                os.close(file)
                raise OSError(error.errno, "another process writes it") from error
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(file)
                raise
            os.close(file)  # it was rotated by another process in between
        raise OSError("it is replaced again and again")

    def _full(self, more: int, at: datetime) -> bool:
        if self._size + more > self._most:
            return True
        return self._daily and self._last is not None and _day(self._last[0]) != _day(at)

    def _rotate(self, at: datetime, seq: int) -> None:
        os.fsync(self._file)
        self.path.rename(self.path.with_name(rotated_name(self.path.name, _day(at), seq)))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.close()
        self._file, self._size, self._last = file, 0, None
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        for old in self._rotated_files()[: -(self._keep - 1) or None]:
            old.unlink(missing_ok=True)

    def _rotated_files(self) -> list[Path]:
        names = in_order(self.path.name, (path.name for path in self.path.parent.iterdir()))
        return [self.path.with_name(name) for name in names]

    def _last_rotated(self) -> bytes:
        for path in reversed(self._rotated_files()[-1:]):
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                return _tail(file.fileno(), size, path).last
        return b""


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def _number(line: bytes) -> tuple[datetime, int] | None:
    if not line:
        return None
    entry = read_entry(line)
    return entry.at, entry.seq


def _is_whole_record(tail: Tail) -> bool:
    """Whether what stands after the last line is a whole record that follows on it."""
    try:
        entry = read_entry(tail.torn)
    except ValueError:
        return False
    return not tail.last or entry.previous == digest_of_line(tail.last)


def _tail(file: int, size: int, path: Path) -> Tail:
    """The last whole line of the file, and what of a line that was cut off follows it."""
    data = os.pread(file, _TAIL, max(0, size - _TAIL))
    whole, line_break, torn = data.rpartition(b"\n")
    if torn and not torn.startswith(MARK) and torn.strip(b"\0") and not MARK.startswith(torn):
        raise ValueError(f"{path} is no audit trail, and is left as it is")
    if not line_break:
        if size > _TAIL:
            raise ValueError(f"{path} is no audit trail, and is left as it is")
        return Tail(path.name, b"", torn)
    last = whole.rpartition(b"\n")[2]
    try:
        read_entry(last)
    except ValueError as error:
        raise ValueError(
            f"the last line of {path} is no record of an audit trail ({error}); move the file away"
        ) from error
    return Tail(path.name, last, torn)
