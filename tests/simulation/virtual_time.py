"""Virtual time: events in their order, and the program's own clocks put on it.

The program itself is not changed: the modules that ask `time` or `datetime.now` are given this
clock instead, for as long as `installed()` lasts. Nothing sleeps.
"""

import heapq
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from types import ModuleType
from typing import Protocol

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
_PATCHED = ("rescheduler.runtime", "rescheduler.actions", "rescheduler.sources")


class Timeline:
    """The true time in seconds since `START`, and what is to happen."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._known = (0.0, START)
        """A moment that was asked for, in seconds and as a time: many ask before it passes."""
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def now(self) -> datetime:
        """The true time."""
        seconds, now = self._known
        if seconds != self.seconds:
            now = START + timedelta(seconds=self.seconds)
            self._known = (self.seconds, now)
        return now

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Let something happen then; of two at the same moment the first named goes first."""
        self._count += 1
        heapq.heappush(self._events, (moment, self._count, event))

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Let something happen so many seconds from now."""
        self.at(self.seconds + seconds, event)

    def advance(self, seconds: float) -> None:
        """Let time pass with all that happens in it."""
        until = self.seconds + seconds
        while self._events and self._events[0][0] <= until:
            moment, _, event = heapq.heappop(self._events)
            self.seconds = max(self.seconds, moment)
            event()
        self.seconds = max(self.seconds, until)


class Clocks(Protocol):
    """What a process sees of time."""

    def monotonic(self) -> float:
        """Its steady clock."""
        ...

    def wall(self) -> datetime:
        """Its host's wall clock, which may be wrong."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass for it."""
        ...


class _Current:
    """Whose clocks the program asks at the moment: processes run one at a time."""

    clocks: Clocks | None = None

    def get(self) -> Clocks:
        if self.clocks is None:
            raise AssertionError("the program asks for the time outside of a simulated process")
        return self.clocks


_CURRENT = _Current()


@contextmanager
def running(clocks: Clocks) -> Iterator[None]:
    """Run a process: from here to the end the program's clocks are its own."""
    before, _CURRENT.clocks = _CURRENT.clocks, clocks
    try:
        yield
    finally:
        _CURRENT.clocks = before


class _Time:
    """Stands for module `time`, where a process runs."""

    def monotonic(self) -> float:
        return _CURRENT.get().monotonic()

    perf_counter = monotonic

    def time(self) -> float:
        return _CURRENT.get().wall().timestamp()

    def sleep(self, seconds: float) -> None:
        _CURRENT.get().sleep(seconds)


class _Datetime(datetime):
    """Stands for class `datetime`, of which only `now` differs."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        wall = _CURRENT.get().wall()
        return wall if tz is UTC else wall.astimezone(tz)


@cache
def _asks_for_now(module: ModuleType) -> bool:
    return "datetime.now(" in inspect.getsource(module)


@contextmanager
def installed() -> Iterator[None]:
    """Put the program's clocks on virtual time."""
    undo = []
    for name, module in list(sys.modules.items()):
        if not name.startswith(_PATCHED) or module is None:
            continue
        if getattr(module, "time", None) is time:
            undo.append((module, "time", time))
            module.time = _Time()  # type: ignore[attr-defined]
        if _asks_for_now(module):
            undo.append((module, "datetime", datetime))
            module.datetime = _Datetime  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, attribute, value in undo:
            setattr(module, attribute, value)


__all__ = ["START", "Clocks", "Timeline", "installed", "running"]
