"""Stopping on a signal or a deadline, and the end of a process that does not stop in time.

All have a few seconds to end in order. Then the process is ended, wherever it is: each
intent is durable before it takes effect, so this is no worse than a crash.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import FrameType

GRACE = 3.5
"""Seconds from a signal to the end of the process at the latest."""
LAST_WORDS = 0.5
"""Seconds in which it may say what it was at."""

Handler = Callable[[int, FrameType | None], object]

_WORK = (
    ("acting", "carrying out moves"),
    ("sources", "reading the cluster or its metrics"),
    ("planning", "planning"),
    ("reporting", "writing the report"),
    ("actions", "reading or writing the lock or the state"),
)
"""Parts of the program to what they do; the first that runs tells."""


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
        """Sleep so long, or answer True as soon as we are stopped."""
        return self._event.wait(seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep so long, or until we are stopped."""
        self._event.wait(seconds)

    def reason_within(self, deadline: timedelta) -> Callable[[], str]:
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

        _handle(handle, handle)


def end_on_signals() -> None:
    """End on SIGTERM as on Ctrl-C, for what may be left at any point, as all that only reads.

    The kernel drops a signal that the first process of a container has no handler for.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    _handle(leave, signal.default_int_handler)


def _handle(term: Handler, interrupt: Handler) -> None:
    """Install these, beside a thread that ends the process where they do not bring it about.

    Python runs handlers in the main thread and only between two of its own steps, so that a main
    thread in, say, getaddrinfo never comes to them. The number of a signal is written by the
    signal itself, whatever the main thread does.
    """
    signal.signal(signal.SIGTERM, term)
    signal.signal(signal.SIGINT, interrupt)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.detach(), warn_on_full_buffer=False)
    if before >= 0:
        os.close(before)  # which ends the thread that listened there
    threading.Thread(target=_watch, args=(ours,), daemon=True, name="stopping").start()


def _watch(signals: socket.socket) -> None:
    with signals:
        number = 0
        while number not in (signal.SIGTERM, signal.SIGINT):
            received = signals.recv(1)
            if not received:
                return
            number = received[0]
        time.sleep(GRACE)
        # Neither a full pipe nor a lock that the main thread holds may keep us.
        last_words = threading.Thread(target=_say_what_is_cut_off, args=(number,), daemon=True)
        last_words.start()
        last_words.join(LAST_WORDS)
        os._exit(128 + number)


def _say_what_is_cut_off(number: int) -> None:
    for handler in logging.getLogger().handlers:
        handler.flush()
    name = signal.Signals(number).name
    sys.stderr.write(
        f"error: {name} was received, and {GRACE:g} s later this was not done: "
        f"{_current_work()}; it was "
        "cut off\n  Maybe a server does not answer. What was requested is in the state, and the "
        "next cycle goes on from it.\n"
    )
    sys.stderr.flush()


def _current_work() -> str:
    """What the threads of this process are at, in words."""
    files: set[str] = set()
    for frame in sys._current_frames().values():  # noqa: SLF001 - documented, for debuggers
        at: FrameType | None = frame
        while at is not None:
            files.add(at.f_code.co_filename.replace(os.sep, "/"))
            at = at.f_back
    for part, words in _WORK:
        if any(f"/rescheduler/{part}/" in file for file in files):
            return words
    return "the end of the program"
