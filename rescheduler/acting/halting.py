"""What ends a run before its plan was carried out."""

from rescheduler.model.reasons import problem


class Halted(Exception):
    """Nothing more may be sent in this run; the verdict says why."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail)
        self.verdict = problem(code, detail)
