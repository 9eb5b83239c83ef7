"""What an extender shows of itself is what it goes by, as soon as that changes."""

import queue
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np

from rescheduler.actions.steering.extender_lease import ExtenderLease
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender.extender_answers import Answers, known_of
from rescheduler.runtime.servers.extender.lease_writer import Showing
from rescheduler.runtime.servers.open_entries import OpenEntries

KNOWN = known_of(Advice(["n1"], {}, np.zeros((0, 1), dtype=np.uint8)), {"n1": "n1"})


class Shown:
    """In place of the Lease: the versions that were written, in their order."""

    def __init__(self) -> None:
        self.versions: queue.Queue[str] = queue.Queue()

    def show(self, version: str, *_: Any) -> str:
        self.versions.put(version)
        return ""

    def next(self) -> str:
        """The next one, which must come long before the ten seconds of the thread are over."""
        return self.versions.get(timeout=8)


def test_that_there_is_data_or_none_any_more_shows_at_once() -> None:
    def now() -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    shown, entries = Shown(), OpenEntries(now)
    showing = Showing(cast("ExtenderLease", shown), entries, Answers(entries, now), "extender-0")
    entries.replace([], "7")
    showing.start()
    try:
        assert shown.next() == ""
        showing.know(KNOWN)
        assert shown.next() == "7"
        showing.know(None)
        assert shown.next() == ""
    finally:
        showing.stop()
