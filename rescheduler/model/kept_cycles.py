"""What the last cycles leave in the cluster for people: a record of each, and the last report."""

from datetime import datetime

import msgspec

from rescheduler.model.moves.plan import Report
from rescheduler.model.trails.trail_history import PastCycle

SCHEMA_VERSION = 1
MOST_CYCLES = 20
"""Records that are kept, the newest first."""


class CycleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle. code, message of the cycle: why it evicted nothing, "" where it did.

    instance: which process ran it. next: when that process runs the next one, where it knows that.
    """

    cycle: PastCycle
    instance: str
    next: datetime | None = None


class CycleLog(msgspec.Struct, frozen=True, kw_only=True):
    """The records of the last cycles, the newest first.

    omitted: why the last report is not kept beside them; "" where it is, or none was made.
    """

    schemaVersion: int = SCHEMA_VERSION
    omitted: str = ""
    records: list[CycleRecord] = []


class KeptCycles(msgspec.Struct, frozen=True, kw_only=True):
    """The records, and the last report where one is kept."""

    log: CycleLog = CycleLog()
    report: Report | None = None
