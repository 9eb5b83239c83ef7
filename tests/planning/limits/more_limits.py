"""Limits with rows of more scopes: by label of the node and of the pod."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from rescheduler.documents.amounts import Amount
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import CYCLE, HOUR, MoveLimit
from rescheduler.policies.move_scopes import PerNodeLabel, PerPodLabel

RACK, TEAM = "PAC901", "PAC902"


@contextmanager
def labelled_limits() -> Iterator[type[Limits]]:
    """Limits with two rows more. Their reason codes are in the catalogue meanwhile."""
    before = dict(CATALOG)

    class MoreLimits(Limits):
        movesPerRackAndHour: Annotated[Amount, MoveLimit(PerNodeLabel("rack"), HOUR, RACK)] = 1000
        movesPerTeam: Annotated[Amount, MoveLimit(PerPodLabel("team"), CYCLE, TEAM)] = 1000

    try:
        yield MoreLimits
    finally:
        CATALOG.clear()
        CATALOG.update(before)


WIDE: dict[str, Any] = {
    "movesPerCycle": 900,
    "movesPerNode": 900,
    "movesPerNamespace": 900,
    "movesPerWorkload": 900,
    "movesPerHour": 900,
    "movesPerDay": 900,
}
"""Numbers that no test reaches."""
