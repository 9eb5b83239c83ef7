"""How often a receiver gets a message: the same not again too soon, and only so many in an hour."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from rescheduler.model.notice import STATES, Notice, Occasion
from rescheduler.policies.notifications import Receiver

_HOUR = 3600.0

Decision = Literal["send", "same", "limited"]


@dataclass(slots=True)
class _Contact:
    """What one receiver has got about one occasion.

    tried: when messages were sent, or were to be. subject, at: of the last one that was taken.
    limited: the subject of the last one that was left out. omitted: how many were since then.
    """

    tried: list[float] = field(default_factory=list)
    subject: str | None = None
    at: float = 0.0
    limited: str | None = None
    omitted: int = 0
    open: Notice | None = None


class NoticeLimits:
    """Decides what is sent; kept in memory, so a new process begins afresh."""

    def __init__(self) -> None:
        self._contacts: dict[tuple[str, Occasion], _Contact] = defaultdict(_Contact)

    def decide(self, receiver: Receiver, notice: Notice, now: float) -> Decision:
        """Whether the notice is to be sent. now: seconds of a steady clock."""
        contact = self._contacts[receiver.name, notice.occasion]
        fresh = now - contact.at < receiver.repeatAfter.total_seconds()
        if contact.subject == notice.subject and fresh:
            return "same"
        contact.tried = [at for at in contact.tried if now - at < _HOUR]
        if len(contact.tried) >= receiver.perHour:
            if contact.limited == notice.subject:
                return "same"
            contact.limited = notice.subject
            contact.omitted += 1
            return "limited"
        contact.tried.append(now)
        return "send"

    def count_omitted(self, receiver: Receiver, notice: Notice) -> int:
        """How many notices of this occasion were left out since the last that was taken."""
        return self._contacts[receiver.name, notice.occasion].omitted

    def accept(self, receiver: Receiver, notice: Notice, now: float) -> None:
        """The receiver has taken the notice."""
        contact = self._contacts[receiver.name, notice.occasion]
        contact.subject, contact.at = notice.subject, now
        contact.limited, contact.omitted = None, 0
        contact.open = notice if notice.occasion in STATES else None

    def end_states(self, receiver: Receiver, current: set[Occasion]) -> list[Notice]:
        """Forget the states that a cycle does not have any more; answers what was sent of them."""
        ended = []
        for occasion in STATES - current:
            contact = self._contacts[receiver.name, occasion]
            if contact.open is not None:
                ended.append(contact.open)
            contact.open, contact.subject, contact.limited = None, None, None
        return sorted(ended, key=lambda notice: notice.occasion)
