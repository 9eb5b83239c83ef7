"""Notices: what people are told outside of the cluster, apart from how and to whom."""

from datetime import datetime
from typing import Literal

import msgspec

Occasion = Literal["PlanAwaitsReview", "MovesMade", "Hold", "Demotion", "IdleOwners"]
"""What a notice may be about."""

STATES: frozenset[Occasion] = frozenset({"PlanAwaitsReview", "Hold", "Demotion"})
"""Occasions that last until a cycle does not have them any more; the others are events."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One message about one cycle.

    subject: what it is about; a notice of the same occasion and subject says the same again.
    code: a reason code, or "". plan: the plan's id. cluster: its name, or its UID.
    """

    occasion: Occasion
    subject: str
    title: str
    lines: tuple[str, ...] = ()
    warning: bool = False
    code: str = ""
    plan: str = ""
    cluster: str = ""
    at: datetime
