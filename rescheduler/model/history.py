"""History: the moves of the past day, which budgets, cool-downs and load corrections follow from.

It is the content of the durable ledger. Nothing else is remembered between cycles: what can be
derived from these entries (charges, cool-downs, boomerangs) is never stored beside them.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

State = Literal[
    "intended",  # written before the request was sent; the outcome is not known
    "refused",  # the API server said no; nothing was evicted
    "evicted",  # the API server said yes; no Ready replacement yet
    "ready",  # the replacement is Ready
    "lost",  # evicted, and no Ready replacement came in time
]


class PastMove(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One move that was at least intended.

    usage: what the pod used when the move was planned, by reading name, in the pods' unit.
    landing: the predicted probability of each node.
    at: when the intent was written. settled: when the state became ready, refused or lost.
    """

    plan: str
    podUid: str
    namespace: str
    pod: str
    workload: str
    """UID of the workload."""
    controller: str = ""
    """UID of the controller that makes the replacement."""
    controllerKind: str = ""
    source: str
    at: datetime
    state: State = "intended"
    fence: int = 0
    code: str = ""
    policies: list[str] = []
    landing: dict[str, float] = {}
    usage: dict[str, float] = {}
    siblings: list[str] = []
    """UIDs of pods of the controller made shortly before the intent: none is the replacement."""
    replacement: str = ""
    """UID of the replacement, once it is known."""
    landedOn: str = ""
    readySeconds: float | None = None
    settled: datetime | None = None

    @property
    def charged(self) -> bool:
        """Whether it counts against budgets: all but what the API server refused."""
        return self.state != "refused"

    @property
    def in_flight(self) -> bool:
        """Whether its replacement is still awaited or its outcome still unknown."""
        return self.state in ("intended", "evicted")

    @property
    def boomerang(self) -> bool:
        """Whether the replacement came back to the node that the pod had left."""
        return bool(self.landedOn) and self.landedOn == self.source


class History(msgspec.Struct, omit_defaults=True):
    """The moves of the past day, oldest first."""

    moves: list[PastMove] = []

    def charged_since(self, since: datetime) -> list[PastMove]:
        """The moves that count against a budget whose window began then."""
        return [move for move in self.moves if move.charged and move.at >= since]

    def in_flight(self, workload: str) -> int:
        """How many replacements of this workload (by UID) are still awaited."""
        return sum(move.workload == workload and move.in_flight for move in self.moves)

    def cool_until(self, workload: str, cool_down: timedelta, cap: timedelta) -> datetime | None:
        """Until when this workload must be left alone, or None if it was never moved.

        The cool-down doubles with each boomerang of the workload, up to the cap.
        """
        charged = [move for move in self.moves if move.charged and move.workload == workload]
        if not charged:
            return None
        boomerangs = sum(move.boomerang for move in charged)
        quiet = min(cool_down * 2.0**boomerangs, max(cap, cool_down))
        return max(move.at for move in charged) + quiet
