"""Fields that limit moves: what counts together, in which window, with which reason code.

A row is the metadata of the field that has its number:

    movesPerNode: Annotated[Amount, MoveLimit(PerNode(), CYCLE, "PAC002")] = 1

Planning, acting, `check`, `explain`, the JSON Schema and the documentation read the rows, and name
no limit themselves.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from rescheduler.documents.envelope import Document
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.reasons import ReasonCode, register
from rescheduler.policies.move_scopes import Overall, Scope


@dataclass(frozen=True, slots=True)
class Window:
    """How long a move counts.

    span: None is the `cyclePeriod` of the Limits; there the moves of the plan that is being carried
    out count too, however long it takes. text: in documents. reached: what a refusal means, before
    the name of the field.
    """

    name: str
    span: timedelta | None
    text: str
    reached: str


CYCLE = Window(
    "cycle",
    None,
    "in one cycle",
    "Limit reached: moves in the last `cyclePeriod` and in this plan",
)
HOUR = Window(
    "hour",
    timedelta(hours=1),
    "in one hour, across cycles",
    "Limit reached: moves in the last hour",
)
DAY = Window(
    "day",
    timedelta(hours=24),
    "in 24 hours, across cycles",
    "Limit reached: moves in the last 24 hours",
)
WINDOWS = (CYCLE, HOUR, DAY)
"""From the shortest to the longest."""


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """A limit on moves: how many count together, within which window, with which reason code.

    field: the field of the Limits that says how many; the class that has it fills it in.
    """

    per: Scope
    within: Window
    code: str
    field: str = ""

    @property
    def overall(self) -> bool:
        """Whether it counts all moves, whatever the pod."""
        return isinstance(self.per, Overall)

    @property
    def description(self) -> str:
        """The field in the documentation."""
        return f"Moves{self.per.per} {self.within.text}; a percentage is of {self.per.pods}."

    @property
    def reason(self) -> ReasonCode:
        """The reason code in the catalogue."""
        return ReasonCode(
            self.code,
            f"{self.within.reached} (`{self.field}`).",
            f"A later cycle goes on; or raise `{self.field}`.",
            check=re.sub("[A-Z]", lambda letter: f" {letter[0].lower()}", self.field),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The description, so that schema and documentation say what is counted."""
        return {**handler(schema), "description": self.description}


class MoveLimitFields(Document):
    """A document with limits on moves: each field with a `MoveLimit` is one."""

    move_limits: ClassVar[tuple[MoveLimit, ...]] = ()
    """In the order in which they are checked: those on all moves first, then as the fields come."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Read the rows from the fields, and add their reason codes to the catalogue."""
        super().__pydantic_init_subclass__(**kwargs)
        rows = [
            replace(row, field=name)
            for name, field in cls.model_fields.items()
            for row in field.metadata
            if isinstance(row, MoveLimit)
        ]
        cls.move_limits = tuple(sorted(rows, key=lambda row: not row.overall))
        for row in cls.move_limits:
            register(row.reason)

    def amount(self, row: MoveLimit) -> int | str:
        """How many moves the limit allows: a number, or a percentage such as `10%`."""
        amount: int | str = getattr(self, row.field)
        return amount

    def groups_to_note(self, move: PlannedMove, snapshot: Snapshot) -> dict[str, str]:
        """What an intent notes of the move so that the limits can count it."""
        scopes = dict.fromkeys(row.per for row in self.move_limits if row.per.noted_as)
        return {scope.noted_as: scope.of_move(move, snapshot) for scope in scopes}

    def contradictions(self) -> Iterator[tuple[MoveLimit, MoveLimit]]:
        """Limits with one scope where the shorter window allows more than the longer one."""
        for scope in dict.fromkeys(row.per for row in self.move_limits):
            rows = [row for row in self.move_limits if row.per == scope]
            rows.sort(key=lambda row: WINDOWS.index(row.within))
            for short, long in pairwise(rows):
                less, more = self.amount(short), self.amount(long)
                if isinstance(less, str) == isinstance(more, str) and _share(less) > _share(more):
                    yield short, long


def _share(amount: int | str) -> float:
    """A number or a percentage, to be compared with one of its kind."""
    return float(amount.removesuffix("%")) if isinstance(amount, str) else amount
