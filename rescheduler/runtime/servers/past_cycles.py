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
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._number = 0

    def remember(self, cycles: list[PastCycle]) -> None:
        """Cycles of earlier processes, the newest first."""
        with self._lock:
            for cycle in reversed(cycles[:KEPT]):
                self._number += 1
                self._kept.append(_Kept(self._number, cycle))

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
            return lambda: render_cycles_page(rows).encode()
        for cycle_page in kept:
            if cycle_page.report and path == _link(cycle_page):
                packed = cycle_page.report
                return lambda: _page(packed)
        return None


def _page(packed: bytes) -> bytes:
    report = _decoder.decode(zlib.decompress(packed))
    return render_page(report, earlier=PATH).encode()


def _link(cycle_page: _Kept) -> str:
    return f"{PATH}/{cycle_page.number}"
