"""Health of the service's cycles, for liveness and readiness probes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from rescheduler.reporting.phrasing import age

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
    _problem: str = ""
    _leads: bool = False
    lock_fault: Callable[[], str] = str
    """Why the lock cannot be used, by who waits for it; "" while somebody holds it."""

    def expect(self, seconds: float | None) -> None:
        """The next cycle is due in so many seconds, or nobody knows when (None)."""
        with self._lock:
            self._due = None if seconds is None else self.now() + seconds

    def stand_by(self) -> None:
        """We wait for the lock; no cycle is due."""
        with self._lock:
            self._leads, self._due, self._began = False, None, None

    def lead(self) -> None:
        """The lock is ours, or none is needed."""
        with self._lock:
            self._leads = True

    def begin(self) -> None:
        """A cycle has begun."""
        with self._lock:
            self._began, self._due = self.now(), None

    def finish(self, problem: str = "") -> None:
        """A cycle has ended; problem: why it failed, "" if it did not."""
        with self._lock:
            self._began, self._problem = None, problem

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
        """Why we cannot work: what was wrong with the last cycle, or on a standby with the lock.

        Before its first cycle has ended nothing speaks against an instance.
        """
        with self._lock:
            return self._problem if self._leads else self.lock_fault()

    @property
    def leads(self) -> bool:
        """Whether this instance runs the cycles."""
        with self._lock:
            return self._leads

    def progress(self) -> list[str]:
        """How far the cycles of an instance that leads have come, in sentences."""
        with self._lock:
            answer = [f"The last cycle failed: {self._problem}."] if self._problem else []
            if self._began is not None:
                answer.append(f"A cycle has run for {age(self.now() - self._began)}.")
            elif self._due is not None:
                answer.append(f"The next cycle begins in {age(max(0.0, self._due - self.now()))}.")
            return answer
