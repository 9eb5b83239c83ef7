"""What was read of a cluster for its status, before anything is concluded from it."""

from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.model.kept_cycles import KeptCycles
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan, plan_in
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import LockView
from rescheduler.policies.limits import Limits


@dataclass(frozen=True)
class CronFacts:
    """The CronJob that runs cycles. due: its first time after the last cycle; next: after now."""

    schedule: str
    suspended: bool
    due: datetime | None
    next: datetime | None


@dataclass(frozen=True)
class StatusFacts:
    """What was read.

    now: the API server's time. installed: whether there is a state. lock: None where it may not be
    read.
    doubt: why the state cannot be believed, or "". kept: None where no cycles are kept.
    limits: None where no policies are known. wanted, unsteered: the means of steering that policies
    want, and what is not set up of them; None where no policies are known. notes: what could not be
    read.
    """

    now: datetime
    cluster: str
    paused: bool
    installed: bool
    lock: LockView | None
    history: History
    doubt: str
    kept: KeptCycles | None
    cron: CronFacts | None = None
    limits: Limits | None = None
    wanted: tuple[str, ...] | None = None
    unsteered: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def kept_plan(self) -> Plan | None:
        """The plan of the kept report."""
        report = None if self.kept is None else self.kept.report
        return None if report is None else plan_in(report)
