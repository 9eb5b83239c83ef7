"""How one reading answers on a cluster: what `check` shows of it."""

import msgspec

from rescheduler.model.problem import Problem


class ReadingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A reading as it answered once. What is not known, as in a recording, is None.

    policies: who asks for it. own: whether an operator defines it. series: rows of all answers.
    expected, withValue: nodes or pods that ought to have a value, and those that have one. least,
    most: of the values, in `unit`. seconds, samples: what asking cost, and what the source read for
    it; several readings may share a query, which then counts for each. past: for how many the past
    is known that `stableFor` asks for. convention: which labels tell the nodes and pods of its
    series.
    """

    name: str
    subject: str
    policies: list[str]
    own: bool
    windowSeconds: float
    unit: str = ""
    query: str = ""
    series: int | None = None
    expected: int = 0
    withValue: int = 0
    coverage: float = 0.0
    ageSeconds: float | None = None
    least: float | None = None
    most: float | None = None
    queries: int | None = None
    seconds: float | None = None
    samples: int | None = None
    past: str = ""
    convention: str = ""
    notes: list[str] = []
    problem: Problem | None = None
