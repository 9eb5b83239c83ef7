"""What ends a run before its plan was carried out."""

from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG


class Halted(Exception):
    """Nothing more may be sent in this run; the verdict says why."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.verdict = problem(code, detail)


def problem(code: str, detail: str = "") -> Problem:
    """A reason code with its sentence and what it was in this case."""
    return Problem(code=code, message=f"{CATALOG[code].sentence} {detail}".strip())
