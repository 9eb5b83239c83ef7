"""Correct readings for our own recent moves, which a windowed average has not seen in full yet."""

from dataclasses import replace
from datetime import datetime

from rescheduler.model.history import History, PastMove
from rescheduler.model.readings import FloatArray, Reading, Readings
from rescheduler.model.snapshot import Snapshot

_GONE = ("evicted", "ready", "lost")


def corrected(snapshot: Snapshot, history: History) -> Snapshot:
    """The snapshot with its node readings as if the window had seen our moves whole.

    A move t seconds ago with usage u still stands with u (1 - t / w) in the source's average over a
    window of w seconds, and is missing with as much at its new node. Until the replacement is
    Ready its whole usage is missing; until its node is known it is expected where the landing was
    predicted. A move whose outcome is not known is left out at the source and counted at the
    destination: neither node may look better than it is.
    """
    moves = [move for move in history.moves if move.charged and move.usage]
    if not moves:
        return snapshot
    entries = tuple(
        _corrected(reading, moves, snapshot) if reading.request.subject == "node" else reading
        for reading in snapshot.readings.entries
    )
    if all(new is old for new, old in zip(entries, snapshot.readings.entries, strict=True)):
        return snapshot
    return replace(snapshot, readings=Readings(entries))


def _corrected(reading: Reading, moves: list[PastMove], snapshot: Snapshot) -> Reading:
    used = "pod" + reading.name.removeprefix("node")
    window = reading.request.window
    capacity = reading.capacity
    if capacity is None or window <= 0:
        return reading
    values: FloatArray | None = None
    count = 0
    for move in moves:
        amount = move.usage.get(used, 0.0)
        shares = _missing(move, window, snapshot.taken)
        if amount <= 0 or not shares:
            continue
        values = reading.values.copy() if values is None else values
        count += 1
        for name, share in shares.items():
            node = snapshot.node_index.get(name, -1)
            if node >= 0 and capacity[node] > 0:
                # An absent value stays NaN: nothing is added to what is not known.
                values[node] = max(values[node] + amount * share / capacity[node], 0.0)
    if values is None:
        return reading
    note = f"corrected for {count} of our own moves that the window of {window:.0f} s has not seen"
    return replace(reading, values=values, notes=(*reading.notes, note))


def _missing(move: PastMove, window: float, now: datetime) -> dict[str, float]:
    """Per node, the share of the move's usage that its reading lacks (above 0) or still has."""
    answer: dict[str, float] = {}
    left = _unseen(move.at, window, now)
    if move.state in _GONE and left > 0:
        answer[move.source] = -left
    if move.state == "lost":
        return answer
    since = move.settled if move.state == "ready" and move.settled is not None else now
    if move.state == "ready" and move.settled is None:
        since = move.at
    arrived = _unseen(since, window, now)
    if arrived <= 0:
        return answer
    for name, probability in ({move.landedOn: 1.0} if move.landedOn else move.landing).items():
        answer[name] = answer.get(name, 0.0) + arrived * probability
    return answer


def _unseen(since: datetime, window: float, now: datetime) -> float:
    """The share of the window that lies before that time, 0 to 1."""
    return min(max(1.0 - (now - since).total_seconds() / window, 0.0), 1.0)
