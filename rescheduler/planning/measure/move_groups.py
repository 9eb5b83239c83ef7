"""Which moves can be measured now: grouped by the nodes that they share, once all have settled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits

PATIENCE = timedelta(hours=6)
"""How long after it could be measured a move waits for that; then it is not measured any more."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A move as it stands in the snapshot.

    replacement: index of its replacement, -1 where it does not run there any more. source, landed:
    indices of the nodes, -1 where one is gone. waits: why it cannot be measured yet, or "".
    lost: why it never can, or ""; its pod has left the source all the same. removed: that is
    because the source is gone. overdue: it has waited for `PATIENCE`.
    """

    move: PastMove
    baseline: Baseline | None
    replacement: int = -1
    source: int = -1
    landed: int = -1
    waits: str = ""
    lost: str = ""
    removed: bool = False
    overdue: bool = False

    def frees(self, policy: str) -> bool:
        """Whether the node that it left was to be free in the end, for this policy."""
        freed = {} if self.baseline is None else self.baseline.freed
        wanted = self.move.gains.get(policy, 0.0) > 0
        return wanted and self.move.source in freed.get(policy, ())


@dataclass(frozen=True, slots=True)
class MoveGroup:
    """Moves that share nodes, and so can only be measured together.

    moves: in the order of their evictions. nodes: indices of all that they left and reached.
    """

    moves: tuple[Settled, ...]
    nodes: frozenset[int]

    @property
    def measured(self) -> list[Settled]:
        """Those whose replacement is still where it landed."""
        return [move for move in self.moves if not move.lost]

    @property
    def waits(self) -> str:
        """Why they cannot be measured yet, or ""."""
        return next((move.waits for move in self.moves if move.waits), "")

    @property
    def overdue(self) -> bool:
        """Whether all of them have waited for too long."""
        return all(move.overdue for move in self.moves)

    def predicted_gain(self, policy: str) -> float:
        """The gain that was predicted for the policy by the moves for its sake."""
        return sum(settled_move.move.gains.get(policy, 0.0) for settled_move in self.measured)

    def baseline(self, node: int) -> Baseline | None:
        """The first baseline since this node is touched by one of the moves."""
        baselines = (m.baseline for m in self.moves if node in (m.source, m.landed))
        return next((baseline for baseline in baselines if baseline is not None), None)


def groups(
    history: History, snapshot: Snapshot, policies: Mapping[str, Policy], limits: Limits
) -> list[MoveGroup]:
    """All moves that are still to be measured, grouped."""
    waiting = sorted((m for m in history.moves if m.unmeasured), key=lambda move: move.at)
    settled = [_settled_move(move, history, snapshot, policies, limits) for move in waiting]
    return list(_group_moves(settled))


def due(move: PastMove, policies: Mapping[str, Policy], settle: timedelta) -> timedelta:
    """How long after its replacement became Ready a move can be measured.

    That is when the longest window of a reading that its policies use lies after it whole, and
    what is new in the window has settled.
    """
    requests = [
        request for name in move.gains if name in policies for request in policies[name].requests()
    ]
    longest = max((request.window + request.max_age for request in requests), default=0.0)
    return timedelta(seconds=longest) + settle


def _settled_move(
    move: PastMove,
    history: History,
    snapshot: Snapshot,
    policies: Mapping[str, Policy],
    limits: Limits,
) -> Settled:
    source = snapshot.node_index.get(move.source, -1)
    landed = snapshot.node_index.get(move.landedOn, -1)
    pod = snapshot.pod_index.get(move.replacement, -1)
    waits, lost, removed = "", "", False
    if move.in_flight:
        waits = "its replacement is still pending"
    elif move.unread:
        lost = "its pods could not be read"
    elif move.state == "lost":
        lost = "no replacement of it was Ready in time"
    elif pod < 0 or snapshot.leaving[pod]:
        lost = "its replacement is gone"
    elif snapshot.pod_node[pod] != landed or landed < 0:
        lost = f"its replacement is not on node {move.landedOn}"
    elif source < 0:
        lost, removed = f"node {move.source} is gone", True
    elif history.baseline(move) is None:
        lost = "the readings before it were not kept"
    elif not any(name in policies for name in move.gains):
        lost = "no policy that it was for is there any more"
    else:
        waits = _unready(move, pod, snapshot, due(move, policies, limits.minReadyTime))
    last = (move.settled or move.at) + due(move, policies, limits.minReadyTime) + PATIENCE
    overdue = snapshot.taken > last
    if overdue and waits:
        waits, lost = "", waits  # so that not it hold up the others of its group for ever
    baseline = history.baseline(move)
    return Settled(move, baseline, pod, source, landed, waits, lost, removed, overdue)


def _unready(move: PastMove, pod: int, snapshot: Snapshot, quiet: timedelta) -> str:
    ready = snapshot.pods[pod].condition("Ready")
    if ready is None or ready.status != "True":
        return "its replacement is not Ready"
    since = max(instant for instant in (move.at, move.settled, ready.lastTransitionTime) if instant)
    if snapshot.taken < since + quiet:
        return "the windows of the readings have not passed since its replacement was Ready"
    return ""


def _group_moves(settled: Sequence[Settled]) -> Iterable[MoveGroup]:
    """The connected components of moves over the nodes that they left and reached."""
    components: list[tuple[set[str], list[Settled]]] = []
    for settled_move in settled:
        move = settled_move.move
        nodes = {name for name in (move.source, move.landedOn) if name}
        members = [settled_move]
        apart = []
        for names, others in components:
            if names.isdisjoint(nodes):
                apart.append((names, others))
            else:
                nodes |= names
                members = [*others, *members]
        components = [*apart, (nodes, members)]
    for _, members in components:
        members.sort(key=lambda one: one.move.at)
        indices = {index for one in members for index in (one.source, one.landed) if index >= 0}
        yield MoveGroup(tuple(members), frozenset(indices))
