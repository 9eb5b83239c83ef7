"""What has become of a move, in a sentence for people: in the log, and in Events of Kubernetes."""

from rescheduler.model.moves.plan import MoveResult, PlannedMove
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text
from rescheduler.reporting.phrasing import percent

_EVICTED = "ACT001"
_NOT_STEERED = CATALOG["STR005"].sentence


def move_sentence(move: PlannedMove, result: MoveResult) -> str:
    """What has become of the move by now.

    Such as `Evicted by policy hot-gpus; replacement expected on gpu-008 (6 %) or 18 others.`
    """
    if result.result == "unknown":
        return f"Eviction requested, with no clear answer ({result.code}): {result.message}"
    if result.result != "evicted":
        return f"Not evicted ({result.code}): {result.message}"
    if result.code != _EVICTED:
        return f"{result.code} {result.message}{_place(result)}"
    if result.landedOn is None:
        return f"{_eviction(move)}; {_expectation(result)}."
    ready = "is not Ready yet"
    if result.readySeconds is not None:
        ready = f"was Ready after {result.readySeconds:.0f} s"
    more = f" {_NOT_STEERED}" if _NOT_STEERED in result.message else ""
    return f"The replacement on {result.landedOn} {ready}.{more}"


def _place(result: MoveResult) -> str:
    return "" if result.landedOn is None else f" Its replacement is on {result.landedOn}."


def _eviction(move: PlannedMove) -> str:
    """What was done, and for the policy that gains most."""
    gains = {name: gain for name, gain in move.gains.items() if gain > 0}
    best = max(gains, key=lambda name: gains[name], default="")
    if move.stops is not None:
        return f"Stopped by Kueue for policy {best}" if best else "Stopped by Kueue"
    return f"Evicted by policy {best}" if best else "Evicted"


def _expectation(result: MoveResult) -> str:
    """Where the replacement is expected, the likeliest node first."""
    likeliest = max(result.landing, key=lambda share: share.probability, default=None)
    if likeliest is None:
        return "it is not known where its replacement goes"
    others = len(result.landing) - 1
    text = f"replacement expected on {likeliest.node} ({percent(likeliest.probability)})"
    return f"{text} or {count_text(others, 'other')}" if others else text
