"""Health of the service's cycles, for liveness and readiness probes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

_GRACE = 60.0
"""Seconds that a cycle may start late or end late before the process counts as stuck."""


@dataclass(slots=True)
class CycleHealth:
    """The progress of the cycles, by a steady clock.

    deadline: how long a cycle may take.
    """

    deadline: timedelta
    now: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: float | None = None
    _due: float | None = None
    _finished: bool = False
    _problem: str = ""
    _standby: bool = False

    def expect(self, seconds: float | None) -> None:
        """The next cycle is due in so many seconds, or nobody knows when (None)."""
        with self._lock:
            self._due = None if seconds is None else self.now() + seconds

    def stand_by(self) -> None:
        """We wait for the lock; no cycle is due."""
        with self._lock:
            self._standby, self._due, self._began = True, None, None

    def lead(self) -> None:
        """The lock is ours, or none is needed."""
        with self._lock:
            self._standby = False

    def begin(self) -> None:
        """A cycle has begun."""
        with self._lock:
            self._began, self._due = self.now(), None

    def finish(self, problem: str = "") -> None:
        """A cycle has ended; problem: why it failed, "" if it did not."""
        with self._lock:
            self._began, self._finished, self._problem = None, True, problem

    def live(self) -> str:
        """Why the process should be restarted, or "" while the clockwork runs."""
        with self._lock:
            if self._began is not None:
                took, limit = self.now() - self._began, self.deadline.total_seconds() + _GRACE
                return f"a cycle has run for {took:.0f} s of {limit:.0f} s" if took > limit else ""
            if self._due is not None and self.now() - self._due > _GRACE:
                return f"a cycle is {self.now() - self._due:.0f} s overdue"
            return ""

    def ready(self) -> str:
        """What was wrong with the last cycle, or "" if it was good or we stand by."""
        with self._lock:
            if self._standby:
                return ""
            if not self._finished:
                waiting = self._began is None and self._due is not None and self.now() < self._due
                return "" if waiting else "no cycle has finished yet"
            return self._problem
