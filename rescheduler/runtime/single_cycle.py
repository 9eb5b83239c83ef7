"""Runs one cycle and ends: for a CronJob or a person."""

import time
from datetime import UTC, datetime

from rescheduler.model.errors import ReschedulerError
from rescheduler.model.moves.plan import Report
from rescheduler.runtime.cycle import Parts, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.live_actor import LockAndLedger
from rescheduler.runtime.notifications.notifier import Notifier
from rescheduler.runtime.parts import connection_of, parts_of, policies_of, state_of
from rescheduler.runtime.report_keeping import keeper_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.client import Connection

_LAST_MESSAGES = 30.0
"""Seconds that messages about the cycle may take, once nothing else is to be done."""


def run_once(settings: Settings) -> tuple[Report, int]:
    """Run one cycle in the settings' mode; answers its plan or outcome, and the exit code.

    Raises:
        ReschedulerError: there is neither.
    """
    policies = policies_of(settings)
    connection = connection_of(settings)
    stop = Stop()
    state = None
    if settings.mode == "Enforce" and connection is not None:
        state = state_of(connection, stop)
        stop.on_signals()
    notifier = Notifier(settings.notification_files)
    parts = parts_of(
        settings,
        connection,
        state=state,
        stop=stop,
        policies=notifier.keep_receivers(lambda: policies),
        remembers=True,
    )
    report = _kept_cycle(settings, connection, state, parts)
    notifier.notify(report)
    notifier.close(_LAST_MESSAGES, stop.reason)
    return report, exit_code(report)


def _kept_cycle(
    settings: Settings, connection: Connection | None, state: LockAndLedger | None, parts: Parts
) -> Report:
    """Run the cycle, and keep what it ends with in the cluster."""
    if connection is None:
        return run_cycle(parts, seed=settings.seed)
    keeper = keeper_of(connection, state)
    started, began = datetime.now(UTC), time.monotonic()
    try:
        report = run_cycle(parts, seed=settings.seed)
    except ReschedulerError as error:
        keeper.keep_failure(error.message, started, time.monotonic() - began, mode=settings.mode)
        raise
    keeper.keep_report(report, started, time.monotonic() - began)
    return report
