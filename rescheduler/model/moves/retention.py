"""Retention: how long the history keeps a move, how much of it, and how many it has room for.

What decides something is kept whole for as long as it does; what no window can need any more goes.
Nothing is dropped to make room: where it does not fit, acting stops.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import structs

from rescheduler.model.moves.calibration import likeliest
from rescheduler.model.moves.history import (
    COMPARED_NODES,
    LOOK_BACK,
    RELIEVED_FOR,
    SLOW_FOR,
    History,
)
from rescheduler.model.moves.past_move import PastMove

INTENT_BYTES, STATE_BYTES = 900_000, 1_000_000
"""Of the compressed state: with new intents, and with what becomes of them, for which there must
be room whatever was intended. A ConfigMap holds 1 MiB in all, binary data counted as decoded.
Source: ValidateConfigMap, pkg/apis/core/validation/validation.go."""

RECENT_BYTES, OLD_BYTES = 345, 200
"""What a closed move takes, compressed, within `LOOK_BACK` and after it, with names of 90 random
characters and four readings; real names, which repeat, take less."""

RESERVED_BYTES = 230_000
"""For what is in flight, the refused, and what was learned of landings."""

MOST_REFUSED, REFUSED_FOR = 100, timedelta(hours=24)
"""Refused moves that broke off no run decide nothing. So many are kept, and for so long, for people
to read; those that are `watched` beside them, whole."""

MOST_BROKEN_OFF = 100
"""So many, the latest, of those that broke off a run are kept as long as moves that were made: a
state stays small where every run breaks off."""

WHOLE_LANDINGS = 10
"""So many of the newest moves in flight keep every node that was predicted."""


def kept_for(cool_down_cap: timedelta, cycle_period: timedelta) -> timedelta:
    """How long a closed move may decide something.

    A workload cools down for the cap at most, and each boomerang within another cap before its
    last move doubles its cool-down. The windows of an hour and of a day lie within `LOOK_BACK`.
    """
    return max(LOOK_BACK, 2 * cool_down_cap, cycle_period)


def room_per_day(keep: timedelta) -> int:
    """How many moves a day the state has room for, if each is kept so long."""
    day = timedelta(days=1)
    move_bytes = (
        LOOK_BACK / day * RECENT_BYTES + max(keep - LOOK_BACK, timedelta(0)) / day * OLD_BYTES
    )
    return int((INTENT_BYTES - RESERVED_BYTES) / move_bytes)


def prune_history(history: History, now: datetime, keep: timedelta) -> History:
    """The history with of each move what may still decide something; what is in flight stays.

    now: a time that has surely come, by more than one clock. keep: what the limits of now need;
    a move that was made under limits that need it longer is kept for that long.
    """
    refused = [m for m in history.moves if m.state == "refused" and not m.watched]
    since = _kept_since(
        (m.last for m in refused if not m.brokeOff), now - REFUSED_FOR, MOST_REFUSED
    )
    resting = _kept_since((m.last for m in refused if m.brokeOff), now - keep, MOST_BROKEN_OFF)
    in_flight = sorted((m.at for m in history.moves if m.in_flight), reverse=True)
    whole = min(in_flight[:WHOLE_LANDINGS], default=now)
    kept = []
    for move in history.moves:
        if move.watched:
            kept.append(move)
        elif move.state == "refused":
            if move.last >= (resting if move.brokeOff else since):
                kept.append(_prune_refused(move))
        elif move.in_flight:
            kept.append(_in_flight(move, keep, whole=move.at >= whole))
        elif move.last >= now - max(keep, timedelta(seconds=move.kept)):
            kept.append(_prune_closed(move, now, keep))
    ramp, made = history.rampSince, history.rampMade
    if ramp is not None:
        made += _count_charged(history.moves, ramp) - _count_charged(kept, ramp)
        if not history.ramp_left(now - LOOK_BACK):
            ramp, made = None, 0
    slow = {name: at for name, at in history.slow.items() if at > now - SLOW_FOR}
    return structs.replace(history, moves=kept, rampSince=ramp, rampMade=made, slow=slow)


def _kept_since(times: Iterable[datetime], earliest: datetime, most: int) -> datetime:
    """From when on they are kept, where no more than so many are."""
    return max([earliest, *sorted(times, reverse=True)[most - 1 : most]])


def _count_charged(moves: list[PastMove], since: datetime) -> int:
    return sum(move.charged and move.at >= since for move in moves)


def _prune_refused(move: PastMove) -> PastMove:
    if not (move.landing or move.earlierPods or move.usage or move.gains):
        return move
    return structs.replace(move, landing={}, earlierPods=[], selector="", usage={}, gains={})


def _in_flight(move: PastMove, keep: timedelta, *, whole: bool) -> PastMove:
    landing = move.landing if whole else likeliest(move.landing, COMPARED_NODES)
    return structs.replace(move, landing=landing, kept=_longest(move, keep))


def _prune_closed(move: PastMove, now: datetime, keep: timedelta) -> PastMove:
    """A lost one may still be found and compared until `LOOK_BACK`; a Ready one was."""
    kept = _longest(move, keep)
    if move.last < now - LOOK_BACK:
        return PastMove(
            plan="",
            podUid=move.podUid,
            namespace=move.namespace,
            pod=move.pod,
            workload=move.workload,
            source=move.source,
            counted=move.counted,
            at=move.at,
            state=move.state,
            code=move.code,
            replacement=move.replacement,
            landedOn=move.landedOn,
            crashLooping=move.crashLooping,
            unpredicted=move.unpredicted,
            settled=move.settled,
            kept=kept,
        )
    # Of a Ready one, what it has brought is measured against where it was to land.
    needs_landing = move.state != "ready" or move.unmeasured
    landing = likeliest(move.landing, COMPARED_NODES) if needs_landing else {}
    hot = move.hot if move.at >= now - RELIEVED_FOR else {}
    if move.state == "ready":
        return structs.replace(
            move, landing=landing, earlierPods=[], selector="", kept=kept, hot=hot
        )
    return structs.replace(move, landing=landing, kept=kept, hot=hot)


def _longest(move: PastMove, keep: timedelta) -> float:
    return max(move.kept, keep.total_seconds())
