"""Correct readings for our own recent moves, which a windowed average has not seen in full yet."""

from dataclasses import replace
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, Reading, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove

_GONE = ("evicted", "ready", "lost")


def correct_readings(snapshot: Snapshot, history: History) -> Snapshot:
    """The snapshot with its node readings as if the window had seen our moves whole.

    A move t seconds ago with usage u still stands with u (1 - (t - a) / w) in the source's average
    over a window of w seconds whose newest value is a seconds old, and is missing with as much at
    its new node. As long as the old pod is there, its whole usage stands; until the replacement is
    Ready, its whole usage is missing; until its node is known it is expected where the landing was
    predicted. A move whose outcome is not known is left out at the source and counted at the
    destination, and one that was found long after to have taken effect may have left the source
    right after its intent: neither node may seem better than it is.
    """
    moves = [move for move in history.moves if move.charged and move.usage]
    if not moves:
        return snapshot
    entries = tuple(
        _correct_reading(reading, moves, snapshot) if reading.request.subject == "node" else reading
        for reading in snapshot.readings.entries
    )
    if all(new is old for new, old in zip(entries, snapshot.readings.entries, strict=True)):
        return snapshot
    return replace(snapshot, readings=Readings(entries))


def _correct_reading(reading: Reading, moves: list[PastMove], snapshot: Snapshot) -> Reading:
    used = "pod" + reading.name.removeprefix("node")
    window = reading.request.window
    capacity = reading.capacity
    if capacity is None or window <= 0:
        return reading
    values: FloatArray | None = None
    count = 0
    for move in moves:
        amount = move.usage.get(used, 0.0)
        shares = _missing_shares(move, reading, snapshot)
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


def _missing_shares(move: PastMove, reading: Reading, snapshot: Snapshot) -> dict[str, float]:
    """Per node, the share of the move's usage that its reading lacks (above 0) or still has."""
    answer: dict[str, float] = {}

    def unseen_share(since: datetime, name: str) -> float:
        """The share of the node's window that lies before that time, 0 to 1."""
        node = snapshot.node_index.get(name, -1)
        age = float(reading.ages[node]) if node >= 0 else 0.0
        seen = (snapshot.taken - since).total_seconds() - (0.0 if np.isnan(age) else age)
        return min(max(1.0 - seen / reading.request.window, 0.0), 1.0)

    ending = move.podUid in snapshot.pod_index
    if move.unread and ending and not snapshot.leaving[snapshot.pod_index[move.podUid]]:
        return answer  # it is charged because nobody knew, and was never evicted
    remaining = 1.0 if ending else unseen_share(move.intentAt or move.at, move.source)
    if move.state in _GONE and remaining > 0:
        answer[move.source] = -remaining
    if move.state == "lost":
        return answer
    since = move.settled if move.state == "ready" and move.settled is not None else snapshot.taken
    if move.state == "ready" and move.settled is None:
        since = move.at
    for name, probability in ({move.landedOn: 1.0} if move.landedOn else move.landing).items():
        arrived = unseen_share(since, name)
        if arrived > 0:
            answer[name] = answer.get(name, 0.0) + arrived * probability
    return answer
