"""What the last cycles leave in the cluster for people: a record of each, and the last report."""

from datetime import datetime
from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc
from rescheduler.model.moves.plan import Report
from rescheduler.model.trails.trail_history import PastCycle

SCHEMA_VERSION = 1
MOST_CYCLES = 20
"""Records that are kept, the newest first."""


class CycleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle."""

    cycle: Annotated[PastCycle, doc("The cycle; its code and message say why it evicted nothing.")]
    instance: Annotated[str, doc("The process that ran it.")]
    next: Annotated[
        datetime | None, doc("When that process runs the next one; null where it runs one only.")
    ] = None


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
