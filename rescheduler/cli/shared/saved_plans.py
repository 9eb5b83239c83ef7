"""Saved plans and outcomes, read back."""

from pathlib import Path

from rescheduler.model.errors import PlanUnreadable
from rescheduler.model.moves.plan import Report

_LIMIT = 1 << 30


def read_plan(path: Path) -> Report:
    """The plan or outcome in the file.

    Raises:
        PlanUnreadable: the file cannot be read, or is not a plan that this version knows.
        PlanEdited: the file was changed after it was written.
    """
    from rescheduler.reporting.formats.plan_json import from_json  # noqa: PLC0415 - keeps help quick

    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT)
    except OSError as error:
        raise PlanUnreadable(
            f"{path} cannot be read: {error.strerror}",
            "check the path: the file is what `rescheduler plan -o json --out FILE` wrote.",
        ) from error
    return from_json(data, path=str(path))
