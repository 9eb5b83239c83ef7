"""Being asked to stop: by a signal, or because the time is up."""

import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import FrameType


class Stop:
    """Why nothing more may be begun. Shared by everything that waits."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._reason = ""

    def request(self, reason: str) -> None:
        """Stop; the first reason stands."""
        self._reason = self._reason or reason
        self._event.set()

    def reason(self) -> str:
        """Why to stop, or "" to go on."""
        return self._reason

    def wait(self, seconds: float) -> bool:
        """Sleep so long, or answer True as soon as we are asked to stop."""
        return self._event.wait(seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep so long, or until we are asked to stop."""
        self._event.wait(seconds)

    def within(self, deadline: timedelta) -> Callable[[], str]:
        """Like `reason`, and also a reason once so much time has passed from now."""
        until = time.monotonic() + deadline.total_seconds()

        def reason() -> str:
            if not self._reason and time.monotonic() >= until:
                return f"the cycle's deadline of {deadline.total_seconds():g} s has passed"
            return self._reason

        return reason

    def on_signals(self) -> None:
        """Stop on SIGTERM and SIGINT; a second SIGINT interrupts at once, as people expect."""

        def handle(number: int, _frame: FrameType | None) -> None:
            self.request(f"{signal.Signals(number).name} was received")
            signal.signal(signal.SIGINT, signal.default_int_handler)

        signal.signal(signal.SIGTERM, handle)
        signal.signal(signal.SIGINT, handle)
