"""Why a move is proposed, in words."""

from rescheduler.model.moves.move_reason import MoveReason, RequestChange
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text
from rescheduler.policies.terms import ROOM


def coded_text(reason: MoveReason) -> str:
    """The code and the words."""
    return f"{reason.code} {reason_text(reason)}"


def reason_text(reason: MoveReason) -> str:
    """The words; where nothing more is known, what the code means."""
    gain = f"({reason.policy} {reason.gain:+.2f}{_weight_text(reason.weight)})"
    if reason.finding:
        when = "once other moves of this plan are made, " if reason.later else ""
        return f"{when}{reason.subject}: {reason.finding}{_loads_text(reason)} {gain}"
    if reason.requests:
        amounts = " and ".join(_request_text(change) for change in reason.requests)
        return f"its replacement asks for {amounts}, like {reason.like}"
    if reason.pod:
        return f"it makes room for {reason.pod} on {reason.node}"
    if reason.node:
        return f"nothing is wrong where it is, and it fits better on {reason.node} {gain}"
    if reason.code == ROOM:
        others = count_text(reason.others, "other move")
        return f"it makes room for gang {reason.gang}, with {others}, all or none"
    if reason.gang:
        return f"it moves with the rest of gang {reason.gang}"
    return CATALOG[reason.code].sentence


def _weight_text(weight: float) -> str:
    return "" if weight == 1 else f" \N{MULTIPLICATION SIGN} weight {weight:g}"


def _loads_text(reason: MoveReason) -> str:
    loads = [f"{load.reading} {load.before:.0%} to {load.after:.0%}" for load in reason.loads]
    return f"; its node goes from {', '.join(loads)}" if loads else ""


def _request_text(change: RequestChange) -> str:
    unit = f"of {change.resource}"
    if change.resource == "cpu":
        unit = "CPU" if change.after == "1" else "CPUs"
    return f"{change.after} {unit} (now {change.before})"
