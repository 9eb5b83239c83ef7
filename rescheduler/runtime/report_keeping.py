"""Keeps the last report and the last cycles in the cluster, for `rescheduler status`.

Nothing depends on it: what cannot be kept is logged, and the cycle is as good as it was.
"""

import secrets
import socket
from collections.abc import Callable
from datetime import datetime

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.report_store import ReportStore
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.errors import ActionError
from rescheduler.model.kept_cycles import CycleRecord
from rescheduler.model.moves.plan import Mode, Outcome, Report
from rescheduler.model.trails.trail_history import PastCycle
from rescheduler.runtime.ended_cycle import ended_cycle, failed_cycle
from rescheduler.runtime.live_actor import NAMESPACE, LockAndLedger
from rescheduler.runtime.logs import logger
from rescheduler.sources.kubernetes.client import Connection

LAST_REPORT = "rescheduler-last-report"
"""The ConfigMap, which the component `remembering` of deploy/ brings."""
_OTHER_HOLDS_THE_LOCK = "GRD005"


def report_store(connection: Connection) -> ReportStore:
    """Where the last report is kept; the ConfigMap is never created."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    store = StoredObject(
        connection.api, path, LAST_REPORT, clock=ServerClock(), makes_namespace=False
    )
    return ReportStore(store, where=f"{NAMESPACE}/{LAST_REPORT}")


class ReportKeeper:
    """Keeps what this process's cycles end with."""

    def __init__(self, store: ReportStore, instance: str) -> None:
        """instance: which process this is."""
        self._store = store
        self._instance = instance
        self.next_at: Callable[[], datetime | None] = lambda: None
        """When this process begins its next cycle; None where it runs one, or does not know."""

    def keep_report(self, report: Report, started: datetime, seconds: float) -> None:
        """A cycle has ended with this report."""
        # While another instance holds the lock, its report is the one to look at.
        other = isinstance(report, Outcome) and report.verdict.code == _OTHER_HOLDS_THE_LOCK
        row = ended_cycle(report, started, seconds)
        self._keep(row, None if other else report)

    def keep_failure(self, message: str, started: datetime, seconds: float, *, mode: Mode) -> None:
        """A cycle has ended without a report."""
        self._keep(failed_cycle(message, started, seconds, mode=mode), None)

    def _keep(self, row: PastCycle, report: Report | None) -> None:
        record = CycleRecord(cycle=row, instance=self._instance, next=self.next_at())
        try:
            self._store.keep(record, report)
        except ActionError as error:
            logger().warning("the last report is not kept", error=error.message, hint=error.hint)


def keeper_of(connection: Connection, state: LockAndLedger | None) -> ReportKeeper:
    """What keeps the reports of this process in the cluster, under the name that its lock has."""
    own = f"{socket.gethostname()}_{secrets.token_hex(4)}"
    return ReportKeeper(report_store(connection), own if state is None else state.lease.identity)
