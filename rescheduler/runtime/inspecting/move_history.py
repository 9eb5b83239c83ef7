"""Reads an audit trail back: checks that its records follow on each other, and sums them up."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rescheduler import __version__
from rescheduler.model.errors import SettingsError, TrailUnreadable
from rescheduler.model.trails.trail import read_record
from rescheduler.model.trails.trail_chain import TrailChain
from rescheduler.model.trails.trail_history import Integrity, PastCycle, TrailHistory
from rescheduler.model.wording import count_text
from rescheduler.reporting.history.summary import Summary
from rescheduler.runtime.logs import logger
from rescheduler.runtime.settings import Settings
from rescheduler.sources.output_file import is_stdout
from rescheduler.sources.trail_reader import read_lines


def move_history(settings: Settings) -> TrailHistory:
    """The history in the audit trail of the settings.

    Raises:
        SettingsError: no trail was named. TrailUnreadable: there is none.
    """
    if settings.audit_trail is None:
        raise SettingsError(
            "no audit trail was given",
            "add --audit-trail PATH, or --audit-trail - to read `kubectl logs`.",
        )
    since = settings.since
    if isinstance(since, timedelta):
        since = datetime.now(UTC) - since
    return history_of(settings.audit_trail, since)


def earlier_cycles(settings: Settings) -> list[PastCycle]:
    """The cycles in the newest files of the audit trail, the newest first; none without files.

    That the trail is broken or cannot be read is logged: writing it is what must not fail.
    """
    path = settings.audit_trail
    if path is None or is_stdout(Path(path)):
        return []
    try:
        history = history_of(path, None, newest=2)
    except TrailUnreadable as error:
        logger().info("no earlier cycles are shown", reason=error.message)
        return []
    for problem in history.integrity.problems:
        logger().error("the audit trail is broken", problem=problem)
    return history.cycles


def history_of(path: str, since: datetime | None, newest: int = 0) -> TrailHistory:
    """The history in the trail at that path.

    since: what began earlier is left out. newest: so many of its files, the newest; 0 is all.

    Raises:
        TrailUnreadable: there is no trail, or no line of what there is belongs to one: that nothing
            was evicted would then be no more than a guess.
    """
    chain, summary = TrailChain(), Summary(since)
    unknown: set[str] = set()
    count = 0
    for line in read_lines(path, newest):
        count += 1
        entry = chain.add(line.data, line.file, line.number)
        if entry is None:
            continue
        record = read_record(entry)
        if record is None:
            unknown.add(f"{line.file}:{line.number}: a record that this version does not know")
            continue
        summary.add(entry, record)
    chain.finish()
    source = "standard input" if path == "-" else path
    if not chain.records and not chain.warnings and (count or path == "-"):
        held = f"none of its {count_text(count, 'line')} is one" if count else "it is empty"
        raise TrailUnreadable(
            f"{source} has no record of an audit trail: {held}",
            "another file is meant, or the run that wrote it had no --audit-trail.",
        )
    integrity = Integrity(
        records=chain.records,
        broken=chain.broken,
        problems=chain.problems,
        warnings=[*chain.warnings, *sorted(unknown)[:3]],
        lastHash=chain.last,
    )
    return summary.history(integrity, tool=f"rescheduler {__version__}", source=source)
