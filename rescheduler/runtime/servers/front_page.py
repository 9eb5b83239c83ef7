"""The page of the service at `/`: its last report, or what it waits for and the kept report.

It is there from the first second, and on an instance that stands by too.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rescheduler.model.errors import ActionError
from rescheduler.model.kept_cycles import KeptCycles
from rescheduler.model.moves.plan import Report, plan_in
from rescheduler.reporting.formats.page import render_page
from rescheduler.reporting.formats.section_page import render_section
from rescheduler.reporting.history.history_page import CycleRow, render_waiting_page
from rescheduler.reporting.phrasing import stamp
from rescheduler.runtime.servers.past_cycles import PATH

_EVERY = 10.0
"""Seconds for which what was read counts: who reloads the page does not ask the API server."""


@dataclass(frozen=True)
class Standing:
    """What an instance of the service does now. leads: whether it runs the cycles."""

    leads: bool
    sentences: tuple[str, ...]


class KeptReports:
    """The report and the cycles that are kept in the cluster, read once in a while."""

    def __init__(
        self,
        read_kept: Callable[[], KeptCycles | None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """read_kept: asks the API server, and may raise ActionError; nothing is read yet."""
        self._read_kept = read_kept
        self._steady = steady
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._answer: tuple[KeptCycles | None, str] = (None, "")

    def read(self) -> tuple[KeptCycles | None, str]:
        """What is kept, None where nothing is; and why that is not known."""
        with self._lock:
            if self._read_at is None or self._steady() - self._read_at >= _EVERY:
                try:
                    self._answer = (self._read_kept(), "")
                except ActionError as error:
                    self._answer = (None, error.message)
                self._read_at = self._steady()
            return self._answer


class FrontPage:
    """Makes the page from what this instance does and has."""

    def __init__(
        self,
        standing: Callable[[], Standing],
        last: Callable[[], Report | None],
        kept: KeptReports | None = None,
    ) -> None:
        """last: the newest plan or outcome of this instance. kept: None where nothing is kept."""
        self._standing, self._last, self._kept = standing, last, kept

    def render(self) -> bytes:
        """The page as HTML; of an instance that leads its own report, else that of the leader."""
        standing, own = self._standing(), self._last()
        if own is not None and standing.leads:
            return render_page(own, earlier=PATH).encode()
        kept, problem = self._read_kept()
        sentences = [*standing.sentences]
        if problem:
            sentences.append(f"The report that is kept in the cluster cannot be read: {problem}.")
        report = own if kept is None or kept.report is None else kept.report
        if report is None:
            rows = [] if kept is None else [CycleRow(record.cycle) for record in kept.log.records]
            sentences.append("There is no report yet.")
            return render_waiting_page(rows, sentences).encode()
        where = "of this instance" if report is own else "that is kept in the cluster"
        taken = stamp(plan_in(report).taken)
        sentences.append(f"Below is the last report {where}, of {taken}.")
        return render_page(report, earlier=PATH, standing=sentences).encode()

    def render_section(self, namespace: str) -> bytes:
        """What the same report says of the pods of one namespace, and nothing of any other."""
        own = self._last()
        kept = None if own is not None and self._standing().leads else self._read_kept()[0]
        report = own if kept is None or kept.report is None else kept.report
        return render_section(report, namespace).encode()

    def _read_kept(self) -> tuple[KeptCycles | None, str]:
        return (None, "") if self._kept is None else self._kept.read()
