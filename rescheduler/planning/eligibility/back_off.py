"""Which past moves went wrong, and who is left alone the longer for it: ELG022 and ELG025.

All of it follows from the ledger's entries and the snapshot; nothing is counted beside them. A move
went wrong when its replacement came back to the node that the pod had left, was not Ready in time
or much later than usual, stayed Pending where it had to go and was created again, crash-loops, or
was taken away by somebody else within a day. Each such move doubles the cool-down of its workload;
those of a gang that moved as a whole are one. A workload whose replacements land again and again
where that was not predicted, whether they come back or go from one hot node to another, is left
alone for the cap; a node that was added since could not be predicted. A node where arrivals go
wrong again and again is neither left nor counted on for a while: there, pods that come back count
once a workload, since where they land is as much the workload's doing as the node's.

A workload rests, too, whose eviction broke off a run, as no clear answer came: whatever keeps it
from being evicted must not keep others from it in each run that follows. Nor may several take turns
in that, however seldom runs are: where the run before was broken off, all of them rest.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cached_property

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.cluster.workload import Workload
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, instant, verb_for
from rescheduler.planning.eligibility.ready_times import ReadyTimes
from rescheduler.policies.limits import Limits

_UNDONE_WITHIN = timedelta(days=1)
_SLOW, _LEAST_SLOW_SECONDS, _USUAL_MOVES = 3.0, 60.0, 3
"""Slow is over three times as long as usual and a minute longer, where three moves tell that."""
_REPEATED = 2
"""Arrivals that go wrong before their node is left alone; and landings of a workload that were not
predicted, and are half of its landings or more, before moving it is futile."""

_SHORTEST_REST = timedelta(minutes=2)
"""Of what broke off a run, also where nothing cools down."""

_RETURNED, _LOST = "came back to", "were not Ready in time on"
_UNSEEN = "were hidden by a pod that cannot be read, on"
_LOOPING, _LATE = "ended in a crash loop on", "were Ready much later than usual on"
_FREED = "were created again, Pending where they had to go, and came to"
_REMOVED, _RETURNED_LATER = "were undone by others on", "were undone by others, back to"


class BackOff:
    """What went wrong with the moves of one history, as one snapshot shows it.

    plan: the id of the plan that is being carried out; its own moves start no cool-down unless they
    went wrong.
    """

    def __init__(self, snapshot: Snapshot, limits: Limits, history: History, plan: str) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._history = history
        self._plan = plan
        self._ready_times = ReadyTimes(history)

    def refuse_workload(self, workload: Workload) -> Problem | None:
        """ELG022: whether the workload rests, or cools down after its latest move, and why."""
        resting = self.refuse_resting(workload.uid, f"{workload.kind} {workload.name}")
        if resting is not None:
            return resting
        moves = self._counting.get(workload.uid)
        if not moves:
            return None
        wrong = [move for move in moves if move.podUid in self._wrong]
        elsewhere = _events(move for move in moves if move.unpredicted and not self._newer(move))
        futile = bool(self._limits.coolDown) and 2 * elsewhere >= max(_events(moves), 2 * _REPEATED)
        quiet = self._longest if futile else self._quiet(_events(wrong))
        until = max(move.at for move in moves) + quiet
        if self._snapshot.taken >= until:
            return None
        name = f"{workload.kind} {workload.name} cools down until {instant(until)}"
        last = f"it was moved at {instant(max(move.at for move in moves))}"
        why = self._failure_summary(wrong, len(moves), "move") if wrong else last
        if futile:
            why += f"; {elsewhere} landed elsewhere than predicted, so moving it is futile"
        return Problem(code="ELG022", message=f"{name}: {why}")

    def refuse_resting(self, uid: str, name: str) -> Problem | None:
        """ELG022: whether the workload rests after evictions that broke off runs.

        uid, name: the workload, and what it is called in the answer.
        """
        moves = self._broken_off.get(uid)
        if not moves:
            return None
        times = len({(move.plan, move.batch, move.fence) for move in moves})
        said = f"{count_text(times, 'eviction')} of it got no clear answer"
        begun = [move.settled for move in moves if move.settled is not None]
        if len(begun) < len(moves):
            return Problem(code="ELG022", message=f"{name} rests: {said}")
        shortest = max(self._limits.coolDown, _SHORTEST_REST)
        doubled = shortest.total_seconds() * 2.0 ** min(times - 1, 64)
        longest = max(self._longest, shortest)
        until = max(begun) + timedelta(seconds=min(doubled, longest.total_seconds()))
        until = max(until, self._latest_rest + shortest)
        if self._snapshot.taken >= until:
            return None
        return Problem(code="ELG022", message=f"{name} rests until {instant(until)}: {said}")

    @cached_property
    def _latest_rest(self) -> datetime:
        """When a rest began last: when the run after one that was broken off did."""
        every = (move.settled for moves in self._broken_off.values() for move in moves)
        return max(settled for settled in every if settled is not None)

    @cached_property
    def _broken_off(self) -> dict[str, list[PastMove]]:
        """Workload (by UID) to its moves that broke off a run."""
        moves: dict[str, list[PastMove]] = defaultdict(list)
        for move in self._history.moves:
            if move.brokeOff:
                moves[move.workload].append(move)
        return moves

    def refuse_node(self, name: str) -> Problem | None:
        """ELG025: whether arrivals at the node have gone wrong again and again."""
        arrived = self._arrived.get(name, [])
        wrong = [move for move in arrived if move.podUid in self._wrong]
        came_back = {move.workload for move in wrong if self._wrong[move.podUid] == _RETURNED}
        failed = {_event(move) for move in wrong if self._wrong[move.podUid] != _RETURNED}
        events = len(failed) + len(came_back)
        if events < _REPEATED:
            return None
        until = max(move.settled or move.at for move in wrong) + self._quiet(events - 1)
        if self._snapshot.taken >= until:
            return None
        why = self._failure_summary(wrong, len(arrived), "arrival")
        return Problem(
            code="ELG025", message=f"node {name} is left alone until {instant(until)}: {why}"
        )

    def _newer(self, move: PastMove) -> bool:
        """Whether it landed on a node that was added after the landing was predicted."""
        born = self._born.get(move.landedOn)
        return born is not None and born > move.at

    @cached_property
    def _born(self) -> dict[str, datetime | None]:
        """Node name to when the node was made."""
        nodes = (node.metadata for node in self._snapshot.nodes)
        return {node.name: node.creationTimestamp for node in nodes}

    def _quiet(self, wrong: int) -> timedelta:
        """The cool-down, doubled by each move that went wrong, up to its cap."""
        doubled = self._limits.coolDown.total_seconds() * 2.0 ** min(wrong, 64)
        return timedelta(seconds=min(doubled, self._longest.total_seconds()))

    @property
    def _longest(self) -> timedelta:
        return max(self._limits.coolDownCap, self._limits.coolDown)

    def _failure_summary(self, wrong: list[PastMove], of: int, noun: str) -> str:
        """How many of so many moves or arrivals went wrong, and in which way."""
        ways: dict[str, list[PastMove]] = defaultdict(list)
        for move in wrong:
            ways[self._wrong[move.podUid]].append(move)
        parts = []
        for way, moves in sorted(ways.items(), key=lambda group: (-len(group[1]), group[0])):
            words = way.replace("were ", verb_for(len(moves), "was ", "were "), 1)
            nodes = sorted({_place(move, way) for move in moves})
            parts.append(f"{len(moves)} {words} {', '.join(nodes)}")
        number, words = parts[0].split(" ", 1)
        whose = f"{number} of its last {count_text(of, noun)}" if of > 1 else f"its last {noun}"
        return ", ".join([f"{whose} {words}", *parts[1:]])

    @cached_property
    def _counting(self) -> dict[str, list[PastMove]]:
        """Workload (by UID) to its moves that start a cool-down."""
        moves: dict[str, list[PastMove]] = defaultdict(list)
        for move in self._history.moves:
            own = bool(self._plan) and move.plan == self._plan
            if move.charged and (not own or move.podUid in self._wrong):
                moves[move.workload].append(move)
        return moves

    @cached_property
    def _arrived(self) -> dict[str, list[PastMove]]:
        """Node to the moves that landed on it."""
        moves: dict[str, list[PastMove]] = defaultdict(list)
        for move in self._history.moves:
            if move.charged and move.landedOn and not move.freed:
                moves[move.landedOn].append(move)
        return moves

    @cached_property
    def _wrong(self) -> dict[str, str]:
        """UID of the pod of each move that went wrong, to how."""
        said = {move.podUid: self._failure(move) for move in self._history.moves if move.charged}
        return {uid: how for uid, how in said.items() if how}

    def _failure(self, move: PastMove) -> str:
        if move.freed:
            return _FREED
        if move.boomerang:
            return _RETURNED
        if move.no_effect:
            return ""
        if move.state == "lost":
            return _UNSEEN if move.unread else _LOST
        index = self._snapshot.pod_index.get(move.replacement)
        if index is not None:
            if self._snapshot.pods[index].crash_looping:
                return _LOOPING
            if self._snapshot.pods[index].metadata.deletionTimestamp is None:
                return _LATE if self._late(move) else ""
        if self._was_undone(move):
            return _RETURNED_LATER if move.podUid in self._brought_back else _REMOVED
        return _LATE if self._late(move) else ""

    def _late(self, move: PastMove) -> bool:
        seconds = move.readySeconds
        if seconds is None:
            return False
        if seconds > self._limits.readyTimeout.total_seconds():
            return True
        usual = self._ready_times.usual(move.workload, but=move.podUid)
        if usual.seconds is None or usual.moves < _USUAL_MOVES:
            return False
        return seconds > max(_SLOW * usual.seconds, usual.seconds + _LEAST_SLOW_SECONDS)

    def _was_undone(self, move: PastMove) -> bool:
        """Whether the replacement, which was Ready, is gone within a day, and not by us.

        Where its controller wants no pods any more, as after a rollout, or is a Job, whose pods
        end, nothing was undone.
        """
        if move.state != "ready" or not move.replacement or move.controllerKind == "Job":
            return False
        if self._snapshot.taken - move.at >= _UNDONE_WITHIN or move.replacement in self._ours:
            return False
        return self._wanted.get(move.controller, 0) > 0

    @cached_property
    def _ours(self) -> set[str]:
        """UIDs of the pods that we moved."""
        return {move.podUid for move in self._history.moves if move.charged}

    @cached_property
    def _wanted(self) -> dict[str, int]:
        """UID of each controller that a move names to the pods that it wants."""
        named = {move.controller for move in self._history.moves}
        owners = self._snapshot.controllers
        return {owner.metadata.uid: owner.wanted for owner in owners if owner.metadata.uid in named}

    @cached_property
    def _brought_back(self) -> set[str]:
        """UIDs of the pods of moves that were undone, and whose node has a younger pod of theirs.

        Each such pod stands for one move at most, and never for the move that it is the replacement
        of.
        """
        landed = {move.replacement for move in self._history.moves}
        younger = Counter[tuple[str, str]]()
        undone = [move for move in self._history.moves if move.charged and self._was_undone(move)]
        sources = {(move.controller, move.source): move.at for move in reversed(undone)}
        for pod in self._snapshot.pods if undone else ():
            owner, made = pod.controller, pod.metadata.creationTimestamp
            key = (owner.uid if owner else "", pod.node)
            since = sources.get(key)
            if since is not None and made is not None and made >= since:
                younger[key] += pod.metadata.uid not in landed
        return _pods_brought_back(undone, younger)


def _pods_brought_back(undone: Iterable[PastMove], younger: Counter[tuple[str, str]]) -> set[str]:
    uids = set()
    for move in undone:
        key = (move.controller, move.source)
        if younger[key] > 0:
            younger[key] -= 1
            uids.add(move.podUid)
    return uids


def _events(moves: Iterable[PastMove]) -> int:
    return len(set(map(_event, moves)))


def _event(move: PastMove) -> tuple[str, ...]:
    """What tells a move from others; those of a whole gang are one for each workload.

    A batch holds two pods of one workload only where it is such a gang.
    """
    return (move.plan, str(move.batch), move.workload) if move.batch else (move.podUid,)


def _place(move: PastMove, way: str) -> str:
    if way in (_RETURNED, _RETURNED_LATER):
        return f"node {move.source}"
    return f"node {move.landedOn}" if move.landedOn else "no node"
