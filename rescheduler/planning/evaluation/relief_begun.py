"""Loads that our recent moves have begun to lower and that go on to `low`."""

from datetime import datetime

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import RELIEVED_FOR, History


def relief_begun(
    policy: str, snapshot: Snapshot, history: History
) -> dict[tuple[int, str], datetime]:
    """Node and what was hot on it, to when a move for the policy's sake was made that saw it so.

    Only moves of the last `RELIEVED_FOR` count, and of these only such as found it hot: a node that
    is relieved further does not make that time begin again.
    """
    since = snapshot.taken - RELIEVED_FOR
    begun: dict[tuple[int, str], datetime] = {}
    for move in history.moves:
        node = snapshot.node_index.get(move.source)
        if node is None or not move.charged or move.at < since:
            continue
        for name in move.hot.get(policy, ()):
            begun[node, name] = max(move.at, begun.get((node, name), move.at))
    return begun
