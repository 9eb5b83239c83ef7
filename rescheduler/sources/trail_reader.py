"""Reads an audit trail line by line: a file with those rotated from it, a folder, or a log."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rescheduler.model.errors import TrailUnreadable
from rescheduler.model.trails.trail_files import IN_FOLDER, in_order

_LONGEST = 1 << 20
"""Bytes of a line; a longer one is none of ours, and is skipped."""


class Line(NamedTuple):
    """A line, with its line break, and where it stands."""

    data: bytes
    file: str
    number: int


def read_lines(path: str, newest: int = 0) -> Iterator[Line]:
    """All lines in the order in which they were written.

    path: `-` is standard input. newest: so many of its files, the newest; 0 is all.

    Raises:
        TrailUnreadable: there is nothing, or it cannot be read.
    """
    if path == "-":
        yield from _lines(sys.stdin.buffer, "standard input")
        return
    try:
        files = _files(Path(path))[-newest:]
        if not files:
            raise TrailUnreadable(
                f"there is no audit trail at {path}",
                "check the path: it is what `run --audit-trail` wrote; - reads `kubectl logs`.",
            )
        for file in files:
            with file.open("rb") as stream:
                yield from _lines(stream, file.name if len(files) > 1 else str(file))
    except OSError as error:
        raise TrailUnreadable(
            f"the audit trail {path} cannot be read: {error.strerror}", "check its permissions."
        ) from error


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        path /= IN_FOLDER
    if not path.parent.is_dir():
        return []
    names = [file.name for file in path.parent.iterdir()]
    older = [path.with_name(name) for name in in_order(path.name, names)]
    return [*older, *([path] if path.exists() else [])]


def _lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    number = 0
    while data := stream.readline(_LONGEST):
        number += 1
        whole = data.endswith(b"\n") or len(data) < _LONGEST
        if whole:
            yield Line(data, name, number)
            continue
        while (more := stream.readline(_LONGEST)) and not more.endswith(b"\n"):
            pass
