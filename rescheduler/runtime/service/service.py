"""The service: cycles on a schedule, until it is stopped.

In Enforce mode only the holder of the lock runs cycles; the others stand by and take over. Audit
needs no lock, since it changes nothing but what it remembers.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, SchedulerEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.interval import IntervalTrigger

from rescheduler.model.errors import (
    ActionError,
    ClocksDiffer,
    LedgerUnreadable,
    LockHeld,
    SettingsError,
)
from rescheduler.model.moves.plan import Report
from rescheduler.runtime.cycle import Parts
from rescheduler.runtime.inspecting.move_history import earlier_cycles
from rescheduler.runtime.live_actor import LockAndLedger
from rescheduler.runtime.logs import logger
from rescheduler.runtime.notifications.notifier import Notifier
from rescheduler.runtime.page_access import page_access
from rescheduler.runtime.parts import connection_of, parts_of, policies_of, state_of
from rescheduler.runtime.report_keeping import ReportKeeper, keeper_of, report_store
from rescheduler.runtime.servers.front_page import FrontPage, KeptReports, Standing
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.server import Endpoints, pages
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.service.cron import Cron, parse_cron
from rescheduler.runtime.service.cycles import ServiceCycles
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop

_LOCK_CHECK = 1.0
"""Seconds between two checks whether the lock is still ours."""
_PAUSE = 10.0
"""Seconds before the lock is tried again after a fault."""
_LAST_MESSAGES = 1.0
"""Seconds that messages about the last cycle may take at the end."""


class _CronTrigger(BaseTrigger):  # type: ignore[misc]
    """Lets APScheduler fire when our own reading of the expression matches."""

    def __init__(self, cron: Cron) -> None:
        self._cron = cron

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """The next firing; after the previous one, so that what was missed is not lost."""
        return self._cron.next_after(previous or now)


def serve(settings: Settings, report: Callable[[Report], None]) -> int:
    """Run cycles until SIGTERM or SIGINT; answers the exit code.

    report: gets each plan or outcome.

    Raises:
        ReschedulerError: it cannot be started with these settings.
    """
    stop = Stop()
    telemetry = Telemetry(settings.mode)
    trigger = trigger_of(settings)
    policies_of(settings)  # what is wrong with them must show at once, not in the first cycle
    connection = connection_of(settings)
    state = None
    if settings.mode == "Enforce" and connection is not None:
        state = state_of(connection, stop)
    notifier = Notifier(settings.notification_files, telemetry.count_notification)
    parts = parts_of(
        settings,
        connection,
        state=state,
        stop=stop,
        phase=telemetry.time_phase,
        policies=notifier.keep_receivers(lambda: policies_of(settings)),
        remembers=True,
    )

    def report_and_notify(made: Report) -> None:
        notifier.notify(made)
        report(made)

    keeper = None if connection is None else keeper_of(connection, state)
    service = Service(
        settings,
        parts,
        trigger,
        stop,
        telemetry,
        report=report_and_notify,
        state=state,
        keeper=keeper,
    )
    kept = None if connection is None else KeptReports(report_store(connection).read)
    if kept is not None:
        service.cycles.past.read_others(kept.read)
    front = FrontPage(service.describe_standing, lambda: service.cycles.last, kept)
    endpoints = Endpoints(
        settings.listen,
        pages(service.health, telemetry, front, service.cycles.past),
        page_access(settings, connection),
    )
    stop.on_signals()
    endpoints.start()
    service.cycles.past.remember(earlier_cycles(settings))
    logger().info("started", mode=settings.mode, port=endpoints.port)
    try:
        return service.run()
    finally:
        notifier.close(_LAST_MESSAGES)
        endpoints.stop()


def trigger_of(settings: Settings) -> BaseTrigger:
    """When cycles run.

    Raises:
        SettingsError: the schedule cannot be used.
    """
    if settings.cron is not None:
        return _CronTrigger(parse_cron(settings.cron, settings.time_zone))
    if settings.every is None:
        raise SettingsError("no schedule was given", "add --every or --cron.")
    return IntervalTrigger(seconds=settings.every.total_seconds(), timezone=UTC)


class Service:
    """Runs cycles while it may.

    state: the lock and the ledger in Enforce mode; None in Audit. keeper: keeps its reports in the
    cluster.
    """

    def __init__(  # noqa: PLR0913 - who is told of its cycles
        self,
        settings: Settings,
        parts: Parts,
        trigger: BaseTrigger,
        stop: Stop,
        telemetry: Telemetry,
        *,
        report: Callable[[Report], None],
        state: LockAndLedger | None = None,
        keeper: ReportKeeper | None = None,
    ) -> None:
        self.health = CycleHealth(settings.cycle_deadline)
        self.cycles = ServiceCycles(
            parts,
            settings,
            telemetry,
            self.health,
            report,
            fatal=self._fail,
            keeper=keeper,
        )
        if keeper is not None:
            keeper.next_at = self._next_at
        self._at_once = settings.every is not None
        self._trigger = trigger
        self._stop = stop
        self._telemetry = telemetry
        self._state = state
        self._mode = settings.mode
        self._code = 0
        if state is not None:
            self.health.lock_fault = lambda: state.lease.fault

    def describe_standing(self) -> Standing:
        """What this instance does now, in sentences."""
        leads = self.health.leads
        if self._state is None:
            first = f"This instance runs cycles in mode {self._mode}."
        elif leads:
            identity = self._state.lease.identity
            first = f"This instance, {identity}, holds the lock and runs cycles in mode Enforce."
        elif self._state.lease.fault:
            fault = self._state.lease.fault
            first = f"This instance waits for the lock, which cannot be used: {fault}."
        else:
            holder = self._state.lease.holder()
            first = "This instance waits for the lock."
            if holder:
                first = f"This instance stands by: {holder} holds the lock and runs the cycles."
        return Standing(leads, (first, *(self.health.progress() if leads else ())))

    def run(self) -> int:
        """Stand by and lead alternately, until stopped; the exit code."""
        while not self._stop.reason():
            try:
                self._take_lock()
            except LockHeld:
                continue  # stopped while waiting for it
            except ActionError as error:
                logger().error("the lock or the ledger cannot be used", error=str(error))
                self._stop.wait(_PAUSE)
                continue
            self._lead()
        logger().info("stopped", reason=self._stop.reason())
        return self._code

    def _take_lock(self) -> None:
        if self._state is None:
            return
        self.health.stand_by()
        self._telemetry.stand_by()
        logger().info("waiting for the lock")
        self._state.lease.acquire(forever=True)
        self._state.lease.start()
        try:
            self._state.ledger.open()
        except (LedgerUnreadable, ClocksDiffer) as error:
            # Its cycles try again, and report without acting as long as that is so.
            logger().error("nothing can be evicted", error=str(error))
        except BaseException as error:
            if isinstance(error, ActionError):
                self._state.lease.fault = error.message
            self._state.lease.release()
            raise

    def _lead(self) -> None:
        """Run cycles until stopped or until the lock is lost; then wait for the last one."""
        logger().info("running cycles")
        self.health.lead()
        self._telemetry.lead()
        scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(1)},
            # Late is better than never, once is enough, and two at a time are one too many.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        scheduler.add_listener(self._unrun, EVENT_JOB_MAX_INSTANCES | EVENT_JOB_MISSED)
        first: dict[str, Any] = {"next_run_time": datetime.now(UTC)} if self._at_once else {}
        self._job = scheduler.add_job(self._cycle, self._trigger, id="cycle", **first)
        scheduler.start()
        self._expect(self._job.next_run_time)
        try:
            while not self._stop.wait(_LOCK_CHECK):
                if self._state is not None and not self._state.lease.held:
                    logger().warning("the lock was lost", problem=self._state.lease.problem)
                    break
        finally:
            scheduler.shutdown(wait=True)
            self._telemetry.gauge("leading").set(0)
            if self._state is not None:
                self._state.lease.release()

    def _cycle(self) -> None:
        if self._state is None or self._state.lease.held:
            self.cycles.run()
        self._expect(self._job.next_run_time)

    def _next_at(self) -> datetime | None:
        at: datetime | None = self._job.next_run_time
        return at

    def _expect(self, at: datetime | None) -> None:
        self.health.expect(None if at is None else (at - datetime.now(UTC)).total_seconds())
        self._telemetry.expect_cycle(at)

    def _unrun(self, event: SchedulerEvent) -> None:
        verdict = "skipped" if event.code == EVENT_JOB_MAX_INSTANCES else "missed"
        logger().warning("a cycle did not run", verdict=verdict)
        self._telemetry.count_cycle(verdict)

    def _fail(self, reason: str) -> None:
        self._code = 1
        self._stop.request(reason)
