"""Writes the beginning and the end of a cycle to the audit trail, also if it breaks off."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from rescheduler import __version__
from rescheduler.acting.actor import Recorder
from rescheduler.acting.trail_records import end_records, record_all
from rescheduler.model.errors import ReschedulerError, TrailUnwritable
from rescheduler.model.moves.plan import Mode, Outcome, Report, plan_in
from rescheduler.model.moves.plan_digest import checksum
from rescheduler.model.reasons import problem
from rescheduler.model.trails.trail import CycleEnd, CycleStart, Verdict
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.exit_codes import exit_code

Reported = TypeVar("Reported", bound=Report)


def run_audited(
    record: Recorder,
    mode: Mode,
    load: Callable[[], PolicySet],
    run: Callable[[PolicySet], Reported],
    exit_code: Callable[[Reported], int],
) -> Reported:
    """Run a cycle whose beginning and end are in the audit trail.

    Where what was done could not be written, the outcome says so.

    Raises:
        TrailUnwritable: nothing was done. Any other: as `load` and `run` raise it.
    """
    tool = f"rescheduler {__version__}"
    try:
        policies = load()
    except ReschedulerError as error:
        record(CycleStart(mode=mode, tool=tool))
        _broken_off(record, error)
        raise
    record(CycleStart(mode=mode, tool=tool, policies=checksum(policies.digests)))
    try:
        report = run(policies)
    except Exception as error:
        _broken_off(record, error)
        raise
    try:
        code = exit_code(report)
        record_all(record, end_records(report, code, verdict_of(report, code)))
    except TrailUnwritable as error:
        if not isinstance(report, Outcome):
            raise
        before = report.verdict
        text = f"{error.message}. Before that: {before.code} {before.message}"
        return structs.replace(report, verdict=problem("ACT016", text))
    return report


def verdict_of(report: Report, code: int) -> Verdict:
    """How the cycle ended. code: the exit code of its report."""
    said = ""
    if isinstance(report, Outcome):
        said = report.verdict.code
        if exit_code(report) == 1:
            return "failed"
    if plan_in(report).guards or said.startswith("GRD"):
        return "held"
    if code:
        return "partly"
    return "done" if said else "planned"


def _broken_off(record: Recorder, error: Exception) -> None:
    """Write that the cycle broke off with this error, to which what cannot be written is added."""
    code = error.exit_code if isinstance(error, ReschedulerError) else 1
    message = error.message if isinstance(error, ReschedulerError) else f"{type(error).__name__}"
    verdict: Verdict = "held" if code == 0 else "failed"
    try:
        record(CycleEnd(verdict=verdict, exit=code, message=message))
    except TrailUnwritable as unwritten:
        if not isinstance(error, TrailUnwritable):
            raise TrailUnwritable(f"{message}; and {unwritten.message}", unwritten.hint) from error
