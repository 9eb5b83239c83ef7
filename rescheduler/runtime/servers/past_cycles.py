"""The last cycles of the service, for its pages: a row for each, and the report of most.

A report is kept compressed: 5,000 nodes and 200 moves take 0.3 MiB and 20 ms. Where all of them
would take more than `MOST_BYTES`, the oldest reports go and their rows stay.
"""

import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rescheduler.model.kept_cycles import KeptCycles
from rescheduler.model.moves.plan import Mode, Report
from rescheduler.model.trails.trail_history import PastCycle
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.history.history_page import CycleRow, render_cycles_page
from rescheduler.runtime.ended_cycle import ended_cycle, failed_cycle

KEPT = 50
MOST_BYTES = 16 * 1024 * 1024

PATH = "/history"

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)


@dataclass(slots=True)
class _Kept:
    number: int
    cycle: PastCycle
    report: bytes = b""


class PastCycles:
    """The last cycles; written by the cycle's thread, read by those of the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_kept: Callable[[], tuple[KeptCycles | None, str]] | None = None
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._number = 0

    def remember(self, cycles: list[PastCycle]) -> None:
        """Cycles of earlier processes, the newest first."""
        with self._lock:
            for cycle in reversed(cycles[:KEPT]):
                self._number += 1
                self._kept.append(_Kept(self._number, cycle))

    def read_others(self, read_kept: Callable[[], tuple[KeptCycles | None, str]]) -> None:
        """Show the cycles of all instances too, as they are kept in the cluster."""
        self._read_kept = read_kept

    def add(self, report: Report, started: datetime, seconds: float) -> None:
        """A cycle has ended with this report."""
        packed = zlib.compress(_encoder.encode(report), 1)
        with self._lock:
            self._number += 1
            self._kept.append(_Kept(self._number, ended_cycle(report, started, seconds), packed))
            size = 0
            for cycle_page in reversed(self._kept):
                size += len(cycle_page.report)
                if size > MOST_BYTES:
                    cycle_page.report = b""

    @property
    def latest(self) -> PastCycle | None:
        """The cycle that ended last, as the page of all cycles shows it."""
        with self._lock:
            return self._kept[-1].cycle if self._kept else None

    def fail(self, message: str, started: datetime, seconds: float, *, mode: Mode) -> None:
        """A cycle has ended without a report."""
        failed = failed_cycle(message, started, seconds, mode=mode)
        with self._lock:
            self._number += 1
            self._kept.append(_Kept(self._number, failed))

    def page(self, path: str) -> Callable[[], bytes] | None:
        """What makes the page at this path: of all cycles, or of one report; None without one."""
        with self._lock:
            kept = list(self._kept)
        if path == PATH:
            rows = [CycleRow(e.cycle, _link(e) if e.report else "") for e in reversed(kept)]
            return lambda: self._all_cycles(rows).encode()
        for cycle_page in kept:
            if cycle_page.report and path == _link(cycle_page):
                packed = cycle_page.report
                return lambda: _page(packed)
        return None

    def _all_cycles(self, own: list[CycleRow]) -> str:
        """Our rows and those of other instances; what another one has ended is not unfinished."""
        kept, problem = (None, "") if self._read_kept is None else self._read_kept()
        others = [] if kept is None else [CycleRow(record.cycle) for record in kept.log.records]
        ended = {_identity(row.cycle) for row in others}
        ours = [
            row
            for row in own
            if row.cycle.verdict != "unfinished" or _identity(row.cycle) not in ended
        ]
        own_starts = {_identity(row.cycle) for row in ours}
        rows = [*ours, *(row for row in others if _identity(row.cycle) not in own_starts)]
        rows.sort(key=lambda row: row.cycle.started, reverse=True)
        notes = [f"Cycles of other instances cannot be read: {problem}."] if problem else []
        return render_cycles_page(rows, notes)


def _identity(cycle: PastCycle) -> datetime:
    """The second in which it began: one instance runs cycles at a time."""
    return cycle.started.replace(microsecond=0)


def _page(packed: bytes) -> bytes:
    report = _decoder.decode(zlib.decompress(packed))
    return render_page(report, earlier=PATH).encode()


def _link(cycle_page: _Kept) -> str:
    return f"{PATH}/{cycle_page.number}"
