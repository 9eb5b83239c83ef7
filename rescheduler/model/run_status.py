"""The status: what runs, why nothing moves now, and what is left of each budget."""

from datetime import datetime

import msgspec

from rescheduler.model.kept_cycles import CycleRecord
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "1"


class LockView(msgspec.Struct, frozen=True, kw_only=True):
    """The lock. holder: "" where nobody has it. live: whether it has been renewed in time."""

    holder: str
    renewed: datetime | None
    expires: datetime | None
    live: bool


class SpentBudget(msgspec.Struct, frozen=True, kw_only=True):
    """One limit on moves as it is now.

    limit: the field of the Limits. window: cycle, hour or day. group: what is counted together, ""
    for all moves. amount: as the Limits have it. most, remaining: None for a percentage, which only
    a cycle can resolve. since: when the window began. free: when its oldest move leaves it.
    """

    limit: str
    window: str
    group: str
    amount: str
    used: int
    most: int | None
    remaining: int | None
    since: datetime
    free: datetime | None


class OpenMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move whose replacement is not Ready yet, or of which no answer has come."""

    namespace: str
    pod: str
    node: str
    landedOn: str
    state: str
    since: datetime
    plan: str
    policies: list[str]
    steered: bool


class ReportingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that only reports. until: None where it is for good, or the end is not known."""

    policy: str
    until: datetime | None
    code: str
    message: str


class ResetOffer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person can reset. command: to type. message: what it is, and since when."""

    command: str
    message: str


class SteeringView(msgspec.Struct, frozen=True, kw_only=True):
    """What steers. by: the means that policies want. live: None where that is not known."""

    by: list[str]
    live: bool | None
    problems: list[Problem]


class NextCycle(msgspec.Struct, frozen=True, kw_only=True):
    """When the next cycle begins. at: None where it is not known, and message says why.

    overdueSeconds: how long ago the one after the last cycle ought to have begun, if it has not.
    """

    at: datetime | None
    message: str
    overdueSeconds: float | None


class RunStatus(msgspec.Struct, frozen=True, kw_only=True, tag="Status", tag_field="kind"):
    """What runs in a cluster, as it is read now.

    mode: of the last cycle; "" where none is known. reasons: why nothing moves now, the first that
    holds first; empty where nothing holds evictions. plan: of the report that is kept, "" without
    one. notes: what could not be read.
    """

    schemaVersion: str = SCHEMA_VERSION
    tool: str
    taken: datetime
    cluster: str
    mode: str
    paused: bool
    reasons: list[Problem]
    lock: LockView | None
    next: NextCycle
    cycles: list[CycleRecord]
    budgets: list[SpentBudget]
    slowStartCycles: int
    moves: list[OpenMove]
    policies: list[ReportingPolicy]
    steering: SteeringView
    resets: list[ResetOffer]
    plan: str
    notes: list[str]
