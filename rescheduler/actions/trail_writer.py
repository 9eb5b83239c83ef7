"""Writes the audit trail, line by line; if it cannot be written, nothing is evicted.

What announces something must be written before it is done: `record` raises where it is not. What
has happened already is kept and written as soon as it can be; until then nothing new is announced.
"""

import secrets
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

from rescheduler.model.errors import TrailUnwritable
from rescheduler.model.trails.trail import (
    AFTERWARDS,
    AnswerRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Intent,
    Record,
    Repaired,
    digest_of_line,
    read_entry,
)
from rescheduler.model.trails.trail_line import make_line

_DURABLE = (Intent, AnswerRecord, FollowUpRecord, CycleEnd)
"""Records that are on the disk, not only on their way there, when the next thing happens."""

MOST_WAITING = 10_000
"""Records that are kept in memory while none can be written; evictions stop with the first."""


class Tail(NamedTuple):
    """Where a trail ends: its last whole line, and what of another one stands after it.

    file: its name. last: b"" where there is none.
    """

    file: str = ""
    last: bytes = b""
    torn: bytes = b""


class TrailTarget(Protocol):
    """Where lines go: `TrailFile` or `TrailStream`. All raise OSError."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def open(self) -> Tail:
        """Open it to be written by nobody else; what is torn at its end is taken away."""
        ...

    def append(self, line: bytes, at: datetime, seq: int, *, durable: bool) -> None:
        """Write a line."""
        ...

    def close(self) -> None:
        """Let others write."""
        ...


class Trail:
    """An append-only chain of records, which continues the one that is there.

    now: the API server's time. clean: makes a text fit to be kept, as by hiding secrets.
    """

    def __init__(
        self, target: TrailTarget, *, now: Callable[[], datetime], clean: Callable[[str], str] = str
    ) -> None:
        self._target = target
        self._now = now
        self._clean = clean
        self._waiting: deque[tuple[datetime, Record]] = deque()
        self._opened = False
        self._chain = secrets.token_hex(4)
        self._seq = 0
        self._cycle = 0
        self._previous = ""
        self._tried = ""
        """The hash of a line that may or may not have been written."""

    def record(self, record: Record) -> None:
        """Write the record, after all that still waits.

        Raises:
            TrailUnwritable: it could not be written, and is of something that has yet to happen.
        """
        problem = self._flush() if len(self._waiting) >= MOST_WAITING else ""
        if not problem:
            self._waiting.append((self._now(), record))
            problem = self._flush()
        if isinstance(record, CycleEnd):
            self._close()
        if problem and not isinstance(record, AFTERWARDS):
            waiting = len(self._waiting)
            raise TrailUnwritable(
                f"the audit trail {self._target.name} cannot be written: {problem} "
                f"({waiting} record{'s' if waiting != 1 else ''} not written)",
                "make room or mend its permissions; nothing is evicted without the audit trail "
                "that --audit-trail asks for.",
            )

    def _flush(self) -> str:
        """Write what waits; why it cannot be, or ""."""
        try:
            if not self._opened:
                self._resume(self._target.open())
                self._opened = True
            while self._waiting:
                self._write(*self._waiting[0])
        except OSError as error:
            self._close()
            return error.strerror or str(error)
        except ValueError as error:
            self._close()
            return str(error)
        return ""

    def _close(self) -> None:
        if self._opened:
            self._opened = False
            try:
                self._target.close()
            except OSError:  # what was written before was flushed, and shows when it is read back
                return

    def _write(self, at: datetime, record: Record) -> None:
        seq = self._seq + 1
        cycle = seq if isinstance(record, CycleStart) else self._cycle
        line = make_line(
            record,
            chain=self._chain,
            seq=seq,
            at=at,
            cycle=cycle,
            previous=self._previous,
            clean=self._clean,
        )
        self._tried = digest_of_line(line)
        self._target.append(line, at, seq, durable=isinstance(record, _DURABLE))
        self._note_written(line, record)

    def _note_written(self, line: bytes, record: Record) -> None:
        self._seq, self._previous, self._tried = self._seq + 1, digest_of_line(line), ""
        if isinstance(record, CycleStart):
            self._cycle = self._seq
        elif isinstance(record, CycleEnd):
            self._cycle = 0
        self._waiting.popleft()

    def _resume(self, tail: Tail) -> None:
        """Continue after what is there, no matter who wrote it."""
        if tail.last:
            entry = read_entry(tail.last)
            digest = digest_of_line(tail.last)
            if digest == self._tried:
                # It was written after all, though the disk did not confirm it.
                self._note_written(tail.last, self._waiting[0][1])
            self._chain, self._seq, self._previous = entry.chain, entry.seq, digest
        self._tried = ""
        if tail.torn:
            text = tail.torn[:4000].decode(errors="replace")
            repaired = Repaired(file=tail.file, bytes=len(tail.torn), text=text)
            self._waiting.appendleft((self._now(), repaired))
